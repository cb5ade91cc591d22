/** A question with its picture, hints and a box for an answer; or the picture alone, to play with. */

import { findFocused, make, replaceInside } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { readFragment, writeFragment } from "./fragment.js";
import { HeadsScene, specifyHeads } from "./heads_scene.js";
import { KeysScene, specifyKeys } from "./keys_scene.js";
import { showNotation } from "./notation.js";
import { MAX_ANSWER, makeAnswer, makeHints, makeQuestion } from "./question.js";
import { SelfScene, specifySelf } from "./self_scene.js";

const GLIDE = 550; // milliseconds
const ADDRESS_PAUSE = 150;
export const PLAY = "play";
const SCENES = {
  [PLAY]: [KeysScene, specifyKeys],
  1.1: [KeysScene, specifyKeys],
  1.2: [HeadsScene, specifyHeads],
  1.3: [HeadsScene, specifyHeads],
  1.4: [HeadsScene, specifyHeads],
  1.5: [HeadsScene, specifyHeads],
  1.6: [SelfScene, specifySelf],
  1.7: [SelfScene, specifySelf],
};

/** Returns #rrggbb as three numbers. */
function readColour(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

export class TheoryView {
  /**
   * Takes the element to fill, the data that Python wrote, and what depends on where the page is:
   *
   *     t           the texts
   *     task        the task to begin with
   *     linkTo      a function from a task to its address
   *     grade       an async function from a task and an answer to a grade; null if nobody is there to grade
   *     more        a specification of what else is in the fragment, such as the colours
   */
  constructor(root, data, { t, task, linkTo, grade, more = {} }) {
    this.root = root;
    this.data = data;
    this.t = t;
    this.firstTask = task;
    this.linkTo = linkTo;
    this.grade = grade;
    this.more = more;
    this.tasks = [PLAY, ...data.questions.map((question) => question.task)].filter((each) => each in SCENES);
    this.frame = 0; // the animation frame that is asked for
    this.gliding = null;
    this.timer = 0;
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    matchMedia("(prefers-reduced-motion: reduce)").addEventListener(
      "change",
      ({ matches }) => (this.still = matches)
    );
    new ResizeObserver(() => this.draw()).observe(root);
    window.addEventListener("hashchange", () => this.readAddress());
    this.readAddress();
  }

  // -- state -----------------------------------------------------------------------------------------------

  /** Takes over what the address says. */
  readAddress() {
    const general = {
      task: { kind: "choice", choices: this.tasks, otherwise: this.firstTask },
      hints: { kind: "number", least: 0, most: 9, otherwise: 0 },
      reveal: { kind: "choice", choices: ["yes", "no"], otherwise: "no" },
      answer: { kind: "text", most: MAX_ANSWER, otherwise: "" },
      ...this.more,
    };
    this.address = location.hash;
    const { task } = readFragment(location.hash, general);
    this.specification = { ...general, ...SCENES[task][1](task, this.data) };
    const before = this.state?.task;
    this.state = readFragment(location.hash, this.specification);
    this.gliding = null;
    this.onaddress();
    this.build();
    if (before && before !== task) this.root.querySelector("h2")?.focus({ preventScroll: true });
  }

  /** Is called when the address says something else; a page with more in its address overrides it. */
  onaddress() {}

  writeAddress() {
    // A person may have gone elsewhere just now; the event that says so comes later.
    if (location.hash !== this.address) return;
    const fragment = writeFragment(this.state, this.specification);
    if (fragment === (location.hash || "#")) return;
    try {
      history.replaceState(null, "", fragment === "#" ? location.pathname + location.search : fragment);
    } catch {
      // Some browsers refuse if it happens too often, as while a slider is dragged.
    }
    this.address = location.hash;
  }

  /** Changes the state and draws again. */
  set(changes) {
    this.gliding = null;
    Object.assign(this.state, changes);
    this.draw();
  }

  /** Says in words what there is to see, and writes the address, a moment after the last change. */
  settled() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), ADDRESS_PAUSE);
  }

  settle() {
    this.writeAddress();
    if (!("drawn" in this.root.dataset)) return; // the picture is described when it is drawn
    const text = this.scene.describe();
    if (text === this.scene.said.written) return;
    this.scene.said.written = text;
    this.scene.said.replaceChildren(...showNotation(text));
  }

  /** Moves points and numbers of the state to where they should be, not too fast for the eye. */
  glide(to) {
    if (this.still) {
      this.set(structuredClone(to));
      this.settled();
      return;
    }
    const from = structuredClone(Object.fromEntries(Object.keys(to).map((name) => [name, this.state[name]])));
    this.gliding = { from, to, start: null };
    this.draw();
  }

  stepGlide(now) {
    const { from, to } = this.gliding;
    this.gliding.start ??= now;
    const share = Math.min(1, (now - this.gliding.start) / GLIDE);
    const eased = share * share * (3 - 2 * share);
    const mix = (a, b) =>
      Array.isArray(a) ? a.map((value, i) => mix(value, b[i])) : share === 1 ? b : a + (b - a) * eased;
    for (const name of Object.keys(to)) this.state[name] = mix(from[name], to[name]);
    if (share === 1) {
      this.gliding = null;
      this.settled();
    }
  }

  /** Has the picture as it was at first; hints and answer stay. */
  startAgain() {
    const kept = ["task", "hints", "answer", ...Object.keys(this.more)];
    for (const [name, { otherwise }] of Object.entries(this.specification)) {
      if (!kept.includes(name)) this.state[name] = structuredClone(otherwise);
    }
    this.rebuild();
  }

  /** Makes everything again, as when the number of keys has changed. */
  rebuild() {
    this.gliding = null;
    const focused = findFocused()?.dataset?.control;
    this.build();
    if (focused) this.root.querySelector(`[data-control="${focused}"]`)?.focus();
    this.settled();
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  /** Asks for one drawing in the next frame, however much has changed until then. */
  draw() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.drawNow(now));
  }

  drawNow(now) {
    this.frame = 0;
    if (this.gliding) this.stepGlide(now);
    if (this.scene.planes.some((plane) => !plane.measure())) return;
    const goesOn = this.scene.draw(now);
    if (goesOn || this.gliding) this.draw();
    if (!this.scene.isDescribed) this.settled();
    this.scene.isDescribed = true;
    this.root.dataset.drawn = "";
  }

  /** Takes over the colours of the page. */
  readColours() {
    const { theme } = document.documentElement.dataset;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.series = this.data.colours[isDark ? "dark" : "light"];
    this.series.forEach((colour, i) => this.root.style.setProperty(`--s${i}`, colour));
    this.fieldOpacity = isDark ? 0.26 : 0.2;
    // Read once, for asking in every frame would have the browser compute all styles again.
    this.ink = getComputedStyle(this.root).getPropertyValue("--ink").trim();
  }

  /** Returns one of the colours of keys and clouds as numbers from 0 to 255. */
  rgb(i) {
    return readColour(this.series[i % this.series.length]);
  }

  /** Writes a number in the manner of the page's language, never as -0.00. */
  number(value, decimals = 2) {
    const rounded = Number(value.toFixed(decimals));
    return showNumber(rounded === 0 ? 0 : rounded, this.t.language, decimals);
  }

  /** Takes other texts or colours. */
  restyle(t) {
    this.t = t;
    this.build();
  }

  /** Returns a question in the language of the page, undefined if a task has none. */
  findQuestion(task) {
    const question = this.data.questions.find((each) => each.task === task);
    return question && { ...question, ...question[this.t.language] };
  }

  // -- the page --------------------------------------------------------------------------------------------

  build() {
    const { t, state } = this;
    this.readColours();
    const question = this.findQuestion(state.task);
    this.scene?.leave?.();
    this.scene = new SCENES[state.task][0](this);
    const parts = [this.makeMenu()];
    if (question) {
      parts.push(
        make(
          "div",
          { class: "task" },
          makeQuestion(question, this),
          this.makePicture(),
          make("div", { class: "work" }, makeHints(question, this), makeAnswer(question, this))
        )
      );
    } else {
      parts.push(
        make(
          "section",
          { class: "card picture-card" },
          make("h2", { tabindex: -1 }, t("heading")),
          make("p", { class: "hint" }, ...showNotation(t("lead"))),
          this.scene.element
        )
      );
    }
    delete this.root.dataset.drawn;
    replaceInside(this.root, ...parts);
    const [menu] = parts; // on a narrow screen it is wider than the screen
    menu.scrollLeft = menu.querySelector("[aria-current]").offsetLeft - menu.offsetLeft - 60;
    if (state.reveal === "yes" && question) this.markRevealed();
    this.draw();
  }

  makeMenu() {
    const { t, state } = this;
    const link = (task) => {
      const question = this.findQuestion(task);
      const title = question?.title ?? null;
      const inside = question
        ? [make("b", {}, task), " ", make("span", {}, question.title)]
        : [make("b", {}, t("play"))];
      return make(
        "a",
        {
          href: this.linkTo(task),
          "aria-current": task === state.task ? "page" : null,
          "data-task": task,
          title,
        },
        ...inside
      );
    };
    return make("nav", { class: "tasks", "aria-label": t("tasks") }, ...this.tasks.map(link));
  }

  makePicture() {
    const { t } = this;
    this.revealButton = make(
      "button",
      {
        type: "button",
        "data-control": "reveal",
        "aria-pressed": "false",
        onclick: () => this.toggleReveal(),
      },
      t("reveal")
    );
    const again = make(
      "button",
      { type: "button", "data-control": "again", onclick: () => this.startAgain() },
      t("startAgain")
    );
    return make(
      "section",
      { class: "card picture-card", "aria-label": t("picture") },
      this.scene.element,
      make("div", { class: "buttons under-picture" }, this.revealButton, again)
    );
  }

  toggleReveal() {
    const isRevealed = this.state.reveal !== "yes";
    this.state.reveal = isRevealed ? "yes" : "no";
    this.markRevealed();
    if (isRevealed) this.scene.reveal();
    this.draw();
    this.settled();
  }

  markRevealed() {
    const isRevealed = this.state.reveal === "yes";
    this.revealButton.setAttribute("aria-pressed", String(isRevealed));
    this.revealButton.textContent = this.t(isRevealed ? "revealed" : "reveal");
  }
}
