"""`augenmerk diagram` on really trained tiny models: pictures, pages, the terminal, and what is refused."""

import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

import augenmerk
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import app
from augenmerk.data import open_bitext
from augenmerk.drawing import END, AttentionMap
from tests.browser.test_diagrams import Structure
from tests.support.runs import SharedRuns, tiny

PAIRS = list(open_bitext("bilderbuch")["test"])


@pytest.fixture(scope="module")
def runs(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models that have learnt next to nothing; what they attend to can be drawn all the same."""
    folder, mechanisms = tmp_path_factory.mktemp("runs"), ("scaled-dot", "none")
    return {name: shared_runs.copy(tiny(model__attention=name), folder / name).path for name in mechanisms}


def diagram(*arguments: object) -> str:
    """Runs the command in this process and returns what it wrote to stdout."""
    result = CliRunner().invoke(app, ["diagram", *map(str, arguments)], env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize(
    ("view", "name", "magic"),
    [("heat", "a.png", b"\x89PNG"), ("lines", "a.svg", b"<?xml"), ("heat", "a.PDF", b"%PDF")],
)
def test_one_picture(runs: dict[str, Path], tmp_path: Path, view: str, name: str, magic: bytes) -> None:
    out = tmp_path / name
    printed = diagram("Der Hund schläft.", "--model", runs["scaled-dot"], "--view", view, "--out", out)
    assert out.read_bytes().startswith(magic)
    assert printed == ""


def test_many_become_numbered_pictures_and_a_page(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "pictures"
    asked = ("--split", "test", "--count", 3, "--seed", 7, "--out", out, "--format", "svg")
    models = ("--model", runs["scaled-dot"], "--model", runs["none"])
    document = json.loads(diagram(*models, *asked, "--json"))
    indices = sorted(Random(7).sample(range(len(PAIRS)), 3))
    names = [f"{number}-test-{index}.svg" for number, index in enumerate(indices, 1)]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "index.html"])
    assert document["page"] == str(out / "index.html")
    assert [each["index"] for each in document["diagrams"]] == indices
    assert [each["file"] for each in document["diagrams"]] == [str(out / name) for name in names]
    page = Structure((out / "index.html").read_text(encoding="utf-8"))
    assert [a["id"] for tag, a in page.elements if tag == "article"] == ["card-1", "card-2", "card-3"]
    assert [a["href"] for tag, a in page.elements if tag == "a"] == names
    said = page.texts["dd"]
    for place, index in enumerate(indices):
        source, attending, blind, reference = said[4 * place : 4 * place + 4]
        assert (source, reference) == (PAIRS[index].source, PAIRS[index].target)
        translations = document["diagrams"][place]["translations"]
        assert [attending, blind] == [each["translation"] for each in translations]
    assert page.texts["figcaption"] == ["scaled-dot", "none"] * 3
    assert sum(text.endswith("This model attends to nothing.") for text in page.texts["p"]) == 3


def test_lines_can_stand_on_the_page_too(runs: dict[str, Path], tmp_path: Path) -> None:
    asked = ("--split", "val", "--count", 1, "--view", "lines", "--out", tmp_path)
    diagram("--model", runs["scaled-dot"], *asked)
    page = Structure((tmp_path / "index.html").read_text(encoding="utf-8"))
    [image] = [attributes for tag, attributes in page.elements if tag == "img"]
    assert (image["src"] or "").startswith("data:image/svg+xml;base64,")


@pytest.mark.parametrize("beam", [1, 4])
def test_the_attention_drawn_is_that_of_the_translation_returned(runs: dict[str, Path], beam: int) -> None:
    place = runs["scaled-dot"]
    asked = ("--split", "test", "--index", 4, "--beam", beam, "--subwords", "--json")
    [drawn] = json.loads(diagram("--model", place, *asked))["diagrams"]
    assert drawn["reference"] == PAIRS[4].target
    expected = augenmerk.load(place).translate(PAIRS[4].source, beam=beam)
    assert drawn["translations"] == [{"model": str(place), **expected.to_dict(subwords=True)}]
    words = AttentionMap.from_translation(expected)
    subwords = AttentionMap.from_translation(expected, subwords=True)
    assert words.matrix.tolist() == expected.attention.tolist()
    assert subwords.matrix.tolist() == expected.subword_attention.tolist()
    assert subwords.source_words == expected.source_subwords
    assert words.source_words[-1] == subwords.source_words[-1] == END


def test_the_terminal_shows_words_and_weights(runs: dict[str, Path]) -> None:
    shown = diagram("--model", runs["scaled-dot"], "--split", "test", "--index", 0)
    assert PAIRS[0].source in shown
    assert f"Reference: {PAIRS[0].target}" in shown
    translation = augenmerk.load(runs["scaled-dot"]).translate(PAIRS[0].source)
    lines = shown.splitlines()
    [head] = [line for line in lines if line.split() == [*translation.source_words[:-1], "∎"]]
    rows = lines[lines.index(head) + 1 :][: len(translation.target_words)]
    expected = [[weight for weight in row if weight >= 0.02] for row in translation.attention.tolist()]
    assert [[float(part) for part in row.split()[1:]] for row in rows] == [
        pytest.approx(row, abs=0.0051) for row in expected
    ]


def test_nothing_and_a_sentence_that_is_far_too_long_are_drawn(runs: dict[str, Path], tmp_path: Path) -> None:
    assert "nothing to show: no words" in diagram("\u200b", "--model", runs["scaled-dot"])
    long = "Der Hund schläft unter dem Tisch , " * 40
    diagram(long, "--model", runs["scaled-dot"], "--out", tmp_path / "long.png")
    assert (tmp_path / "long.png").stat().st_size > 10_000
    assert "only its beginning was translated" in diagram(long, "--model", runs["scaled-dot"])


def test_a_translation_draws_itself_in_a_notebook(runs: dict[str, Path]) -> None:
    translation = augenmerk.load(runs["scaled-dot"]).translate("Der <b>Hund</b> schläft.")
    page = Structure(translation._repr_html_())
    assert page.texts["th"] == [
        *("∎" if word == END else word for word in (*translation.source_words, *translation.target_words))
    ]
    assert page.elements[0][0] == "figure"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "either a sentence, or --split"),
        ([" ", "--model", "RUN"], "Sentence 1 is empty"),
        (["--model", "RUN"], "either a sentence, or --split"),
        (["Hallo.", "--model", "RUN", "--split", "test"], "either a sentence, or --split"),
        (["--model", "RUN", "--split", "test"], "--index I for one, or --count N"),
        (["--model", "RUN", "--split", "test", "--index", "1", "--count", "2"], "--index I for one, or"),
        (["Hallo.", "--model", "RUN", "--count", "2"], "add --split S"),
        (["--model", "RUN", "--split", "test", "--index", "99999"], "sentences are counted from 0"),
        (["--model", "RUN", "--split", "test", "--count", "9999"], "fewer than --count 9999"),
        (["--model", "RUN", "--split", "exam", "--index", "1"], "has no split called 'exam'"),
        (["Hallo.", "--model", "RUN", "--view", "lines"], "give --out FILE.svg"),
        (["Hallo.", "--model", "RUN", "--theme", "pink"], "the themes are light and dark"),
        (["Hallo.", "--model", "RUN", "--out", "a.gif"], "a.gif: the name of a picture ends in .png,"),
        (["--model", "RUN", "--split", "test", "--count", "1", "--out", "RUN/config.toml"], "need a folder"),
        (
            ["--model", "RUN", "--split", "val", "--count=1", "--out", "RUN/config.toml/x"],
            "cannot be created",
        ),
        (["Hallo.", "--model", "RUN", "--out", "RUN/absent/a.svg"], "there is no folder"),
        (["Hallo.", "--model", "no/such/run"], "no/such/run"),
    ],
)
def test_what_cannot_be_meant_is_refused(runs: dict[str, Path], arguments: list[str], sentence: str) -> None:
    given = [argument.replace("RUN", str(runs["scaled-dot"])) for argument in arguments]
    with pytest.raises(AugenmerkError) as caught:
        diagram(*given)
    assert sentence in str(caught.value)
