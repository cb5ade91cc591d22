/** The theory view of the workbench: the pages of `web/theory`, with answers graded by the server. */

import { find } from "../page/dom.js";
import { THEORY_TEXTS } from "../theory/texts.js";
import { PLAY, TheoryView } from "../theory/view.js";
import { startFrame } from "./frame.js";
import { newestPost } from "./server.js";

const root = find("theory");
const frame = startFrame({ texts: THEORY_TEXTS, onChange: () => view.restyle() });
const view = new TheoryView(root, JSON.parse(find("theory-data").textContent), {
  getTexts: () => frame.t,
  task: root.dataset.task,
  linkTo: (task) => (task === PLAY ? "/theory" : `/theory/${task}`),
  grade: newestPost("/workbench/theory/grade"),
});
