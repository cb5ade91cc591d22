"""The attention of single heads: its mean is what is shown for all of them, wherever it is shown."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.table import Table

from augenmerk import AugenmerkError, Translator
from augenmerk.data import open_bitext
from augenmerk.drawing import AttentionMap, render_terminal_maps
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import load
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import SharedRuns, tiny

HEADS = 4
MULTI_HEAD = tiny(
    **{"text__unit": "bpe", "text__vocabulary_size": 500, "train__epochs": 4},
    **{"model__attention": "multi-head", "model__heads": HEADS},
)
SENTENCES = [pair.source for pair in islice(open_bitext("bilderbuch")["test"], 30)]


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(MULTI_HEAD, folder / "run")


@pytest.fixture(scope="module")
def single(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(tiny(), folder / "single")


@pytest.fixture(scope="module")
def translator(run: RunDirectory) -> Translator:
    return load(run.path)


def test_their_mean_is_the_attention_that_the_search_recorded(translator: Translator) -> None:
    without = translator.translate(SENTENCES, beam=3, n_best=2)
    found = translator.translate([*SENTENCES, ""], beam=3, n_best=2, heads=True)
    assert found[-1].heads == ()
    for one, other in zip(found, without, strict=False):
        assert other.heads == ()
        for each, same in zip((one, *one.alternatives), (other, *other.alternatives), strict=True):
            assert (each.text, each.score) == (same.text, same.score)
            assert [head.head for head in each.heads] == [1, 2, 3, 4]
            words = np.stack([head.attention for head in each.heads])
            subwords = np.stack([head.subword_attention for head in each.heads])
            assert words.shape == (HEADS, len(each.target_words), len(each.source_words))
            assert subwords.shape == (HEADS, len(each.target_subwords), len(each.source_subwords))
            np.testing.assert_allclose(words.mean(0), each.attention, atol=2e-6, rtol=0)
            np.testing.assert_allclose(subwords.mean(0), each.subword_attention, atol=2e-6, rtol=0)
            np.testing.assert_allclose(subwords.sum(2), np.ones(subwords.shape[:2]), atol=1e-5, rtol=0)
    assert any(np.abs(one.heads[0].attention - one.heads[1].attention).max() > 0.1 for one in found[:-1])


def test_so_is_that_of_given_and_of_cut_translations(translator: Translator, single: RunDirectory) -> None:
    pairs = [(text, "The dog is sleeping.") for text in SENTENCES]
    cut = translator.translate(SENTENCES, beam=1, max_length=3, heads=True)
    assert any(not one.finished for one in cut)
    for one in (*translator.score_all(pairs, heads=True), *cut):
        mean = np.stack([head.attention for head in one.heads]).mean(0)
        np.testing.assert_allclose(mean, one.attention, atol=2e-6, rtol=0)
    assert [one.heads for one in translator.translate(["", ""], heads=True)] == [(), ()]
    # A mechanism without heads counts as one.
    one = load(single.path).translate(SENTENCES[0], heads=True)
    [head] = one.heads
    np.testing.assert_allclose(head.attention, one.attention, atol=2e-6, rtol=0)


def test_json_has_them_only_if_they_are_asked_for(run: RunDirectory) -> None:
    def translated(*flags: str) -> dict[str, Any]:
        answer = run_command("translate", "--model", run.path, SENTENCES[0], "--json", *flags)
        assert answer.code == 0, answer.err
        return dict(json.loads(answer.out))

    plain, found = translated(), translated("--heads", "--subwords")
    assert "heads" not in plain
    assert [list(head) for head in found["heads"]] == [["head", "attention", "subword_attention"]] * HEADS
    for key in ("attention", "subword_attention"):
        mean = np.mean([head[key] for head in found["heads"]], axis=0)
        np.testing.assert_allclose(mean, found[key], atol=4e-6, rtol=0)
    with pytest.raises(AugenmerkError, match="needs one model"):
        load([run.path, run.path]).translate(SENTENCES[0], heads=True)
    assert "add --json" in fails_with_a_sentence("translate", "--model", run.path, "Hund", "--heads")
    drawn = run_json("diagram", "--model", run.path, SENTENCES[0], "--heads")
    assert len(drawn["diagrams"][0]["translations"][0]["heads"]) == HEADS


def test_a_diagram_has_a_map_for_all_heads(run: RunDirectory, single: RunDirectory, tmp_path: Path) -> None:
    asked = ("diagram", "--model", run.path, SENTENCES[0], "--heads")
    answer = run_command(*asked, env={"COLUMNS": "200"})
    titles = ["mean of all heads", *(f"head {number}" for number in range(1, HEADS + 1))]
    assert [answer.out.count(title) for title in titles] == [1] * 5
    [line] = [line for line in answer.out.splitlines() if "head 1" in line]  # side by side
    assert "head 2" in line
    narrow = run_command(*asked, env={"COLUMNS": "40"}).out.splitlines()
    maps = next(number for number, line in enumerate(narrow) if "head" in line)
    assert all(len(line) <= 40 for line in narrow[maps:])
    assert sum("head" in line for line in narrow) == 5
    assert run_command(*asked, "--out", tmp_path / "heads.svg").code == 0
    assert (tmp_path / "heads.svg").exists()
    # A model without heads is drawn as without the flag; of two models each has its own maps.
    plain = ("diagram", "--model", single.path, SENTENCES[0])
    assert run_command(*plain, "--heads").out == run_command(*plain).out
    both = run_command(*asked, "--model", single.path, env={"COLUMNS": "200"}).out
    assert both.count("run, head 1") == both.count("single: ") == 1
    page = ("--split", "val", "--count", 1, "--heads", "--out", tmp_path / "page")
    assert run_command("diagram", "--model", run.path, *page).code == 0
    assert "head 4" in (tmp_path / "page" / "index.html").read_text()
    wordless = [AttentionMap([], [], [], title=f"head {number}") for number in (1, 2)]
    drawn = render_terminal_maps(wordless, 80)
    assert isinstance(drawn, Table)
    assert drawn.row_count == 1
