"""Reports: every number on them is one of study.json, whatever names the variants have."""

import copy
import csv
import io
import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.lines import Line2D
from typer.testing import CliRunner

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import app
from augenmerk.drawing.charts import move_apart
from augenmerk.drawing.figures import DARK, LIGHT
from augenmerk.drawing.html import Chart
from augenmerk.study import report
from augenmerk.study.charts import draw_curves, draw_effects, draw_factor, list_charts
from augenmerk.study.report import TableStyle, format_csv, format_latex, format_markdown, render_report
from augenmerk.study.result import (
    BeamRepair,
    BeamRow,
    Curve,
    CurvePoint,
    DataSum,
    Example,
    ExampleMap,
    LengthBin,
    PaddingCheck,
    Provenance,
    Published,
    RunResult,
    SeedComparison,
    StudyResult,
    Summary,
    VariantResult,
    Verdict,
    describe_doubt,
)
from tests.support.command import COMMAND, fails_with_a_sentence, run_command, run_json
from tests.unit.test_study_compare import FOUND

NASTY = "<b>&_lr=1e-3|x"


def variant(name: str, shift: float) -> VariantResult:
    bleu = Summary("bleu", "test", 1, {1: 30 + shift, 2: 32 + shift}, 31 + shift, 2.0, (18.3, 43.7))
    other = Summary("bleu", "test", 5, {1: 33.0, 2: 34.0}, 33.5, 0.5, (27.1, 39.9))
    loss = Summary("validation_loss", None, None, {1: 2.5}, 2.5, None, None)
    points = tuple(CurvePoint(epoch, 2, 5.0 - epoch, 4.9 - epoch, 5.1 - epoch) for epoch in (1, 2, 3))
    return VariantResult(
        name=name,
        settings={"model.attention": name},
        parameters=123_456,
        runs=(
            RunResult(1, f"runs/{name}/seed-1", "finished", None, 3, 2, 61.4, "cpu, 2 threads", "bf16"),
            RunResult(2, f"runs/{name}/seed-2", "failed", "It <i>broke</i>."),
        ),
        summaries=(bleu, other, loss),
        curves=(Curve("validation_loss", points),),
        by_length=(LengthBin(3, 7, 40, 50.5, 49.0, 52.0), LengthBin(8, 8, 60, 30.5, 29.0, 32.0)),
    )


def make_result() -> StudyResult:
    names = ("mean", NASTY)
    return StudyResult(
        name="mine",
        question="Is 1 < 2 & so on?",
        factors=("model.attention",),
        seeds=(1, 2),
        splits=("test",),
        beams=(1, 5),
        variants=tuple(variant(name, float(place)) for place, name in enumerate(names)),
        comparisons=(
            replace(
                FOUND,
                variant=NASTY,
                seeds=(SeedComparison(1, 1.25),),
                difference=1.25,
                interval=(-0.5, 3.0),
                interval_covers="sentences",
                seed_deviation=None,
                p=0.04,
                p_corrected=0.0456,
                p_these_runs=0.0123,
                in_words="One <em>is</em> 1.2 BLEU above the other.",
            ),
        ),
        verdicts=(
            Verdict("Is 1 < 2 & so on?", "It <i>is</i>.", ("One <em>is</em> 1.2 BLEU above the other.",)),
        ),
        beam_rows=tuple(
            BeamRow(name, "test", beam, 2, 31.0 + beam, 30.0, 37.0, 0.97, -8.1, 0.0042)
            for name in names
            for beam in (1, 5)
        ),
        beam_repairs=(
            BeamRepair(
                *(
                    "mean",
                    "test",
                    1,
                    5,
                    2,
                    200,
                    30,
                    2,
                    20.0,
                    25.0,
                    4.0,
                    (3.0, 5.0),
                    0.95,
                    0.001,
                    0.001,
                    0.001,
                ),
                in_words="Beam 5 repairs 30 of 200.",
            ),
        ),
        examples=(
            Example(
                "Der <Hund> schläft.",
                ("Der", "<Hund>", "schläft", ".", "</s>"),
                "The dog sleeps.",
                tuple(
                    ExampleMap(name, 1, "The dog.", ("The", "</s>"), ((0.2,) * 5, (0, 0, 0, 0, 1.0)))
                    for name in names
                ),
            ),
        ),
        provenance=Provenance(
            config="[model]\nattention = 'mean'\n",
            bitext="bilderbuch",
            data=(DataSum("test", 100, "ab" * 32),),
            software={"torch": "2.11.0"},
            hardware=("a machine <x>",),
            seconds=122.8,
            signatures={"BLEU": "nrefs:1|case:lc"},
            padding=PaddingCheck(2, 32, 0, 1e-6, "All 64 translations are the same."),
        ),
        published=(Published(variant="mean", measure="bleu", mean=29.6, variance=0.093),),
        published_source="published by others, elsewhere",
        remarks=("1 run & more to come.",),
    )


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return make_result()


