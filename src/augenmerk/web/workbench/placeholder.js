/** A view that is not there has nothing but the frame. */

import { startFrame } from "./frame.js";

startFrame();
