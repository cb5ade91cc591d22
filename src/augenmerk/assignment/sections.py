"""Makes the sections of the report: for each task a question, a verdict, an answer, tables and pictures.

Every number is one of `assignment.json`, rounded. A page, Markdown and a notebook show the same sections. The
texts are in `texts.toml`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy import format_float_positional

from augenmerk.assignment.plan import BEST, read_texts
from augenmerk.drawing import AttentionMap
from augenmerk.study.report import ABSENT, make_maps
from augenmerk.study.result import MEASURES, ComparisonResult, StudyResult, Summary
from augenmerk.theory.results import MISTAKES, VERDICTS, Measurement
from augenmerk.theory.wording import format_measure

Document = Mapping[str, Any]
KINDS = {
    "monotone": "from left to right: the diagonal",
    "inversion": "a word moved over two source words or more",
    "spread": "the attention is spread over several words",
    "stuck": "five words or more in a row look at the same word",
    "shifted": "the whole diagonal is a word off",
}
"""What the patterns mean, in the order in which they are listed."""


class Code(str):
    """Text that is shown as code, such as a formula."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    text_columns: int = 1
    """How many columns from the left hold text; the others hold numbers."""
    published: bool = False
    """Whether others' numbers or answers are in it, which no cell of a notebook computes."""


@dataclass(frozen=True)
class Drawn:
    """A chart, by its name in `report.list_pictures`."""

    name: str
    alt: str


@dataclass(frozen=True)
class Maps:
    """A sentence with its attention maps side by side, which are also a picture of this name."""

    name: str
    heading: str
    verdict: str
    maps: Sequence[AttentionMap]


@dataclass(frozen=True)
class Section:
    number: str
    title: str
    question: str
    verdict: str
    answer: Sequence[str]
    blocks: Sequence[Table | Drawn | Maps]
    code: Sequence[str]
    """The cells of the notebook that compute the same."""


def make_sections(document: Document) -> list[Section]:
    result = StudyResult.from_dict(document["study"])
    return [
        *(_show_theory(each, document) for each in document["theory"]),
        _show_translator(document, result),
        _show_diagrams(document, result.splits[0]),
        _show_comparison(document, result),
        _show_curves(result),
        _show_beams(document, result.splits[0]),
    ]


def _make(
    text: Mapping[str, str],
    verdict: str,
    answer: Sequence[str],
    blocks: Sequence[Table | Drawn | Maps],
    *code: str,
    **values: Any,
) -> Section:
    question = text["question"].format(**values)
    return Section(text["number"], text["title"], question, verdict, answer, blocks, code)


# The theory


def _show_theory(found: Mapping[str, Any], document: Document) -> Section:
    task, title, text = found["task"], found["title"], read_texts()[found["task"]]
    measures = [Measurement(*(each[key] for key in MEASUREMENT)) for each in found["measures"]]
    wrong = found["refuted"] or "; ".join(each.name for each in measures if not each.fits)
    verdict = text["verdict"] if found["holds"] else f"Not confirmed by the experiment: {wrong}."
    fits = "Every number is as predicted. " if found["holds"] else ""
    rows = [_show_measure(each) for each in measures]
    blocks: list[Table | Drawn | Maps] = [
        Table(("", "measured", "predicted"), rows, f"{fits}Construction: {found['construction']}."),
        Drawn(f"theory-{task}", f"{task} {title}"),
    ]
    code = [f'result = am.theory.run("{task}")\nprint(result)\nresult.plot()']
    if grades := [each for each in document["grades"] if each["task"] == task]:
        cells = [
            (each["who"], Code("; ".join(each["answers"])), VERDICTS[each["verdict"]], _explain(each))
            for each in grades
        ]
        note = "Answers that students published, graded by experiment, as augenmerk theory check does."
        blocks.append(Table(("published", "answer", "grade", "why"), cells, note, 4, published=True))
        answers = ", ".join(repr(each["answers"]) for each in grades)
        code.append(
            f'for answer in ({answers},):\n    print(am.theory.check("{task}", answer), end="\\n\\n")'
        )
    answer = (text["answer"], *found["remarks"])
    # The first line has the equations, which are the same for all: the first task shows them.
    asked = found["question"] if found is document["theory"][0] else found["question"].rpartition("\n")[2]
    return Section(task, title, asked, verdict, answer, blocks, code)


def _explain(grade: Mapping[str, Any]) -> str:
    """Returns the first finding about an answer and, if it is wrong, the kind of mistake."""
    finding = grade["why"].partition(";")[0].rstrip(".")
    return f"{finding[0].upper()}{finding[1:]}. {MISTAKES.get(grade['mistake'], '')}".strip()


