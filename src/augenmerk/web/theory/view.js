/** A question with its picture, hints and a box for an answer; or the picture alone, to play with. */

import { choice, putAddress, readState, text, whole, writeState } from "../page/address.js";
import { readColours } from "../page/dom.js";
import { button, hint } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h, render } from "../page/view.js";
import { HeadsScene } from "./heads_scene.js";
import { KeysScene } from "./keys_scene.js";
import { showNotation } from "./notation.js";
import { describeAnswer, describeHints, describeQuestion, MAX_ANSWER } from "./question.js";
import { SelfScene } from "./self_scene.js";

const GLIDE = 550; // milliseconds
const ADDRESS_PAUSE = 150;
export const PLAY = "play";
const SCENES = {
  ...{ [PLAY]: KeysScene, 1.1: KeysScene, 1.2: HeadsScene, 1.3: HeadsScene },
  ...{ 1.4: HeadsScene, 1.5: HeadsScene, 1.6: SelfScene, 1.7: SelfScene },
};

/** Returns the task that a task is, or is a variant of: 1.3 of `1.3-observation`. */
const baseOf = (task) => task.split("-")[0];

export class TheoryView {
  /**
   * Takes the element to fill, the data that Python wrote, and what depends on where the page is:
   *
   *     getTexts    a function that applies the page's colours and language, of a state, and returns the texts
   *     task        the task to begin with
   *     linkTo      a function from a task to its address
   *     grade       an async function from {task, answer} to a grade; null if nobody is there to grade
   *     more        a specification of what else is in the fragment, such as the colours
   */
  constructor(root, data, { getTexts, task, linkTo, grade = null, more = {} }) {
    this.root = root;
    this.data = data;
    this.getTexts = getTexts;
    this.linkTo = linkTo;
    this.grade = grade;
    this.tasks = [PLAY, ...data.questions.map((question) => question.task)].filter(
      (each) => baseOf(each) in SCENES
    );
    this.general = {
      task: choice(this.tasks, task),
      hints: whole(0, 9, 0),
      reveal: choice(["yes", "no"], "no"),
      answer: text(MAX_ANSWER),
      ...more,
    };
    this.kept = ["task", "hints", "answer", ...Object.keys(more)]; // by the button that resets the picture
    this.frame = 0; // the animation frame that is asked for
    this.timer = 0;
    this.focused = ""; // what is to have the focus after the next drawing
    const motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.still = motion.matches;
    motion.addEventListener("change", ({ matches }) => (this.still = matches));
    // Paper is white, whatever the screen is.
    this.paper = matchMedia("print");
    this.paper.addEventListener("change", () => {
      this.restyle();
      this.drawNow(performance.now());
    });
    window.addEventListener("hashchange", () => this.readAddress());
    this.readAddress();
  }

  // -- state -----------------------------------------------------------------------------------------------

  readAddress() {
    this.address = location.hash;
    const { task } = readState(location.hash, this.general);
    this.specification = { ...this.general, ...SCENES[baseOf(task)].specify(task, this.data) };
    if (task !== this.state?.task) {
      if (this.state) this.focused = "h2";
      this.graded = null;
      this.isGrading = false;
    }
    this.state = readState(location.hash, this.specification);
    this.isDrawn = false;
    this.restyle();
    this.startScene();
  }

  writeAddress() {
    // A person may have gone elsewhere just now; the event that says so comes later.
    if (location.hash !== this.address) return;
    const fragment = writeState(this.state, this.specification);
    if (fragment === location.hash.slice(1)) return;
    putAddress(fragment);
    this.address = location.hash;
  }

  /** Changes the state and draws again. */
  set(changes) {
    this.gliding = null;
    Object.assign(this.state, changes);
    this.draw();
  }

  /** Changes the state at once, as a button does. */
  change(changes) {
    this.set(changes);
    this.settled();
  }

