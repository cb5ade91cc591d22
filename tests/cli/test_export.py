"""`augenmerk export`: what it writes and what it refuses."""

import json
import re
import shutil
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import augenmerk.web
from augenmerk import AugenmerkError, load
from augenmerk.mechanisms import custom
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.web import MAX_BEAM
from augenmerk.web import examples as web_examples
from augenmerk.web.examples import CAPTIONS, PICTURE_BOOK, choose_examples, make_example
from augenmerk.web.export import make_page, render_file
from augenmerk.web.templates import LEVELS
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.processes import ROOT
from tests.support.runs import SharedRuns, tiny

HERE = Path(augenmerk.web.__file__).parent
SENTENCE = "Der Hund schläft."


@pytest.fixture(scope="module")
def run(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_runs.copy(tiny(), tmp_path_factory.mktemp("export") / "tiny").path


class Blocks(HTMLParser):
    """The scripts of a page by their id, and what else would be executed or fetched."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: dict[str, str] = {}
        self.styles: list[str] = []
        self.policy = ""
        self._inside: str | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given)
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag in ("script", "style"):
            self._inside = tag if tag == "style" else given.get("id") or "main"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.styles.append(data)
        elif self._inside is not None:
            self.blocks[self._inside] = self.blocks.get(self._inside, "") + data


def read_page(path: Path) -> Blocks:
    return Blocks(path.read_text(encoding="utf-8"))


def test_a_page_is_one_file_with_everything_in_it(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = run_json("export", run, "--out", page, "--beam", 3, "--example", SENTENCE)
    assert answer == {"file": str(page), "runs": ["tiny"], "beam": 3, "examples": [SENTENCE]}
    found = read_page(page)
    assert set(found.blocks) == {"page-data", "main", "engine", "model-0", "weights-0"}
    settings = json.loads(found.blocks["model-0"])
    assert settings["name"] == "tiny"
    weights = b64decode(found.blocks["weights-0"])
    last = max(settings["tensors"], key=lambda tensor: tensor["offset"])
    assert last["offset"] + 2 * int(np.prod(last["shape"])) <= len(weights)
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_the_policy_lets_run_only_what_is_in_the_page(run: Path) -> None:
    found = Blocks(render_file(make_page([run], examples=[SENTENCE])))
    [style] = found.styles
    hashes = {name: re.findall(rf"{name}-src 'sha256-([^']+)'", found.policy) for name in ("script", "style")}
    for name, text in (("script", found.blocks["main"]), ("style", style)):
        assert [b64decode(each) for each in hashes[name]] == [sha256(text.encode()).digest()]
    assert found.policy.startswith("default-src 'none'; ")
    assert "unsafe" not in found.policy
    assert not re.search("https?:", found.policy)


def test_stored_examples_are_what_python_computes(run: Path) -> None:
    page = make_page([run], beam=4, examples=[SENTENCE, "  "])
    assert page.beam == 4
    [first, empty] = page.examples
    assert first["source"] == SENTENCE
    stored = first["translations"][0]
    exact = make_example(load(run), SENTENCE, 4)
    assert stored["ids"] == exact["ids"]
    np.testing.assert_allclose(stored["subword_attention"], exact["subword_attention"], atol=5e-3)
    translation = load(run).translate(SENTENCE, beam=4)
    assert stored["translation"] == translation.text
    assert exact["target_words"] == list(translation.target_words)
    assert translation.hypothesis is not None
    own = list(translation.hypothesis.token_log_probabilities)
    assert exact["token_log_probabilities"] == pytest.approx(own, abs=2e-5)
    # The probability of each token stands among the likeliest, if it is one of them.
    for token, log_probability, likely in zip(
        exact["ids"], exact["token_log_probabilities"], exact["next"], strict=False
    ):
        probabilities = [each["probability"] for each in likely]
        assert probabilities == sorted(probabilities, reverse=True)
        said = [each["probability"] for each in likely if each["id"] == token]
        assert all(np.log(each) == pytest.approx(log_probability, abs=1e-3) for each in said)
    assert empty["translations"][0]["target_words"] == []
    assert empty["translations"][0]["tree"] is None
    translator = load(run)
    tree, stored = translator.trace(SENTENCE, beam=3, n_best=3), make_example(translator, SENTENCE, 3)["tree"]
    assert stored["tokens"] == [node["token"] for node in tree["nodes"]]
    assert stored["parents"] == [node["parent"] for node in tree["nodes"]]
    assert stored["statuses"] == "".join(node["status"][0] for node in tree["nodes"])
    assert all(stored["texts"][node["token"]] == node["text"] for node in tree["nodes"])


def test_the_model_that_ships_fits_into_eight_megabytes(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    examples = run_json("export", "--out", page)["examples"]
    assert page.stat().st_size <= 8_000_000
    data = json.loads(read_page(page).blocks["page-data"])
    [model] = data["models"]
    assert "research and teaching" in model["licence"]
    assert not model["rounded"]  # it ships in half precision
    found = {each["source"]: each["translations"][0]["translation"] for each in data["examples"]}
    assert list(found) == examples
    assert len(found) == 6
    assert found.items() <= CAPTIONS.items()  # what the model cannot translate is no example


def test_examples_are_those_that_a_model_translates_well(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(run)
    said = {source: translator.translate(source).text for source in PICTURE_BOOK}
    rights = list(said)[4:7]
    wrong = {source: text if source in rights else "Something else." for source, text in said.items()}
    monkeypatch.setattr(web_examples, "PICTURE_BOOK", wrong)
    assert choose_examples([translator]) == rights
    wrong[rights[0]] = "Something else."
    assert choose_examples([translator]) == [*rights[1:], *list(said)[:4]]
    assert choose_examples([translator, load(BUNDLED_MODEL)])[0] in CAPTIONS


def test_examples_are_german_if_the_run_is(run: Path, shared_runs: SharedRuns, tmp_path: Path) -> None:
    page = make_page([run])
    assert {each["source"] for each in page.examples} <= PICTURE_BOOK.keys()
    assert page.models[0]["rounded"]  # from single precision
    english = shared_runs.copy(tiny(data__source_language="en"), tmp_path / "english")
    assert make_page([english.path]).examples == []
    sentence = fails_with_a_sentence("export", run, english.path, "--out", tmp_path / "page.html")
    assert "from de to en" in sentence
    assert "from en to de" in sentence


def test_two_runs_are_named_apart(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny"
    shutil.copytree(run, other)
    page = make_page([run, other], examples=[SENTENCE])
    names = [f"{each.parent.name}/tiny" for each in (run, other)]
    assert [model["name"] for model in page.models] == names  # no whole path, which is nobody else's business
    page = make_page([run, run], examples=[SENTENCE])
    names = [f"{run.parent.name}/tiny (1)", f"{run.parent.name}/tiny (2)"]
    assert [model["name"] for model in page.models] == names
    assert [len(each["translations"]) for each in page.examples] == [2]
    assert set(Blocks(render_file(page)).blocks) >= {"model-1", "weights-1"}


def test_a_folder_has_addresses_that_change_with_what_is_behind_them(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    assert run_command("export", run, "--out", folder).code == 0
    names = {"page.css", "page.js", "engine.js", "model.json", "weights.bin"}
    assert {each.name for each in folder.iterdir()} == {*names, "index.html"}
    page = (folder / "index.html").read_text(encoding="utf-8")
    for name in names:
        assert f"{name}?{sha256((folder / name).read_bytes()).hexdigest()[:12]}" in page
    message = fails_with_a_sentence("export", run, "--out", folder)
    assert "index.html is already there" in message
    assert run_command("export", run, "--out", folder, "--overwrite").code == 0
    assert not list(tmp_path.rglob("*.part"))


def test_a_beam_wider_than_that_of_a_page_is_said(run: Path, shared_runs: SharedRuns, tmp_path: Path) -> None:
    wide = shared_runs.copy(tiny(search__beam=MAX_BEAM + 5), tmp_path / "wide").path
    page = tmp_path / "page.html"
    found = run_command("export", wide, "--out", page, "--example", SENTENCE)
    assert found.code == 0
    assert f"a beam of {MAX_BEAM + 5}" in found.err
    assert len([line for line in found.err.splitlines() if line.startswith("augenmerk:")]) == 1
    assert json.loads(read_page(page).blocks["page-data"])["beam"] == MAX_BEAM
    again = ("export", "--out", page, "--overwrite", "--example", SENTENCE)
    for arguments in ((run,), (wide, "--beam", 2)):
        assert "a beam of" not in run_command(again[0], *arguments, *again[1:]).err


def test_what_is_there_is_kept_unless_the_command_says_otherwise(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert "pass --overwrite" in fails_with_a_sentence("export", run, "--out", page)
    assert page.read_text() == "mine"
    assert run_command("export", run, "--out", page, "--overwrite").code == 0
    assert page.stat().st_size > 10_000
    (tmp_path / "folder.html").mkdir()
    assert "is a folder" in fails_with_a_sentence("export", run, "--out", tmp_path / "folder.html")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "page.txt"), "ends in .html"),
        (("--out", "no/such/page.html"), "no folder"),
        (("nowhere", "--out", "page.html"), "nowhere"),
        (("a", "b", "c", "--out", "page.html"), "one run, or two"),
        (("--out", "page.html", "--example", " "), "Sentence 1 is empty"),
        (("--out", "page.html", *["--example", "Hund."] * 51), "room for 50"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in fails_with_a_sentence("export", *arguments)
    assert not list(tmp_path.iterdir())


def test_a_mechanism_for_torch_alone_is_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    shutil.copytree(run, own)
    config = (own / "config.toml").read_text("utf-8").replace('= "scaled-dot"', '= "mine.py:Mine"')
    (own / "config.toml").write_text(config, encoding="utf-8")
    RunDirectory.open(own, accept_changes=True)
    with pytest.raises(
        AugenmerkError, match=r"runs only if you name it: give --attention PATH/mine\.py:Mine"
    ):
        make_page([own])
    monkeypatch.setattr(custom, "CUSTOM_MECHANISMS", {})
    (tmp_path / "mine.py").write_text(
        "from augenmerk import Attention\n\n\nclass Mine(Attention):\n    pass\n"
    )
    custom.load_mechanism(f"{tmp_path / 'mine.py'}:Mine")
    with pytest.raises(AugenmerkError, match="is written in Python, which a browser cannot run"):
        make_page([own])


def test_weights_beyond_half_precision_are_refused(run: Path, tmp_path: Path) -> None:
    large = tmp_path / "large"
    shutil.copytree(run, large)
    directory = RunDirectory.open(large)
    arrays = {name: array.copy() for name, array in directory.load_model().items()}
    arrays["W_b.weight"][0, 0] = 1e6
    directory.save_model(arrays, directory.about_model)
    sentence = fails_with_a_sentence("export", large, "--out", tmp_path / "page.html")
    assert "half precision" in sentence
    assert not (tmp_path / "page.html").exists()


# -- what Python and JavaScript have in common ------------------------------------------------------------


def test_maps_have_as_many_shades_as_the_style_sheet() -> None:
    [levels] = re.findall(r"^const LEVELS = (\d+);", (HERE / "page" / "shown.js").read_text("utf-8"), re.M)
    assert int(levels) == LEVELS


def test_all_that_an_address_holds_is_documented() -> None:
    text = (HERE / "page" / "state.js").read_text(encoding="utf-8")
    state = text.partition("export function specifyState")[2].partition("\n}")[0]
    heads = (HERE / "page" / "heads.js").read_text(encoding="utf-8").partition("HEAD_CHOICES = {")[2]
    keys = set(re.findall(r"^    (\w+)[:,]", state, re.M))
    keys |= set(re.findall(r"^  (\w+):", heads.partition("\n}")[0], re.M))
    assert {"text", "beam", "tried", "changed", "head"} < keys
    address = (
        (ROOT / "docs" / "guides" / "exporting.md").read_text(encoding="utf-8").partition("## The address")[2]
    )
    rows = re.findall(r"^\| (`.*?) \|", address, re.M)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == keys
