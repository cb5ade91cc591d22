/** The description of the API, which the server writes: only the frame around it needs a script. */

import { startFrame } from "./frame.js";

startFrame();