MEASUREMENT = ("name", "measured", "predicted", "relation", "standard_error")


def _show_measure(each: Measurement) -> tuple[str, str, str]:
    name, measured, predicted = format_measure(each)
    return name, f"{measured}{'' if each.fits else ' (does not fit)'}", predicted


# The translator


def _show_translator(document: Document, result: StudyResult) -> Section:
    ours, published, text = document["translator"], document["published"], read_texts()["translator"]
    split, (low, high) = result.splits[0], published["expected"]
    [all_runs] = [each for each in result.variants if each.name == BEST]
    mean = _find(all_runs.summary("bleu", split, result.beams[0]))
    where = "below" if mean.mean < low else "above" if mean.mean > high else "within"
    compared = text["comparable" if document["data"] == "multi30k" else "incomparable"]
    compared = compared.format(expected=published["expected_source"], where=where)
    keys = ("bleu", "chrf", "perplexity", "loss")
    rows = [["ours, this run", *(_round(key, ours[key]) for key in keys)]]
    rows += [["ours, mean of the runs", _show_summary(mean), *[ABSENT] * 3]]
    rows += [[each["name"], _show_mean(each, "bleu", BEST), *[ABSENT] * 3] for each in published["reports"]]
    headings = (BEST, *(MEASURES[key].heading for key in keys))
    return _make(
        text,
        f"Perplexity {ours['perplexity']:.2f} and BLEU {ours['bleu']:.2f} on {split}.",
        [text["answer"].format(**ours, compared=compared)],
        [Table(headings, rows, text["note"].format(**ours), published=True)],
        f'run = am.open_run("study/{ours["run"]}")\nrun.evaluate("{split}", beam=1)',
    )


def _show_diagrams(document: Document, split: str) -> Section:
    found, drawn, text = document["patterns"], document["diagrams"], read_texts()["diagrams"]
    kinds = found["kinds"]
    rows = [(kind, meaning, f"{kinds[kind]:,}") for kind, meaning in KINDS.items()]
    maps = []
    for number, one in enumerate(drawn, 1):
        words = one["source_words"], one["target_words"]
        attention = AttentionMap(*words, one["weights"], note=one["translation"])
        maps.append(Maps(f"diagram-{number}", f"{number}. {one['kind']}", one["verdict"], [attention]))
    answer = [text["answer"].format(split=split), *([] if drawn else [text["left_out"]])]
    return _make(
        text,
        text["verdict"].format(**kinds, sentences=found["sentences"]),
        answer,
        [Table(("pattern", "meaning", "sentences"), rows, text_columns=2), *maps],
        f'print(am.patterns(run=run.path, split="{split}", beam=1, top=4))',
        f'found = am.patterns(run=run.path, split="{split}", beam=1, kind="inversion", top=4)\n'
        "for match in found.chosen:\n    print(match.pattern.verdict)\n    display(match.translation)",
    )


def _show_comparison(document: Document, result: StudyResult) -> Section:
    text, split, reports = read_texts()["comparison"], result.splits[0], document["published"]["reports"]
    measured = {"bleu": (split, result.beams[0]), "validation_loss": (None, None)}
    theirs = [(each, key) for key in measured for each in reports if key in each]
    headings = [f"{MEASURES[key].heading}, ours" for key in measured]
    headings += [f"{MEASURES[key].heading}, {each['name']}" for each, key in theirs]
    rows, alone = [], []
    for variant in result.variants:
        ours = [_find(variant.summary(key, *asked)) for key, asked in measured.items()]
        others = [_show_mean(each, key, variant.name) for each, key in theirs]
        rows.append([variant.name, *map(_show_summary, ours), *others])
        by_seed = [_round(each.measure, each.values[seed]) for each in ours for seed in result.seeds]
        alone.append([variant.name, *by_seed])
    names = [f"{MEASURES[key].heading}, seed {seed}" for key in measured for seed in result.seeds]
    sources = ". ".join(f"R{each['name'][1:]} is {each['source']}" for each in reports)
    tested = [_show_test(each) for each in result.comparisons]
    examples = [
        Maps(f"example-{number}", one.source, "", make_maps(one))
        for number, one in enumerate(result.examples, 1)
    ]
    return _make(
        text,
        " ".join(each.answer for each in result.verdicts),
        [*(detail for each in result.verdicts for detail in each.details), *result.remarks],
        [
            Table(
                ("attention", *headings),
                rows,
                text["note"].format(split=split, sources=sources),
                published=True,
            ),
            Drawn("effects", "Differences in BLEU with their intervals"),
            Table(("difference", "in", "mean", "interval", "p", "by seed"), tested, text["tests"], 2),
            Table(("attention", *names), alone),
            *examples,
        ],
        'study = am.StudyResults("study")\nprint(study)',
        'study.plot("effects")',
    )


