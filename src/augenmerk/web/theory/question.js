/** A question, its hints, and a box in which an answer is graded. */

import { button, headings, hint, scroll, table, tableRow } from "../page/parts.js";
import { h } from "../page/view.js";
import { showNotation } from "./notation.js";

export const MAX_ANSWER = 2000; // characters
const COLUMNS = ["sort", "keys", "dim", "beta", "B", "times", "weights", "deviation", "error"];

/** Describes a question with the names that an answer may use. */
export function describeQuestion({ task, title, question, names, statements }, { t }) {
  const [first, ...rest] = question.split("\n");
  const formulas = rest.length ? first.split(", ") : [];
  const lines = formulas.map((formula) => h("span", showNotation(formula.replace(/\.$/, ""))));
  const choices = statements.map((statement) => h("li", showNotation(statement)));
  const explained = Object.entries(names).map(([name, meaning]) => [
    h("dt", showNotation(name)),
    h("dd", showNotation(meaning)),
  ]);
  return h(
    "section.card.question",
    h("h2", { tabindex: -1 }, h("span.number", task.split("-")[0]), " ", title),
    lines.length > 0 && h("p.formula", lines),
    h("p.asked", showNotation(rest.join(" ") || first)),
    choices.length > 0 && h("ol.statements", { type: "A" }, choices),
    h("details.names", h("summary", t("names")), h("dl", explained))
  );
}

/** Describes the hints that were asked for, and a button for the next. */
export function describeHints({ hints }, view) {
  const { t, state } = view;
  const shown = Math.min(state.hints, hints.length);
  const more = () => {
    view.change({ hints: shown + 1 });
    view.focusLater(".hints li:last-child");
  };
  const note = shown < hints.length ? t("hint", { number: shown, count: hints.length }) : t("noMoreHints");
  const listed = hints.slice(0, shown).map((each) => h("li", { tabindex: -1 }, showNotation(each)));
  const attributes = { "data-control": "hint", hidden: shown >= hints.length };
  return h(
    "section.card",
    h("h3", t("hints")),
    h("ol.hints", listed),
    h(
      "div.buttons",
      button(t(shown ? "anotherHint" : "nextHint"), more, attributes),
      hint(shown > 0 ? note : "")
    )
  );
}

/** Describes a box for an answer and what became of it; or, if nobody is there to grade, what to run. */
export function describeAnswer(question, view) {
  const { t, state, isGrading, graded } = view;
  if (!view.grade) return describeCommand(question, view);
  const input = {
    ...{ type: "text", id: "theory-answer", placeholder: question.answer, maxlength: MAX_ANSWER },
    ...{ spellcheck: "false", autocomplete: "off", autocapitalize: "off", translate: "no" },
    "data-control": "answer",
    value: state.answer,
    oninput: ({ target }) => view.change({ answer: target.value }),
  };
  const submit = (event) => {
    event.preventDefault();
    view.check();
  };
  const check = h("button.main", { type: "submit", "data-control": "grade" }, t("check"));
  const about = { role: "status", "aria-busy": String(isGrading) };
  const grade = [isGrading && hint(t("grading")), graded && h("div.graded", describeGrade(graded, view))];
  return h(
    "section.card",
    h("h3", h("label", { for: "theory-answer" }, t("answer"))),
    hint(t("answerHint")),
    h("form.answer-form", { onsubmit: submit }, h("input", input), check),
    h("div.grade", about, grade)
  );
}

/** Describes what to run where there is no server. */
function describeCommand({ task, answer }, { t }) {
  const command = (text) => h("pre.command", { translate: "no" }, h("code", text));
  return h(
    "section.card",
    h("h3", t("answer")),
    hint(t("needsServer")),
    command(`augenmerk theory check ${task} --query '${answer}'`),
    hint(t("needsServerOr")),
    command("augenmerk serve --open")
  );
}

/** Describes a grade, or why there is none; all that comes from the grader is text. */
function describeGrade({ failed, verdict, why, mistake, remarks, conditions }, view) {
  const { t } = view;
  if (failed) return h("p.error", t("gradeFailed", { reason: failed }));
  const said = { right: `✓ ${t("holds")}`, "right if": `~ ${t("partly")}`, wrong: `✗ ${t("fails")}` };
  const inOwnWords = mistake && t(`mistake ${mistake}`);
  return [
    h("p", { class: `verdict ${verdict.replace(" ", "-")}` }, said[verdict]),
    inOwnWords && inOwnWords !== mistake && h("p", showNotation(inOwnWords)),
    h("p", { lang: "en", class: "why" }, why),
    remarks.map((remark) => h("p", { lang: "en", class: "hint" }, remark)),
    conditions.length > 0 &&
      h("details", h("summary", t("conditions")), describeConditions(conditions, view)),
  ];
}

/** Describes under which conditions an answer was tried, and what came of it. */
function describeConditions(conditions, view) {
  const { t } = view;
  const letters = Object.keys(conditions[0].letters ?? {});
  // What is the same in all questions of this kind says nothing: orthonormal keys, and no noise.
  const silent = [undefined, null, "orthonormal"];
  const isSaid = (name, value) =>
    !silent.includes(value) && !(name === "beta" && value === 0) && !(name === "times" && value === 1);
  const columns = COLUMNS.filter((name) => conditions.some((row) => isSaid(name, row[name])));
  const show = (value) => {
    if (Array.isArray(value)) return value.map(show).join(" ");
    if (typeof value !== "number") return value ? t(`keys ${value}`) : "";
    if (Number.isInteger(value) || Math.abs(value) >= 1000)
      return value.toLocaleString(t.language, { maximumFractionDigits: 0 });
    return value !== 0 && Math.abs(value) < 0.0005 ? value.toExponential(1) : view.number(value, 3);
  };
  const head = [...columns.map((name) => t(`of ${name}`)), ...letters, t("verdict")];
  const rows = conditions.map((row, i) => {
    const values = [...columns.map((name) => row[name]), ...letters.map((letter) => row.letters[letter])];
    return tableRow(i + 1, [...values.map(show), t(row.holds ? "yes" : "no")]);
  });
  return scroll(table("numbers", t("conditions"), [h("td"), headings(head.map(showNotation))], rows));
}