  /** Says in words what there is to see, and writes the address, a moment after the last change. */
  settled() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), ADDRESS_PAUSE);
  }

  settle() {
    this.writeAddress();
    if (!this.isDrawn) return; // the picture is described when it is drawn
    this.said = this.scene.say();
    this.draw();
  }

  /** Moves points and numbers of the state to where they should be, not too fast for the eye. */
  glide(to) {
    if (this.still) {
      this.change(structuredClone(to));
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
    if (share < 1) {
      this.draw();
    } else {
      this.gliding = null;
      this.settled();
    }
  }

  /** Has the picture as it was at first; hints and answer stay. */
  startAgain() {
    for (const [name, { otherwise }] of Object.entries(this.specification)) {
      if (!this.kept.includes(name)) this.state[name] = structuredClone(otherwise);
    }
    this.startScene();
    this.settled();
  }

  startScene() {
    this.scene?.leave?.();
    this.gliding = null;
    this.said = "";
    this.isDrawn = false;
    delete this.root.dataset.drawn;
    this.scene = new SCENES[baseOf(this.state.task)](this);
    this.draw();
  }

  /** Has the answer graded; what was found about the one before stays until then. */
  async check() {
    const { task, answer } = this.state;
    this.isGrading = true;
    this.draw();
    const graded = await this.grade({ task, answer }).catch((error) => ({ failed: error.message }));
    if (task !== this.state.task) return;
    Object.assign(this, { graded, isGrading: false });
    this.draw();
  }

  toggleReveal() {
    const isRevealed = this.state.reveal !== "yes";
    this.set({ reveal: isRevealed ? "yes" : "no" });
    if (isRevealed) this.scene.reveal();
    this.settled();
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  /** Asks for one drawing in the next frame, however much has changed until then. */
  draw() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.drawNow(now));
  }

  /** The task that the current one is, or is a variant of. */
  get base() {
    return baseOf(this.state.task);
  }

  drawNow(now) {
    this.frame = 0;
    if (this.gliding) this.stepGlide(now);
    const { state, root } = this;
    const question = this.findQuestion(state.task);
    const picture = this.scene.draw(now);
    render(
      root,
      this.describeMenu(),
      question ? this.describeTask(question, picture) : this.describePlay(picture)
    );
    if (this.shownTask !== state.task) {
      this.shownTask = state.task;
      const menu = root.querySelector("nav"); // on a narrow screen it is wider than the screen
      menu.scrollLeft = menu.querySelector("[aria-current]").offsetLeft - menu.offsetLeft - 60;
    }
    if (this.focused) root.querySelector(this.focused)?.focus({ preventScroll: true });
    this.focused = "";
    if (this.isDrawn || this.scene.planes.some(({ width }) => !width)) return;
    this.isDrawn = true;
    this.settled();
    root.dataset.drawn = "";
  }

  /** Gives the focus to what a selector finds once it is there. */
  focusLater(selector) {
    this.focused = selector;
    this.draw();
  }

  /** Takes over the colours and the language of the page. */
  restyle() {
    this.t = this.getTexts(this.state);
    const { theme } = document.documentElement.dataset;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.series = this.data.colours[isDark && !this.paper.matches ? "dark" : "light"];
    this.series.forEach((colour, i) => this.root.style.setProperty(`--s${i}`, colour));
    this.fieldOpacity = isDark ? 0.26 : 0.2;
    // Read once, because asking in every frame would have the browser compute all styles again.
    this.ink = readColours(this.root)("--ink");
    if (this.isDrawn) this.settle();
    this.draw();
  }

  /** Returns one of the colours of keys and clouds as numbers from 0 to 255. */
  rgb(i) {
    return [1, 3, 5].map((at) => parseInt(this.series[i % this.series.length].slice(at, at + 2), 16));
  }

  /** Writes a number in the manner of the page's language, never as -0.00. */
  number(value, decimals = 2) {
    const rounded = Number(value.toFixed(decimals));
    return showNumber(rounded === 0 ? 0 : rounded, this.t.language, decimals);
  }

  /** Returns a question in the language of the page, undefined if a task has none. */
  findQuestion(task) {
    const question = this.data.questions.find((each) => each.task === task);
    return question && { ...question, ...question[this.t.language] };
  }

  describeMenu() {
    const { t, state, linkTo } = this;
    const isListed = (task) => task === baseOf(task) || task === state.task;
    const link = (task) => {
      const question = this.findQuestion(task);
      return h(
        "a",
        {
          href: linkTo(task),
          "aria-current": task === state.task ? "page" : null,
          "data-task": task,
          title: question?.title,
        },
        h("b", question ? task : t("play")),
        question && [" ", h("span", question.title)]
      );
    };
    return h("nav.tasks", { "aria-label": t("tasks") }, this.tasks.filter(isListed).map(link));
  }

  describePlay(picture) {
    const { t } = this;
    return h(
      "section.card.picture-card",
      h("h2", { tabindex: -1 }, t("heading")),
      hint(showNotation(t("lead"))),
      picture
    );
  }

  describeTask(question, picture) {
    const { t, state } = this;
    const isRevealed = state.reveal === "yes";
    const reveal = { "data-control": "reveal", "aria-pressed": String(isRevealed) };
    const buttons = [
      button(t(isRevealed ? "revealed" : "reveal"), () => this.toggleReveal(), reveal),
      button(t("startAgain"), () => this.startAgain(), { "data-control": "again" }),
    ];
    const under = h("div.buttons.under-picture", buttons);
    return h(
      "div.task",
      describeQuestion(question, this),
      h("section.card.picture-card", { "aria-label": t("picture") }, picture, under),
      h("div.work", describeHints(question, this), describeAnswer(question, this))
    );
  }

  /** Describes the sentence below the picture. */
  describeSaid() {
    return h("p.said-now", { role: "status" }, showNotation(this.said));
  }
}