def _show_curves(result: StudyResult) -> Section:
    rows, lowest, text = [], {}, read_texts()["curves"]
    for variant in result.variants:
        curves = {curve.measure: curve.points for curve in variant.curves}
        train, validation = curves["train_loss"], curves["validation_loss"]
        best = lowest[variant.name] = min(validation, key=lambda point: point.mean)
        ends = (train[0], train[-1], validation[0], validation[-1], best)
        rows.append((variant.name, *(f"{each.mean:.3f}" for each in ends), str(best.epoch)))
    best = lowest.pop(BEST)
    others = " and ".join(f"{point.mean:.3f} for {name}" for name, point in lowest.items())
    headings = ("training: first epoch", "last", "validation: first epoch", "last", "lowest", "in epoch")
    return _make(
        text,
        text["verdict"].format(best=BEST, loss=best.mean, epoch=best.epoch, others=others),
        [text["answer"]],
        [
            Drawn("train_loss", "Training loss by epoch"),
            Drawn("validation_loss", "Validation loss by epoch"),
            Table(("attention", *headings), rows, text["note"]),
        ],
        'study.plot("train_loss")',
        'study.plot("validation_loss")',
    )


def _show_beams(document: Document, split: str) -> Section:
    rows, text = document["beams"], read_texts()["beams"]
    greedy, best, widest = rows[0], max(rows, key=lambda row: row["bleu"]), rows[-1]
    values = {"best": best["beam"], "bleu": best["bleu"], "greedy": greedy["bleu"], "widest": widest["beam"]}
    for name, row in (("narrow", greedy), ("wide", widest)):
        values |= {f"{name}_score": row["model_score"], f"{name}_length": row["length_ratio"]}
    formats = {"bleu": ".2f", "length_ratio": ".3f", "model_score": "z.3f", "sentences_per_second": ",.0f"}
    shown = [(str(row["beam"]), *(f"{row[key]:{spec}}" for key, spec in formats.items())) for row in rows]
    headings = ("beam", "BLEU", "length ratio", "mean score by the model", "sentences per second")
    beams = [row["beam"] for row in rows]
    return _make(
        text,
        text["hurts" if best is greedy else "helps"].format(**values),
        [text["answer"].format(**values)],
        [
            Drawn("beams", "BLEU, length, score and time against the width of the beam"),
            Table(headings, shown, text["note"].format(split=split)),
        ],
        f'run.evaluate("{split}", beam={beams})',
        wider=", ".join(map(str, beams[1:])),
    )


def describe_origin(document: Document) -> Iterator[tuple[str, str]]:
    """Yields what the numbers depend on: a name and a value each."""
    origin = StudyResult.from_dict(document["study"]).provenance
    assert origin is not None
    yield "command", document["command"]
    yield "settings", document["settings"]
    yield "data", ", ".join([origin.bitext, *(f"{each.split} {each.sentences:,}" for each in origin.data)])
    yield "hardware", "; ".join(origin.hardware)
    yield "software", ", ".join(f"{name} {version}" for name, version in origin.software.items())
    yield "training", f"{origin.seconds:,.0f} s, all runs together; {document['date']}"
    if origin.padding is not None:
        yield "padding", origin.padding.in_words


def _find(summary: Summary | None) -> Summary:
    assert summary is not None  # a finished study has measured it
    return summary


def _round(measure: str, value: float) -> str:
    return f"{value:.{MEASURES[measure].digits}f}"


def _show_mean(report: Mapping[str, Any], key: str, variant: str) -> str:
    mean, variance = report[key][variant]
    return f"{_round(key, mean)} ({variance:g})"


def _show_summary(summary: Summary) -> str:
    variance = format_float_positional(float(f"{summary.variance or 0:.2g}"), trim="-")
    return f"{_round(summary.measure, summary.mean)} ({variance})"


def _show_test(each: ComparisonResult) -> tuple[str, ...]:
    about = MEASURES[each.measure]
    mean, low, high = (f"{x:+z.{about.digits}f}" for x in (each.difference, *each.interval))
    p = "< 0.001" if each.p_corrected < 0.001 else f"{each.p_corrected:.2g}"
    seeds = ", ".join(f"{seed.difference:+z.{about.digits}f}" for seed in each.seeds)
    return f"{each.variant} − {each.against}", about.heading, mean, f"{low} to {high}", p, seeds
