"""The view of the studies: a real server, a real tiny study, a real browser."""

import json
import math
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.figures import DARK, LIGHT
from augenmerk.serve.registry import ModelRegistry
from augenmerk.serve.workbench.studies import Studies
from augenmerk.study.collect import collect_so_far
from augenmerk.study.plan import read_plan, read_study, save_plan
from augenmerk.study.result import PLAN, RESULT, StudyResult, is_running
from augenmerk.translation import load
from augenmerk.web.templates import render_style
from tests.support.serving import Serving, serving
from tests.support.study import NAME, copy_study
from tests.support.workbench import WorkbenchTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>&"


@pytest.fixture(scope="module")
def study(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study, beside it one that has not come to its end, a hostile one and a damaged one."""
    out = copy_study(shared_folder, tmp_path_factory.mktemp("studies") / "place")
    runs = out.parent
    begun = runs / "study-begun"
    shutil.copytree(out, begun)
    (begun / RESULT).unlink()
    plan = (begun / PLAN).read_text(encoding="utf-8")
    (begun / PLAN).write_text(plan.replace("Does it matter where it looks?", "Is it over?"), encoding="utf-8")
    (begun / "runs" / "scaled-dot" / "seed-2" / "probes.json").unlink()
    text = (out / RESULT).read_text(encoding="utf-8")
    tree = json.loads(text)
    tree["question"] = tree["name"] = HOSTILE
    for variant in tree["variants"]:
        variant["name"] = f"{HOSTILE}{variant['name']}"
        for run in variant["runs"]:
            run["run"] = "../study-tiny/" + run["run"]  # leads out of the study
    for part in tree["comparisons"]:
        part["variant"], part["against"] = (f"{HOSTILE}{part[key]}" for key in ("variant", "against"))
        part["in_words"] = HOSTILE
    for part in [*tree["beam_rows"], *tree["beam_repairs"]]:
        part["variant"] = f"{HOSTILE}{part['variant']}"
    for example in tree["examples"]:
        for each in example["maps"]:
            each["variant"] = f"{HOSTILE}{each['variant']}"
            each["translation"] = HOSTILE
            each["target_words"] = [HOSTILE for _ in each["target_words"]]
    tree["remarks"] = [HOSTILE]
    hostile = runs / HOSTILE.replace("/", "∕")
    hostile.mkdir()
    (hostile / RESULT).write_text(json.dumps(tree), encoding="utf-8")
    (runs / "study-damaged").mkdir()
    (runs / "study-damaged" / RESULT).write_text(text[: len(text) // 2], encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def server(study: Path) -> Iterator[Serving]:
    with serving(
        ModelRegistry([study / "runs" / "mean" / "seed-1"], folder=study.parent), pages=True
    ) as running:
        yield running


@pytest.fixture
def client(server: Serving) -> httpx.Client:
    return server.client


def ask(client: httpx.Client, what: str, study: str = NAME, **more: int) -> Any:
    answer = client.get(f"/workbench/studies/{what}", params={"study": study, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


class StudyView(WorkbenchTab):
    """The page in a tab, with what people do in it."""

    def __init__(self, chromium: "Chromium", address: str, **options: Any) -> None:
        options = {"locale": "en", **options}
        super().__init__(chromium.new_context(**options), address)
        self.tab.wait_for_selector("html[data-ready]")

    def wait_for_translations(self, expected: list[str]) -> None:
        """Waits until the tiles say this."""
        said = "[...document.querySelectorAll('.tile-said')].map((node) => node.textContent)"
        self.wait(f"expected => JSON.stringify({said}) === JSON.stringify(expected)", expected)

    def texts(self, selector: str) -> list[str]:
        return [" ".join(text.split()) for text in self.tab.locator(selector).all_inner_texts()]


# -- what is read --------------------------------------------------------------------------------------------


def test_a_study_without_a_result_is_read_from_its_runs(study: Path) -> None:
    begun = collect_so_far(study.parent / "study-begun")
    whole = StudyResult.load(study)
    assert (begun.splits, begun.beams, begun.seeds) == (whole.splits, whole.beams, whole.seeds)
    assert begun.factors == whole.factors
    mean = next(each for each in begun.variants if each.name == "mean")
    assert mean == next(each for each in whole.variants if each.name == "mean")
    other = next(each for each in begun.variants if each.name == "scaled-dot")
    assert [run.state for run in other.runs] == ["finished", "unfinished"]
    assert not begun.comparisons  # they take seconds, and come when the study ends
    assert not is_running(study.parent / "study-begun")


def test_a_plan_names_the_question_and_runs_that_have_not_begun(study: Path, tmp_path: Path) -> None:
    declared = read_study(study.parents[1] / "tiny.toml")
    save_plan(declared, tmp_path)
    assert read_plan(tmp_path) == replace(
        declared,
        runs=tuple(
            replace(run, config=RunConfig.model_validate({"train": {"seed": run.seed}}))
            for run in declared.runs
        ),
    )
    assert Studies(tmp_path).find() == {".": tmp_path}
    begun = collect_so_far(tmp_path)
    assert begun.question == "Does it matter where it looks?"
    assert [run.state for variant in begun.variants for run in variant.runs] == ["missing"] * 4
    (tmp_path / "plan.json").write_text("{", encoding="utf-8")
    with pytest.raises(AugenmerkError, match=r"plan\.json"):
        collect_so_far(tmp_path)


def test_an_interrupted_study_goes_on_from_its_result(study: Path) -> None:
    whole = StudyResult.load(study)
    again = collect_so_far(study)
    assert again.question == whole.question
    assert again.variants == whole.variants
    assert again.examples == whole.examples


# -- what the server answers ---------------------------------------------------------------------------------


def test_all_studies_are_listed(client: httpx.Client) -> None:
    found = {each["name"]: each for each in client.get("/workbench/studies/list").json()["studies"]}
    assert set(found) == {NAME, "study-begun", "study-damaged", HOSTILE.replace("/", "∕")}
    assert found[NAME]["question"] == "Does it matter where it looks?"
    assert (found[NAME]["finished"], found[NAME]["runs"], found[NAME]["variants"]) == (4, 4, 2)
    assert found["study-begun"]["finished"] == 3
    assert "study.json" in found["study-damaged"]["error"]


def test_a_study_is_what_its_file_says(client: httpx.Client, study: Path) -> None:
    whole, told = StudyResult.load(study), ask(client, "study")
    assert [each["answer"] for each in told["verdicts"]] == [each.answer for each in whole.verdicts]
    assert told["complete"]
    assert not told["running"]
    for each, result in zip(told["comparisons"], whole.comparisons, strict=True):
        assert (each["difference"], tuple(each["interval"])) == (result.difference, result.interval)
    bleu = next(column for column in told["columns"] if column["measure"] == "bleu")
    for cell, variant in zip(bleu["cells"], whole.variants, strict=True):
        summary = variant.summary("bleu", "test", 1)
        assert summary is not None
        assert cell["mean"] == f"{summary.mean:.2f}"
        assert cell["spread"] == f"± {math.sqrt(summary.variance or 0):.2f}"
    assert {column["measure"] for column in told["columns"]} <= told["headings"].keys()
    models = [run["model"] for variant in told["variants"] for run in variant["runs"]]
    assert models == [f"{NAME}/runs/{v}/seed-{s}" for v, s in product(("mean", "scaled-dot"), (1, 2))]


def test_curves_are_those_of_every_run(client: httpx.Client, study: Path) -> None:
    curves = ask(client, "curves")["curves"]
    lines = (study / "runs" / "mean" / "seed-2" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [[row["epoch"], row["validation_loss"]] for row in map(json.loads, lines)]
    assert curves["mean"]["2"]["validation_loss"] == expected


def test_attention_is_there_for_every_variant_and_seed(client: httpx.Client, study: Path) -> None:
    example = ask(client, "example", number=1)
    assert example["source"] == "Die Frau sieht den Ball."
    assert [(each["variant"], each["seed"]) for each in example["maps"]] == [
        *(("mean", 1), ("mean", 2), ("scaled-dot", 1), ("scaled-dot", 2))
    ]
    expected = load(study / "runs" / "scaled-dot" / "seed-2").translate(example["source"], beam=1)
    shown = example["maps"][-1]
    assert shown["translation"] == expected.text
    for row, weights in zip(shown["attention"], expected.attention.tolist(), strict=True):
        assert row == pytest.approx(weights, abs=1e-4)


def test_what_is_not_there_is_refused_in_a_sentence(client: httpx.Client) -> None:
    for name in ("", "..", "../studies", "study-tiny/runs", "/etc"):
        answer = client.get("/workbench/studies/study", params={"study": name})
        assert answer.status_code == 404
        assert answer.json()["error"].endswith(".")
    assert client.get("/workbench/studies/study", params={"study": "study-damaged"}).status_code == 400
    for number in ("7", "-1", "x", "9" * 30, ""):
        answer = client.get("/workbench/studies/example", params={"study": NAME, "number": number})
        assert answer.status_code == 400, number
    refused = [
        {"study": NAME, "run": "../../pairs", "text": "Der Hund schläft."},
        {"study": NAME, "run": "runs/mean/seed-9", "text": "Der Hund schläft."},
        {"study": "nothing", "run": "runs/mean/seed-1", "text": "Der Hund schläft."},
    ]
    for question in refused:
        assert client.post("/workbench/studies/translate", json=question).status_code == 404
    long = {"study": NAME, "run": "runs/mean/seed-1", "text": "x" * 3000}
    assert client.post("/workbench/studies/translate", json=long).status_code == 413
    json_type = {"content-type": "application/json"}
    address = "/workbench/studies/translate"
    assert client.post(address, content=b"{", headers=json_type).status_code == 400
    assert client.post(address, content=b"{").status_code == 415


def test_a_result_cannot_name_runs_outside_of_its_study(client: httpx.Client) -> None:
    hostile = HOSTILE.replace("/", "∕")
    told = ask(client, "study", hostile)
    assert [run["model"] for variant in told["variants"] for run in variant["runs"]] == [None] * 4
    assert all(
        not curves
        for runs in ask(client, "curves", hostile)["curves"].values()
        for seed in runs.values()
        for curves in seed.values()
    )


def test_a_sentence_goes_through_a_run(client: httpx.Client, study: Path) -> None:
    question = {"study": NAME, "run": "runs/scaled-dot/seed-1", "text": "Der Mann sieht den Hund."}
    answer = client.post("/workbench/studies/translate", json=question).json()
    expected = load(study / "runs" / "scaled-dot" / "seed-1").translate(question["text"], beam=1)
    assert answer["translation"] == expected.text
    assert answer["target_words"] == list(expected.target_words)


def test_what_is_finished_so_far_grows(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study-growing"
    shutil.copytree(study.parent / "study-begun", folder)
    studies = Studies(tmp_path)
    before = studies.read("study-growing")
    assert studies.read("study-growing") is before  # nothing has changed: nothing is computed again
    missing = Path("runs") / "scaled-dot" / "seed-2" / "probes.json"
    shutil.copy(study / missing, folder / missing)
    after = studies.read("study-growing")
    states = [[run.state for run in variant.runs] for variant in (before.variants[1], after.variants[1])]
    assert states == [["finished", "unfinished"], ["finished", "finished"]]


# -- what a person sees --------------------------------------------------------------------------------------


def test_a_study_is_chosen_from_the_list(chromium: "Chromium", server: Serving) -> None:
    view = StudyView(chromium, f"{server.address}/studies")
    assert "Does it matter where it looks?" in view.texts(".study-question")
    assert any("cannot be read" in text for text in view.texts(".study-list li"))
    view.tab.click("text=Does it matter where it looks?")
    view.tab.wait_for_selector("#figures")
    assert view.texts("#figures tbody th") == ["mean", "scaled-dot"]
    assert len(view.texts(".forest tbody tr")) == 2  # the difference and the axis
    assert view.complaints == []


def test_figures_are_those_of_the_study(chromium: "Chromium", server: Serving, study: Path) -> None:
    whole = StudyResult.load(study)
    view = StudyView(chromium, f"{server.address}/studies?study={NAME}")
    summary = whole.variants[0].summary("bleu", "test", 1)
    assert summary is not None
    row = view.texts("#figures tbody tr")[0]
    assert f"{summary.mean:.2f} ± {math.sqrt(summary.variance or 0):.2f}" in row
    loss = next(each for each in whole.comparisons if each.measure == "word_loss")
    view.tab.select_option("#differences select", "word_loss")
    shown = view.texts(".forest tbody tr")[0]
    sign = "+" if loss.difference > 0 else "−"
    assert f"{sign}{abs(loss.difference):.3f}" in shown
    assert "measure=word_loss" in view.tab.url
    assert view.tab.locator("#learning .thin").count() == 3 * 4  # three measures of four runs
    assert view.complaints == []


def test_charts_are_read_by_keys_and_as_tables(chromium: "Chromium", server: Serving, study: Path) -> None:
    view = StudyView(chromium, f"{server.address}/studies?study={NAME}")
    view.tab.focus("#learning .chart svg >> nth=0")
    view.tab.keyboard.press("ArrowRight")
    view.tab.keyboard.press("End")
    [said] = view.texts("#learning .chart:first-child .readout")
    lasts = [variant.curves for variant in StudyResult.load(study).variants]
    losses = [next(each for each in curves if each.measure == "validation_loss") for curves in lasts]
    assert said.startswith("epoch 2")
    for curve in losses:
        assert f"{curve.points[-1].mean:.3f}" in said
    view.tab.click("#learning .chart:first-child summary")
    # The table is filled when the browser says that it was opened, which is a moment after the click.
    view.tab.wait_for_selector("#learning .chart:first-child tbody tr >> nth=1")
    rows = view.texts("#learning .chart:first-child tbody tr")
    assert rows[1].split() == ["2", *(f"{curve.points[-1].mean:.3f}" for curve in losses)]
    view.tab.click(".legend button >> nth=0")
    assert view.tab.locator("#learning .series.gone").count() == 3
    assert view.complaints == []


def test_a_sentence_typed_in_goes_through_all_variants(
    chromium: "Chromium", server: Serving, study: Path
) -> None:
    view = StudyView(chromium, f"{server.address}/studies?study={NAME}")
    view.tab.wait_for_selector(".tile .map")
    assert view.tab.locator(".tile").count() == 2
    view.tab.select_option("#attention select", "all")
    assert view.tab.locator(".tile").count() == 4
    text = "Der Mann sieht den Hund."
    view.tab.fill("#text", text)
    expected = [
        load(study / "runs" / variant / f"seed-{seed}").translate(text, beam=1).text
        for variant, seed in product(("mean", "scaled-dot"), (1, 2))
    ]
    view.wait_for_translations(expected)
    # Pointing at a source word lights it up in every map.
    view.tab.hover(".tile .map thead th >> nth=1")
    assert view.tab.locator(".tile .map thead th.lit").count() == 4
    assert "seeds=all" in view.tab.url
    again = StudyView(chromium, view.tab.url)
    again.wait_for_translations(expected)
    assert view.complaints == again.complaints == []


def test_a_study_that_has_not_ended_shows_what_is_finished(chromium: "Chromium", server: Serving) -> None:
    view = StudyView(chromium, f"{server.address}/studies?study=study-begun")
    assert view.texts("#figures tbody tr td:nth-child(2)") == ["2/2", "1/2"]
    assert "incomplete" in view.texts(".study-header")[0]
    assert view.tab.locator("#learning .thin").count() == 3 * 4  # also of the run that is not finished
    assert view.complaints == []


def test_a_hidden_variant_stays_hidden(chromium: "Chromium", server: Serving) -> None:
    view = StudyView(chromium, f"{server.address}/studies?study={NAME}")
    view.tab.wait_for_selector(".tile .map")
    view.tab.click(".legend button >> nth=0")
    charts, tiles = "#study .chart:has(.series.gone)", ".tile"

    def assert_hidden(seen: StudyView) -> None:
        seen.tab.wait_for_selector(".tile .map")
        shown = seen.tab.locator("#study .chart").count()
        assert seen.tab.locator(charts).count() == shown > 3  # also those of lengths and beams
        assert seen.tab.locator(tiles).count() == 1
        assert seen.tab.get_attribute(".legend button >> nth=0", "aria-pressed") == "false"

    assert_hidden(view)
    view.tab.select_option("#language", "de")
    view.wait("document.querySelector('#attention h2').textContent.startsWith('Ein Satz')")
    assert_hidden(view)
    assert_hidden(StudyView(chromium, view.tab.url))
    view.tab.click(".legend button >> nth=0")
    assert view.tab.locator(charts).count() == 0
    assert view.complaints == []


def test_a_printed_study_is_light_and_uncut(chromium: "Chromium", server: Serving) -> None:
    view = StudyView(
        chromium,
        f"{server.address}/studies?study={NAME}",
        color_scheme="dark",
        viewport={"width": 718, "height": 1000},
    )
    series = "getComputedStyle(document.documentElement).getPropertyValue('--c0').trim()"
    view.tab.select_option("#theme", "dark")
    assert view.tab.evaluate(series) == DARK.series[0]
    view.tab.emulate_media(media="print")
    assert view.tab.evaluate(series) == LIGHT.series[0]
    # What is wider than an A4 page between margins would be cut.
    wide = "one => one.scrollWidth > one.clientWidth + 1"
    assert view.tab.evaluate(f"[...document.querySelectorAll('.scroll')].filter({wide}).length") == 0
    assert view.sticks_out() == 0


def test_hostile_names_are_text(chromium: "Chromium", server: Serving) -> None:
    view = StudyView(chromium, f"{server.address}/studies")
    link = view.tab.locator(".study-link", has_text="onerror").first
    link.click()
    view.tab.wait_for_selector("#figures")
    view.tab.wait_for_selector(".tile")
    assert view.tab.locator("#study h1").inner_text() == HOSTILE
    assert view.tab.locator("main img, main script").count() == 0
    assert "pwned" not in view.tab.evaluate("document.title.split(' · ')[1] ?? ''")
    assert view.tab.locator(".tile-said").first.inner_text() == HOSTILE
    assert view.complaints == []


def test_german_and_a_narrow_screen(chromium: "Chromium", server: Serving) -> None:
    viewport = {"width": 360, "height": 740}
    view = StudyView(chromium, f"{server.address}/studies?study={NAME}", viewport=viewport, locale="de-DE")
    view.tab.wait_for_selector(".tile .map")
    assert "Paarweise Unterschiede" in view.texts("h2")
    assert re.search(r"\d,\d\d ± \d", view.texts("#figures tbody tr")[0])
    assert view.sticks_out() == 0
    assert view.complaints == []
    [finding, *_] = view.texts("header .verdict li")
    assert re.search(r"(liegt (über|unter)|gleich viel).*BLEU", finding)
    # Without a text there is the end of the key; a new metric has the server's.
    said = view.tab.evaluate(
        """async () => {
          const [{ makeTexts }, { nameMeasure }] = await Promise.all(
            ["page/texts", "workbench/studies-parts"].map((name) => import(`/web/${name}.js`)));
          const t = makeTexts("de");
          const study = { headings: { exact: "exact match", loss: "loss" } };
          const headings = ["exact", "loss"].map((key) => nameMeasure(key, study, t));
          return [t("state odd"), ...headings];
        }"""
    )
    assert said == ["odd", "exact match", "Verlust"]


def test_series_have_the_colours_of_all_pictures() -> None:
    found = re.findall(r"--c\d: (#\w+)", render_style())
    expected = (*LIGHT.series, *DARK.series, *DARK.series, *LIGHT.series)  # the last ones for a projector
    assert tuple(found) == expected


def test_thirty_who_ask_at_once_wait_for_one_summary(study: Path, tmp_path: Path) -> None:
    shutil.copytree(study.parent / "study-begun", tmp_path / "study-begun")
    studies = Studies(tmp_path)
    with ThreadPoolExecutor(30) as many:
        found = list(many.map(studies.read, ["study-begun"] * 30))
    assert len({id(each) for each in found}) == 1
