"""Numbers of README and pages come from docs/results.json, reference pages from the code."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import augenmerk
from augenmerk.base.config import RunConfig
from augenmerk.base.settings import list_settings
from tests.cli.test_help import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


def load(path: str) -> ModuleType:
    """Loads a script, which is not part of the package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load("tools/results.py")


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    return load("docs/generated.py")


def test_readme_and_pages_have_the_numbers_of_the_file(results: ModuleType) -> None:
    named = set()
    for path in results.list_pages():
        page = path.read_text(encoding="utf-8")
        assert results.renew_page(page) == page, f"renew {path.name}: python tools/results.py"
        named |= {match[2] for match in results.NAMED.finditer(page)}
    assert named == set(results.read_numbers()), "a number that no page names"


def test_a_number_that_differs_is_replaced_and_an_unknown_one_refused(results: ModuleType) -> None:
    assert results.renew_page("**1.5<!--strong.beam5--> BLEU**") == "**44.0<!--strong.beam5--> BLEU**"
    with pytest.raises(KeyError, match="nothing"):
        results.renew_page("44.0<!--nothing-->")


def test_every_number_has_its_source(results: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    numbers = re.sub(r"`[^`]*`", "", readme.partition("\n## Numbers\n")[2].partition("\n## ")[0])
    assert len(results.NAMED.findall(numbers)) > 5
    assert re.findall(r"\b\d+\.\d+\b(?!<!--| million)", numbers) == []
    for name, number in results.read_numbers().items():
        assert number.keys() == {"value", "unit", "what", "hardware", "date", "commit", "command"}, name
        assert re.fullmatch(r"2026-\d\d(-\d\d)?", number["date"]), name
        assert re.fullmatch(r"[0-9a-f]{7}|unknown", number["commit"]), name


def test_the_generated_pages_have_every_command_option_and_setting(generated: ModuleType) -> None:
    cli = generated.fill_in("```{generated} cli\n```")
    for name, command in COMMANDS.items():
        section = cli.partition(f"\n## augenmerk {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            shown = re.escape(parameter.metavar or parameter.opts[0]).replace(r"\|", r"\\\|")
            if not parameter.hidden and parameter.name != "help":
                assert re.search(rf"^\| `[^`]*{shown}", section, re.MULTILINE), f"{name} {parameter.name}"
    settings = generated.fill_in("```{generated} settings\n```")
    for setting in list_settings(RunConfig()):
        section = settings.partition(f"\n## [{setting.group}]\n")[2].partition("\n## ")[0]
        assert f"| `{setting.name.rpartition('.')[2]}` |" in section, setting.name


def test_every_generated_block_has_a_writer(generated: ModuleType) -> None:
    blocks = [
        name
        for page in generated.find_pages(ROOT / "docs")
        for name in generated.BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    ]
    assert sorted(blocks) == sorted(generated.WRITERS)


def test_the_prose_check_finds_phrases_and_long_sentences_outside_of_code() -> None:
    prose = load("tools/prose.py")
    page = "Whoever reads `a file of your own` goes on.\n\n```sh\ngo on\n```\n\n" + "word " * 41 + "end.\n"
    first, second = (text for _, text in prose.read_markdown(page))
    found = [advice for _, advice in prose.find_phrases(first, prose.PHRASES)]
    assert [advice.split(",")[0] for advice in found] == ["name the person: you", "continue or resume"]
    assert len(list(prose.find_long_sentences(second))) == 1
    comments = [text for _, text in prose.read_python("x = 1  # It is read anew.\n")]
    assert [advice for text in comments for _, advice in prose.find_phrases(text, prose.PHRASES)] != []


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {augenmerk.__version__}\n" in citation
