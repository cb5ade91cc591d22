"""What the documents show works: README's Python, CONTRIBUTING's mechanism."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_every_file_that_a_document_links_to_is_there() -> None:
    links = 0
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (document.parent / link).exists(), f"{document.name} links to {link}"
                links += 1
    assert links > 10


def test_the_mechanism_in_contributing_works() -> None:
    [code] = [block for block in blocks("CONTRIBUTING.md", "python") if "class LastAttention" in block]
    names: dict[str, Any] = {}
    exec("from augenmerk.model.attention import *\nfrom torch import Tensor\n" + code, names)
    attention = names["LastAttention"]()
    mask = torch.tensor([[True, True, False], [True, True, True]])
    context, weights = attention(torch.randn(2, 2, 4), values := torch.randn(2, 3, 8), mask)
    assert weights.tolist() == [[[0, 1, 0]] * 2, [[0, 0, 1]] * 2]
    torch.testing.assert_close(context[0, 0], values[0, 1])


@pytest.mark.parametrize("code", blocks("README.md", "python"))
def test_the_python_in_the_readme_runs(
    code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if 'augenmerk.load("runs' in code:
        pytest.skip("needs a trained run; tests/test_translate.py runs these lines on one")
    exec(code, {})
    assert capsys.readouterr().out


def test_the_pair_in_the_readme_is_the_one_the_command_shows() -> None:
    from tests.command import run_command

    [shown] = [block for block in blocks("README.md", "console") if "data show bilderbuch" in block]
    command, expected = shown.split("\n", 1)
    assert run_command(*command.removeprefix("$ augenmerk ").split()).out.strip() == expected.strip()