@pytest.fixture(scope="module")
def page(result: StudyResult) -> str:
    return render_report(result)


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves charts, which take long to draw, out of pages."""
    monkeypatch.setattr(report, "_draw", lambda *_: Chart("data:,", "data:,", ""))


class Reader(HTMLParser):
    """Collects text, complains about elements that are not closed, and about anything from elsewhere."""

    VOID = frozenset({"meta", "link", "img", "br", "source"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset"):
                assert value is not None
                assert value.startswith("data:"), f"{tag} asks for {value[:40]}"
        self.pictures += tag == "picture"
        assert tag != "script"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole_escaped_and_needs_no_network(page: str) -> None:
    reader = read(page)
    text = " ".join(" ".join(reader.texts).split())
    assert reader.pictures == 4  # effects, learning, lengths, beams
    assert "@import" not in page
    assert "url(" not in page
    for expected in (
        "Is 1 < 2 & so on?",
        "This study is not complete yet.",
        "It <i>is</i>.",
        "One <em>is</em> 1.2 BLEU above the other.",
        "31.00 ± 1.41 [18.30, 43.70]",
        "32.00 ± 1.41 [18.30, 43.70]",
        "29.60 ± 0.30",
        "Mean ± standard deviation over the finished runs",
        "Columns called “published” were not measured here: published by others, elsewhere.",
        "test BLEU +1.25 -0.50 to +3.00 0.046 0.012 +1.25",
        "Beam 5 repairs 30 of 200.",
        "36.00 30.00 to 37.00 0.970 -8.100 4.2",
        "Reference: The dog sleeps.",
        "All 64 translations are the same.",
        "BLEU nrefs:1|case:lc",
        "torch 2.11.0",
        "a machine <x>",
        "123 s, all runs together",
        "It <i>broke</i>.",
        "40 of 3 to 7 words, 60 of 8 words",
        "1 run & more to come.",
        "ab" * 32,
    ):
        assert expected in text


@pytest.mark.usefixtures("without_charts")
def test_the_page_says_with_which_head_the_alignment_was_measured(result: StudyResult, page: str) -> None:
    assert "alignment error" not in page
    first, other = result.variants
    heads = replace(first.runs[0], alignment_attention="layer 2, head 3", alignment_chosen_on="val")
    mean = replace(first.runs[1], alignment_attention="mean of all layers and heads")
    both = replace(first, runs=(heads, mean))
    page = render_report(replace(result, variants=(both, replace(other, runs=(mean,)))))
    text = " ".join(" ".join(read(page).texts).split())
    expected = (
        "is measured with layer 2, head 3 (seed 1, chosen on val); mean of all layers and heads (seed 2)."
    )
    assert f"The alignment error of mean {expected}" in text
    assert f"The alignment error of {NASTY} is measured with mean of all layers and heads (seed 2)." in text


@pytest.mark.usefixtures("without_charts")
def test_the_page_doubts_differences_that_may_be_chance(result: StudyResult, page: str) -> None:
    doubt = "may be chance"
    [compared] = result.comparisons
    for change, expected in (
        ({"interval": (0.5, 2.0)}, ""),
        ({"interval": (-0.5, 2.0), "p_corrected": 0.05}, doubt),
        ({"difference": 0.0, "interval": (0.0, 0.0), "p_corrected": 1.0}, ""),
    ):
        changed = replace(compared, **change)
        assert describe_doubt(changed) == expected
        page = render_report(replace(result, comparisons=(changed,)))
        assert page.count(f">{doubt}<") == bool(expected)


def test_the_chart_colours_a_difference_that_is_clear(result: StudyResult) -> None:
    [compared] = result.comparisons
    for interval, p, certain in (((-0.5, 3.0), 0.2, False), ((0.5, 2.0), 0.001, True)):
        changed = replace(compared, interval=interval, p_corrected=p)
        figure = draw_effects(replace(result, comparisons=(changed,)), LIGHT)
        colours = {line.get_color() for line in figure.axes[0].lines}
        assert (LIGHT.accent in colours) == certain


@pytest.mark.usefixtures("without_charts")
def test_the_report_leads_with_a_verdict_for_each_question(result: StudyResult) -> None:
    verdicts = (
        Verdict("Does it matter?", "b is 2.0 BLEU above a.", ("In <detail>.",)),
        Verdict(result.question, "No difference was found in 2 comparisons.", ()),
    )
    led = replace(result, verdicts=verdicts)
    page = render_report(led)
    header = page[: page.index("</header>")]
    for expected in (
        "<h2><bdi>Does it matter?</bdi></h2>",
        "b is 2.0 BLEU above a.",
        "In &lt;detail&gt;.",
        "was found in 2",
    ):
        assert expected in header
    assert header.count("<h2>") == 1  # the study's own question is the heading
    text = format_markdown(led)
    lines = text.splitlines()
    assert text.index("Does it matter? **b is 2.0 BLEU above a.**") < text.index("| variant | runs |")
    assert r"- In \<detail\>." in lines


@pytest.mark.parametrize("epochs", [1, 2])
def test_an_axis_of_few_epochs_has_whole_ones_only(result: StudyResult, epochs: int) -> None:
    variants = []
    for each in result.variants:
        [curve] = each.curves
        variants.append(replace(each, curves=(replace(curve, points=curve.points[:epochs]),)))
    [axes] = draw_curves(replace(result, variants=tuple(variants)), "validation_loss", LIGHT).axes
    low, high = axes.get_xlim()
    shown = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert shown == list(range(1, epochs + 1))


@pytest.mark.usefixtures("without_charts")
def test_with_one_variant_what_is_said_about_beams_leads(result: StudyResult, page: str) -> None:
    said = "Beam 5 repairs 30 of 200."
    assert page.index(said) > page.index("<h2>Beam search</h2>")
    verdicts = (Verdict(result.question, "", (said,)),)
    alone = render_report(replace(result, variants=result.variants[:1], comparisons=(), verdicts=verdicts))
    assert alone.count(said) == 1
    assert alone.index(said) < alone.index("</header>")


@pytest.mark.usefixtures("without_charts")
def test_what_rounds_to_nothing_has_no_sign(result: StudyResult) -> None:
    tree = result.to_dict()
    tree["comparisons"][0] |= {"difference": -0.001, "interval": [-0.002, 0.001]}
    tree["comparisons"][0]["seeds"][0]["difference"] = -0.001
    tree["variants"][0]["summaries"][0] |= {"mean": -0.001, "interval": [-0.004, 0.004]}
    tree["beam_rows"][0]["model_score"] = -0.0001
    near = StudyResult.from_dict(tree)
    text = " ".join(" ".join(read(render_report(near)).texts).split())
    assert "test BLEU +0.00 +0.00 to +0.00 0.046 0.012 +0.00" in text
    assert not re.search(r"-0\.0+\b", text + format_markdown(near) + format_latex(near))


def test_a_study_without_any_run_is_reported_as_what_it_is(result: StudyResult) -> None:
    tree = result.to_dict()
    for each in tree["variants"]:
        each |= {"parameters": None, "summaries": [], "curves": [], "by_length": []}
        each["runs"] = [{"seed": 1, "run": "runs/x", "state": "missing"}]
    tree |= {"comparisons": [], "beam_rows": [], "beam_repairs": [], "examples": [], "provenance": None}
    tree["remarks"] = ["2 of 2 runs are not finished: numbers may still change."]
    empty = StudyResult.from_dict(tree)
    reader = read(render_report(empty))
    assert reader.pictures == 0
    assert "2 of 2 runs are not finished: numbers may still change." in " ".join(reader.texts)
    assert "| mean | 0/1 | – |" in format_markdown(empty)
    assert len(format_csv(empty).splitlines()) == 1


@given(st.lists(st.floats(-100, 100), max_size=9).map(sorted), st.floats(0.1, 20))
def test_names_at_the_ends_of_lines_keep_apart_and_in_order(places: list[float], room: float) -> None:
    moved = move_apart(places, room)
    assert len(moved) == len(places)
    assert all(b - a >= room - 1e-9 for a, b in itertools.pairwise(moved))
    assert sum(moved) == pytest.approx(sum(places), abs=1e-6)
    if all(b - a >= room for a, b in itertools.pairwise(places)):
        assert moved == pytest.approx(places)


def test_markdown(result: StudyResult) -> None:
    lines = format_markdown(result).splitlines()
    assert lines[0] == r"**Is 1 \< 2 & so on?**"
    table = [line for line in lines if line.startswith("|")]
    counts = {len(re.split(r"(?<!\\)\|", line)) for line in table}
    assert len(counts) == 1
    assert table[0] == ("| variant | runs | parameters | BLEU | BLEU, published | validation loss |")
    assert table[2] == "| mean | 1/2 | 123,456 | 31.00 ± 1.41 | 29.60 ± 0.30 | 2.500 |"
    assert table[3] == r"| \<b\>&\_lr=1e-3\|x | 1/2 | 123,456 | 32.00 ± 1.41 | – | 2.500 |"
    assert r"- One \<em\>is\</em\> 1.2 BLEU above the other." in lines
    assert "- Columns called “published” were not measured here: published by others, elsewhere." in lines


def test_latex(result: StudyResult) -> None:
    lines = [line for line in format_latex(result).splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{lrrrrr}"
    assert lines[1] == r"\toprule"
    assert lines[4] == r"mean & 1/2 & 123,456 & 31.00 $\pm$ 1.41 & 29.60 $\pm$ 0.30 & 2.500 \\"
    assert lines[5] == r"<b>\&\_lr=1e-3|x & 1/2 & 123,456 & 32.00 $\pm$ 1.41 & -- & 2.500 \\"
    assert lines[-3:-1] == [r"\bottomrule", r"\end{tabular}"]
    assert "``published'' were not measured here: published by others, elsewhere." in lines[-1]
    alone = format_latex(result, TableStyle(columns=("runs", "chrf", "validation_loss")))
    assert alone.endswith("\\end{tabular}\n")  # no column of others, so no word about it


def test_a_table_has_the_columns_that_were_asked_for_in_their_order(result: StudyResult) -> None:
    style = TableStyle(columns=("validation_loss", "bleu", "runs"), spread="deviation", bold=False)
    table = [line for line in format_markdown(result, style).splitlines() if line.startswith("|")]
    assert table[0] == "| variant | validation loss | BLEU | BLEU, published | runs |"
    assert table[2] == "| mean | 2.500 | 31.00 ± 1.41 | 29.60 ± 0.30 | 1/2 |"
    assert r"31.00 $\pm$ 1.41" in format_latex(result, style)
    alone = TableStyle(columns=("bleu",), spread="none", bold=False)
    assert r"mean & 31.00 & 29.60 \\" in format_latex(result, alone)
    variance = format_markdown(result, TableStyle(spread="variance"))
    assert "31.00 (2) | 29.60 (0.093)" in variance
    assert "Mean (variance) over the finished runs" in variance
    with pytest.raises(AugenmerkError, match="no column 'blue'"):
        TableStyle(columns=("blue",))


@pytest.mark.usefixtures("without_charts")
def test_published_figures_can_be_left_out(result: StudyResult, tmp_path: Path) -> None:
    style = TableStyle(columns=("bleu",), published=False)
    for text in (format_markdown(result, style), format_latex(result, style), render_report(result, style)):
        assert "29.60" not in text
        assert "published" not in text.replace(".published", "")  # the name of a style
    result.save(tmp_path)
    answer = run_json("report", tmp_path, "--format", "markdown", "--columns", "bleu", "--no-published")
    assert "published" not in answer["text"]


def test_what_is_marked_as_best_is_bold(result: StudyResult) -> None:
    first, second = result.variants
    best = replace(second, summaries=tuple(replace(each, best=True) for each in second.summaries))
    measured = replace(result, variants=(first, best))
    text = format_markdown(measured, TableStyle(columns=("bleu",)))
    assert "| mean | 31.00 ± 1.41 |" in text
    assert "| **32.00** ± 1.41 |" in text
    assert "a paired t test over the seeds does not tell from it" in text
    assert r"\textbf{32.00} $\pm$ 1.41" in format_latex(measured, TableStyle(columns=("bleu",)))
    unmarked = format_markdown(measured, TableStyle(columns=("bleu",), bold=False))
    assert "Bold" not in unmarked
    assert "**32.00**" not in unmarked


def test_losses_that_cannot_be_compared_are_not_drawn_against_a_factor() -> None:
    study = replace(make_growing((3000, 100, 100_000)), incomparable=("word_loss",))
    [bleu] = draw_factor(study, "data.bilderbuch.pairs", LIGHT).axes
    assert bleu.get_title(loc="left") == "BLEU, test"


def test_intervals_stay_within_the_bounds_of_their_measure() -> None:
    def bound(measure: str, low: float, high: float) -> tuple[float, float] | None:
        return Summary(measure, "test", None, {1: 0.5, 2: 0.9}, 0.7, 0.08, (low, high)).interval

    assert bound("alignment_error", -1.8, 3.2) == (0, 1)
    assert bound("bleu", -3.0, 120.0) == (0, 100)
    assert bound("perplexity", -3.0, 120.0) == (1, 120)
    assert bound("bleu", 18.3, 43.7) == (18.3, 43.7)


def make_growing(values: tuple[Any, ...]) -> StudyResult:
    """Returns a study of two architectures with a factor of these values; BLEU grows, the loss falls."""

    def grow(architecture: str, place: int) -> VariantResult:
        bleu, loss = 20.0 * (place + 1), 4.0 / 10**place
        if architecture == "transformer":
            bleu, loss = bleu + 5, loss / 2
        summaries = (
            Summary("bleu", "test", 1, {1: bleu - 3, 2: bleu + 3}, bleu, 18.0, (0.0, 100.0)),
            Summary("word_loss", "test", None, {1: loss}, loss, None, None),
        )
        settings = {"model.architecture": architecture, "data.bilderbuch.pairs": values[place]}
        return replace(variant(f"{architecture} {place}", 0.0), settings=settings, summaries=summaries)

    variants = (grow(each, place) for each in ("gru", "transformer") for place in range(len(values)))
    factors = ("model.architecture", "data.bilderbuch.pairs")
    return replace(make_result(), factors=factors, variants=tuple(variants), comparisons=(), beam_rows=())


def read_points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def test_a_factor_of_numbers_has_a_chart_with_a_line_for_each_choice_of_the_others() -> None:
    study = make_growing((3000, 100, 100_000))
    assert "by-pairs" in list_charts(study)
    bleu, loss = draw_factor(study, "data.bilderbuch.pairs", LIGHT).axes
    lines = {line.get_label(): line for line in bleu.lines if not str(line.get_label()).startswith("_")}
    assert lines.keys() == {"gru", "transformer"}
    pairs, heights = zip(*read_points(lines["gru"]), strict=True)
    assert heights == (40, 20, 60)  # by the number of pairs, not as the file says
    assert pairs == pytest.approx((100, 3000, 100_000), rel=0.1)
    whiskers = [[y for _, y in points] for points in map(read_points, bleu.lines) if len(points) == 2]
    assert any(whisker == pytest.approx([20 - 18**0.5, 20 + 18**0.5]) for whisker in whiskers)
    assert (bleu.get_xscale(), bleu.get_yscale(), loss.get_yscale()) == ("log", "linear", "log")
    assert [label.get_text() for label in bleu.get_xticklabels()] == ["100", "3,000", "100,000"]
    assert "BLEU and loss per word against pairs" in render_report(study)


@pytest.mark.parametrize("values", [(1, 2), (True, False, 1), ("a", "b", "c")])
def test_other_factors_have_no_such_chart(values: tuple[Any, ...]) -> None:
    assert not any(name.startswith("by-") for name in list_charts(make_growing(values)))


def test_charts_become_files(result: StudyResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    arguments = ("report", tmp_path, "--figures", tmp_path / "charts", "--figure-format", "svg")
    answer = run_json(*arguments, "--size", "16:9", "--font-size", "12", "--theme", "dark")
    names = ["effects.svg", "validation_loss.svg", "lengths.svg", "beams.svg"]
    assert [Path(file).name for file in answer["figures"]] == names
    texts = [(tmp_path / "charts" / name).read_text(encoding="utf-8") for name in names]
    assert all(DARK.paper in text for text in texts)
    assert "one seed" in texts[0]
    fails_with_a_sentence("report", tmp_path, "--size", "x")
    for name, wrong in (("--figure-format", "gif"), ("--spread", "range"), ("--font-size", "1000")):
        answer = run_command("report", tmp_path, name, wrong)
        assert (answer.code, answer.out) == (2, "")
        assert f"Invalid value for '{name}'" in answer.err


def test_csv_has_every_figure_in_full(result: StudyResult) -> None:
    rows = list(csv.DictReader(io.StringIO(format_csv(result))))
    assert len(rows) == sum(len(each.summaries) for each in result.variants)
    first = rows[0]
    assert (first["variant"], first["measure"], first["split"], first["beam"]) == (
        "mean",
        "bleu",
        "test",
        "1",
    )
    assert (float(first["mean"]), float(first["variance"])) == (31.0, 2.0)
    assert (float(first["low_95"]), float(first["high_95"])) == (18.3, 43.7)
    assert (float(first["published_mean"]), float(first["published_variance"])) == (29.6, 0.093)
    assert (float(first["seed_1"]), float(first["seed_2"])) == (30.0, 32.0)
    assert rows[1]["published_mean"] == ""  # others did not say with which beam
    assert rows[-1]["variant"] == NASTY
    assert rows[-1]["variance"] == ""


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_sees_no_formula_in_csv(result: StudyResult, name: str) -> None:
    first = replace(result.variants[0], name=name)
    text = format_csv(replace(result, variants=(first,)))
    assert next(csv.DictReader(io.StringIO(text, newline="")))["variant"] == "'" + name.replace("\r", " ")


def test_variants_whose_names_are_long_can_be_told_apart_in_charts(result: StudyResult) -> None:
    names = [f"architecture=transformer, pairs={pairs}" for pairs in (1000, 3000)]
    variants = [
        replace(variant, name=name, settings={"model.architecture": "transformer", "pairs": pairs})
        for variant, name, pairs in zip(result.variants, names, (1000, 3000), strict=False)
    ]
    compared = replace(result.comparisons[0], variant=names[0], against=names[1])
    figure = draw_effects(replace(result, variants=tuple(variants), comparisons=(compared,)), LIGHT)
    [label] = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert label == "transformer, 1000\n− transformer, 3000"


@pytest.mark.parametrize("write", [format_csv, format_markdown, format_latex])
def test_a_table_does_not_command_the_terminal(
    result: StudyResult, write: Callable[[StudyResult], str]
) -> None:
    first = replace(result.variants[0], name="red \x1b[31m name")
    text = write(replace(result, variants=(first,), question="why\x07?"))
    assert "red [31m name" in text.replace("{", "").replace("\\[", "[")
    assert not set(text) & {"\x1b", "\x07"}


def command(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_the_command_writes_pages_and_prints_tables(result: StudyResult, page: str, tmp_path: Path) -> None:
    result.save(tmp_path)
    answer = command(tmp_path, "--json")
    assert answer.exit_code == 0
    file = tmp_path / "report.html"
    assert json.loads(answer.stdout) == {
        "study": "mine",
        "format": "html",
        "complete": False,
        "file": str(file),
    }
    assert file.read_text(encoding="utf-8") == page  # drawn again, it is the same
    for name, write in (("markdown", format_markdown), ("latex", format_latex), ("csv", format_csv)):
        assert command(tmp_path / "study.json", "--format", name).stdout == write(result)
        assert command(tmp_path, "--format", name, "--out", tmp_path / name).stdout == ""
        assert (tmp_path / name).read_text(encoding="utf-8") == write(result)
    assert json.loads(command(tmp_path, "--format", "csv", "--json").stdout)["text"] == format_csv(result)


def test_out_may_be_what_stdout_is_redirected_to(result: StudyResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "table").write_text("before\n")
    with (tmp_path / "table").open("a") as stdout:
        arguments = ["report", str(tmp_path), "--format", "csv", "--out", "/dev/stdout"]
        subprocess.run([*COMMAND, *arguments], stdout=stdout, check=True)
    assert (tmp_path / "table").read_text(encoding="utf-8") == f"before\n{format_csv(result)}"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "expected a folder with study.json in it"),
        ("[]", "study.json: damaged, or not written by Augenmerk"),
        ('{"format": "x"}', "study.json: damaged, or not written by Augenmerk (format 'x')"),
        ('{"format": 99}', f"in format 99, and this version, {__version__}, reads format"),
        ('{"format": 99}', "update your clone and install it again"),
        ('{"format": 2, "name": 3}', "study.json: damaged, or not written by Augenmerk"),
    ],
)
def test_what_is_no_study_is_refused(content: str | None, complaint: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content)
    answer = command(tmp_path)
    assert complaint in str(answer.exception)
    assert "\n" not in str(answer.exception)


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything in a tree of JSON."""
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    tree = copy.deepcopy(tree)
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return tree


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, [], {}, [[]], "", "x", -1, 0, 3, 0.5, -2.5, 1e300, float("nan"), True, 10**30]
)


