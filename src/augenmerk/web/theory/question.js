/** A question, its hints, and a box in which an answer is graded. */

import { make } from "../page/dom.js";
import { showNotation } from "./notation.js";

export const MAX_ANSWER = 2000; // characters

/** Returns a question with the names that an answer may use. */
export function makeQuestion({ task, title, question, names }, { t }) {
  const [first, ...rest] = question.split("\n");
  const isFormula = rest.length > 0;
  const makeLine = (formula) => make("span", {}, ...showNotation(formula.replace(/\.$/, "")));
  return make(
    "section",
    { class: "card question" },
    make("h2", { tabindex: -1 }, make("span", { class: "number" }, task), " ", title),
    isFormula ? make("p", { class: "formula" }, ...first.split(", ").map(makeLine)) : "",
    make("p", { class: "asked" }, ...showNotation((isFormula ? rest : [first]).join(" "))),
    make(
      "details",
      { class: "names" },
      make("summary", {}, t("names")),
      make(
        "dl",
        {},
        ...Object.entries(names).flatMap(([name, meaning]) => [
          make("dt", {}, ...showNotation(name)),
          make("dd", {}, ...showNotation(meaning)),
        ])
      )
    )
  );
}

/** Returns the hints that were asked for, and a button for the next. */
export function makeHints({ hints }, view) {
  const { t, state } = view;
  const list = make("ol", { class: "hints" });
  const button = make("button", { type: "button", "data-control": "hint" });
  const show = () => {
    const shown = Math.min(Math.round(state.hints), hints.length);
    while (list.children.length < shown) {
      list.append(make("li", { tabindex: -1 }, ...showNotation(hints[list.children.length])));
    }
    button.textContent = shown === 0 ? t("nextHint") : t("anotherHint");
    button.hidden = shown >= hints.length;
    note.textContent =
      shown === 0
        ? ""
        : shown < hints.length
          ? t("hint", { number: shown, count: hints.length })
          : t("noMoreHints");
  };
  const note = make("p", { class: "hint" });
  button.addEventListener("click", () => {
    state.hints = Math.min(hints.length, Math.round(state.hints) + 1);
    show();
    list.lastChild.focus({ preventScroll: true });
    view.settled();
  });
  show();
  return make(
    "section",
    { class: "card" },
    make("h3", {}, t("hints")),
    list,
    make("div", { class: "buttons" }, button, note)
  );
}

/** Returns a box for an answer and what is said about it; or, if nobody is there to grade, what to run. */
export function makeAnswer(question, view) {
  const { t, state } = view;
  const { task, answer } = question;
  if (!view.grade) return makeCommand(question, view);
  const input = make("input", {
    type: "text",
    id: "theory-answer",
    placeholder: answer,
    maxlength: MAX_ANSWER,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    translate: "no",
    "data-control": "answer",
  });
  input.value = state.answer;
  input.addEventListener("input", () => {
    state.answer = input.value;
    view.settled();
  });
  const verdict = make("div", { class: "grade", role: "status" });
  const button = make("button", { type: "submit", class: "main", "data-control": "grade" }, t("check"));
  let asked = 0;
  const form = make("form", { class: "answer-form" }, input, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const number = ++asked;
    verdict.replaceChildren(make("p", { class: "hint" }, t("grading")));
    const shown = await view.grade(task, input.value).then(
      (grade) => showGrade(grade, view),
      (error) => [make("p", { class: "error" }, t("gradeFailed", { reason: error.message }))]
    );
    if (number === asked) verdict.replaceChildren(...shown);
  });
  return make(
    "section",
    { class: "card" },
    make("h3", {}, make("label", { for: "theory-answer" }, t("answer"))),
    make("p", { class: "hint" }, t("answerHint")),
    form,
    verdict
  );
}

/** Returns what to run where there is no server. */
function makeCommand({ task, answer }, { t }) {
  const command = (text) => make("pre", { class: "command", translate: "no" }, make("code", {}, text));
  return make(
    "section",
    { class: "card" },
    make("h3", {}, t("answer")),
    make("p", { class: "hint" }, t("needsServer")),
    command(`augenmerk theory check ${task} --query '${answer}'`),
    make("p", { class: "hint" }, t("needsServerOr")),
    command("augenmerk serve --open")
  );
}

/** Returns a grade as nodes; all that comes from the grader is text. */
function showGrade({ verdict, why, remarks, conditions }, view) {
  const { t } = view;
  const all = ["sort", "keys", "dim", "beta", "B", "times", "weights", "deviation", "error"];
  const letters = Object.keys(conditions[0]?.letters ?? {});
  // What is the same in all questions of this kind says nothing: orthonormal keys, and no noise.
  const silent = [undefined, null, "orthonormal"];
  const isSaid = (name, value) =>
    !silent.includes(value) && !(name === "beta" && value === 0) && !(name === "times" && value === 1);
  const columns = all.filter((name) => conditions.some((row) => isSaid(name, row[name])));
  const show = (value) => {
    if (Array.isArray(value)) return value.map(show).join(" ");
    if (typeof value !== "number") return String(value ?? "");
    if (Number.isInteger(value) || Math.abs(value) >= 1000)
      return value.toLocaleString(t.language, { maximumFractionDigits: 0 });
    return value !== 0 && Math.abs(value) < 0.0005 ? value.toExponential(1) : view.number(value, 3);
  };
  const name = (column) => t(["beta", "B", "weights", "deviation"].includes(column) ? `${column}_` : column);
  const head = make(
    "tr",
    {},
    ...columns.map((column) => make("th", { scope: "col" }, name(column))),
    ...letters.map((letter) => make("th", { scope: "col" }, ...showNotation(letter))),
    make("th", { scope: "col" }, t("verdict"))
  );
  const rows = conditions.map((row) =>
    make(
      "tr",
      {},
      ...columns.map((column) => make("td", {}, show(row[column]))),
      ...letters.map((letter) => make("td", {}, show(row.letters[letter]))),
      make("td", {}, t(row.holds ? "yes" : "no"))
    )
  );
  return [
    make(
      "p",
      { class: `verdict ${verdict.replace(" ", "-")}` },
      { right: `✓ ${t("holds")}`, "right if": `~ ${t("partly")}`, wrong: `✗ ${t("fails")}` }[verdict]
    ),
    make("p", { lang: "en", class: "why" }, why),
    ...remarks.map((remark) => make("p", { lang: "en", class: "hint" }, remark)),
    rows.length === 0
      ? ""
      : make(
          "details",
          {},
          make("summary", {}, t("conditions")),
          make(
            "div",
            { class: "scroll", tabindex: 0 },
            make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows))
          )
        ),
  ];
}
