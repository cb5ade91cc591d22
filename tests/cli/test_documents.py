"""What the documents show works: their Python, their commands, CONTRIBUTING's mechanism."""

import linecache
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import augenmerk
from augenmerk import Translation
from augenmerk.base.config import ModelConfig, RunConfig
from augenmerk.model.attention import in_torch
from augenmerk.study.plan import read_study
from augenmerk.study.result import MEASURES
from tests.cli.test_help import COMMANDS, make_small
from tests.support.command import run_command
from tests.support.runs import SharedRuns, tiny

ROOT = Path(__file__).resolve().parents[2]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_every_file_that_a_document_links_to_is_there() -> None:
    """And every heading, in documents outside of the site, whose build checks those within."""
    links = 0
    outside = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    for document in [*outside, *ROOT.glob("docs/**/*.md")]:
        for link, heading in re.findall(r"\]\(([^)#]+)#?([^)]*)", document.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{document.name} links to {link}"
                links += 1
                if heading and document in outside:
                    headings = re.findall(
                        r"^#+ (.+)$", (document.parent / link).read_text("utf-8"), re.MULTILINE
                    )
                    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
                    assert heading in anchors, f"{document.name} links to {link}#{heading}"
    assert links > 10


def test_the_mechanism_in_contributing_works() -> None:
    [code] = [block for block in blocks("CONTRIBUTING.md", "python") if "class Last(" in block]
    names: dict[str, Any] = {}
    exec(code, names)
    attention = in_torch(names["Last"])(ModelConfig())
    mask = torch.tensor([[True, True, False], [True, True, True]])
    context, weights = attention(torch.randn(2, 2, 4), values := torch.randn(2, 3, 8), mask)
    assert weights.tolist() == [[[0, 1, 0]] * 2, [[0, 0, 1]] * 2]
    torch.testing.assert_close(context[0, 0], values[0, 1])


def run_as_cells(cells: list[str]) -> dict[str, Any]:
    """Runs code as a notebook does, which keeps the source of each cell; returns what it defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, code in enumerate(cells):
        name = f"<cell {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        exec(compile(code, name, "exec"), names)
    return names


@pytest.mark.parametrize("document", ["README.md", "docs/reference/python.md", "docs/guides/looking.md"])
def test_the_python_of_a_document_runs(
    document: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From top to bottom, as in a notebook, with small models and a few pairs of each split."""
    monkeypatch.chdir(tmp_path)
    make_small(tmp_path, monkeypatch)
    run_as_cells(blocks(document, "python"))
    assert capsys.readouterr().out


def test_the_python_page_explains_every_public_name_and_attribute() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for name in augenmerk.__all__:
        assert name in page or name in ("Bitext", "SentencePair", "Translator", "__version__"), name
    public = {name for name in dir(Translation) if not name.startswith("_")}
    for name in (public | {*Translation.__dataclass_fields__}) - {
        "tokenizers",
        "hypothesis",
        "other_words",
        "sum_over_words",
    }:
        assert f"`{name}" in page or f"{name}`" in page, name


def test_what_pages_show_is_what_commands_print() -> None:
    [shown] = [block for block in blocks("docs/guides/data.md", "console") if "data show bilderbuch" in block]
    command, expected = shown.split("\n", 1)
    assert run_command(*command.removeprefix("$ augenmerk ").split()).out.strip() == expected.strip()
    [shown] = [block for block in blocks("README.md", "console") if "augenmerk translate" in block]
    command, expected = shown.split("\n", 1)
    assert run_command(*shlex.split(command)[2:]).out == expected


def test_the_studies_on_the_page_can_be_read(tmp_path: Path) -> None:
    study, contrasts, published = blocks("docs/guides/studies.md", "toml")
    path = tmp_path / "mine.toml"
    path.write_text(study + contrasts, encoding="utf-8")
    declared = read_study(path)
    assert len(declared.runs) == 12
    assert len({contrast.question for contrast in declared.contrasts}) == 4
    path.write_text(
        study.split("[factors]")[0] + published + '[factors]\nattention = ["scaled-dot"]\n', encoding="utf-8"
    )
    assert read_study(path).published[0].mean == 31.5
    page = (ROOT / "docs" / "guides" / "studies.md").read_text(encoding="utf-8")
    assert all(f"`{measure}`" in page for measure in MEASURES)


def test_the_settings_file_on_the_page_can_be_read() -> None:
    [settings] = blocks("docs/reference/settings.md", "toml")
    assert RunConfig.from_toml(settings, "page").model.attention == "additive"


def test_every_file_of_a_run_is_on_the_page(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run").path
    assert run_command("evaluate", run, "--split", "val", "--alignment").code == 0
    page = (ROOT / "docs" / "reference" / "run-directory.md").read_text(encoding="utf-8")
    for path in run.iterdir():
        assert f"`{path.name}{'/' * path.is_dir()}`" in page, path.name


def test_every_error_on_the_page_is_one_that_is_raised() -> None:
    """An ellipsis on the page stands for what differs from case to case."""
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    sources = re.sub(r'"\s+f?"', "", sources)  # a sentence in the code goes on in the next line
    rows = re.findall(
        r"^\| (.+?) \| .+ \|$",
        (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    sentences = [row for row in rows if row not in ("it says", "exit code") and not row[0].isdigit()]
    assert len(sentences) > 20
    for sentence in sentences:
        for part in re.split("…|`", sentence):
            assert part.strip(" :;.()'") in sources, f"{part!r} of {sentence!r}"


def list_commands(document: str) -> Iterator[str]:
    """Yields what a document shows of the command line: in blocks and within sentences."""
    for block in blocks(document, "sh") + blocks(document, "console"):
        yield from re.findall(r"^(?:\$ )?(augenmerk .*)", block.replace("\\\n", " "), re.MULTILINE)
    page = re.sub(
        r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for command in re.findall(r"(?<!`)`(augenmerk [a-z][^`]*)`(?!`)", page):
        yield " ".join(command.split())


def test_every_command_in_a_document_exists() -> None:
    """Its name and its options; what it is about may not be there."""
    groups = {name.split()[0] for name in COMMANDS if " " in name}
    documents = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    for document in ["README.md", "CONTRIBUTING.md", *documents]:
        for line in list_commands(document):
            words = shlex.split(line, comments=True)[1:]
            names = (" ".join(words[:2]), words[0])
            name = next((name for name in names if name in COMMANDS), None)
            assert name or words in [[group] for group in groups], f"{document}: {line}"
            known = {opt for param in COMMANDS[name].params for opt in param.opts} if name else set()
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert options <= known, f"{document}: {line}"