@settings(
    max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_stands_in_a_file_there_is_a_page_or_a_sentence(
    result: StudyResult, tmp_path: Path, data: st.DataObject
) -> None:
    whole = result.to_dict()
    tree = changed(whole, data.draw(st.sampled_from(list(places(whole)))), data.draw(ODD))
    (tmp_path / "study.json").write_text(json.dumps(tree), encoding="utf-8")
    with suppress(AugenmerkError):
        found = StudyResult.load(tmp_path)
        for write in (render_report, format_markdown, format_latex, format_csv):
            assert write(found)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("splits",), [], "splits: Tuple should have at least 1 item"),
        (("beams",), [], "beams: Tuple should have at least 1 item"),
        (("beams",), [0], "beams.0: Input should be greater than or equal to 1"),
        (("variants",), [], "variants: Tuple should have at least 1 item"),
        (("variants", 0, "curves", 0, "points"), [], "points: Tuple should have at least 1 item"),
        (("variants", 0, "summaries", 0, "measure"), "luck", "'luck' is not a measure"),
        (("variants", 0, "summaries", 0, "mean"), float("nan"), "a number is not finite, or too large"),
        (("variants", 0, "curves", 0, "points", 0, "epoch"), 10**400, "a number is not finite, or too large"),
    ],
)
def test_a_file_that_cannot_be_drawn_is_refused_when_it_is_read(
    result: StudyResult, path: tuple[Any, ...], value: Any, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "study.json").write_text(json.dumps(changed(result.to_dict(), path, value)))
    with pytest.raises(AugenmerkError, match=f"study.json: damaged, .*{re.escape(complaint)}"):
        StudyResult.load(tmp_path)
