"""The command line as a person meets it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import augenmerk
from tests.support.command import COMMAND, fails_with_a_sentence, run_command


@pytest.mark.parametrize(
    ("arguments", "slow"),
    [
        (["--help"], "torch scipy matplotlib tokenizers pydantic numpy asyncio"),
        (["train", "--help"], "torch scipy matplotlib tokenizers numpy"),
        (["translate", "--help"], "torch scipy matplotlib tokenizers numpy"),
        (["translate", "Ein Hund."], "torch scipy matplotlib asyncio multiprocessing"),
    ],
)
def test_a_command_starts_without_slow_imports(arguments: list[str], slow: str) -> None:
    """Importing torch takes seconds; numpy and pydantic take as long as all of `--help` should."""
    code = (
        "import gc, sys\n"
        f"sys.argv = ['augenmerk', *{arguments}]\n"
        "from augenmerk.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        f"    print('imported:', sorted({set(slow.split())} & set(sys.modules)))\n"
        "    print('collects garbage:', gc.isenabled(), 'but leaves out:', gc.get_freeze_count() > 1000)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "imported: []\n" in result.stdout
    assert arguments[-1] == "--help" or "collects garbage: True but leaves out: True\n" in result.stdout


def test_the_command_is_installed_and_knows_its_version() -> None:
    command = Path(sys.executable).with_name("augenmerk")
    result = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"augenmerk {augenmerk.__version__}\n"


def test_commands_are_listed_in_the_order_of_the_work() -> None:
    listed = (
        run_command("--help", env={"COLUMNS": "80"}).out.partition("\nCommands:\n")[2].partition("\n\n")[0]
    )
    commands = re.findall(r"^  ([a-z]+) +[A-Z]", listed, flags=re.MULTILINE)
    assert commands == [
        *("demo", "train", "plot", "evaluate", "translate", "score", "study", "assignment"),
        *(
            "report",
            "diagram",
            "patterns",
            "faithfulness",
            "export",
            "serve",
            "data",
            "config",
            "bench",
            "theory",
            "lab",
        ),
    ]
    assert len(listed.splitlines()) == len(commands), "a summary is too long for one line"


def test_list_says_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    empty = {"AUGENMERK_DATA": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    rows = {row["name"]: row for row in json.loads(run_command("data", "list", "--json", env=empty).out)}
    assert rows["bilderbuch"]["splits"] == ["train", "val", "test"]
    assert rows["bilderbuch"]["languages"] == ["de", "en"]
    assert not rows["multi30k"]["available"]
    assert "augenmerk data fetch multi30k" in rows["multi30k"]["why"]
    assert "not on this machine" in run_command("data", "list", env=empty).out


def test_show_prints_pairs_tags_and_links() -> None:
    asked = (
        "data",
        "show",
        "bilderbuch",
        "--pairs",
        "4",
        "--seed",
        "3",
        "--split",
        "val",
        "--tag",
        "perfect",
    )
    pairs = json.loads(run_command(*asked, "--json").out)
    assert len(pairs) == 4
    assert all("perfect" in pair["tags"] and pair["alignment"] for pair in pairs)
    shown = run_command(*asked).out
    assert all(pair["source"] in shown and pair["target"] in shown for pair in pairs)
    assert " · ".join(pairs[0]["tags"]) in shown
    wide = run_command(*asked, env={"COLUMNS": "400"}).out
    assert wide.count("■") == sum(len(pair["alignment"]) for pair in pairs)


def test_show_other_direction_turns_the_links() -> None:
    there = json.loads(run_command("data", "show", "--pairs", "1", "--json").out)[0]
    back = json.loads(run_command("data", "show", "--pairs", "1", "--source-language", "en", "--json").out)[0]
    assert (back["source"], back["target"]) == (there["target"], there["source"])
    assert sorted(back["alignment"]) == sorted([j, i] for i, j in there["alignment"])


def test_export_and_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    asked = ("data", "export", "bilderbuch", "--pairs", "50", "--align", "--out", str(folder))
    result = run_command(*asked, "--json")
    assert (result.code, result.err) == (0, "")
    files = [Path(name).name for name in json.loads(result.out)["files"]]
    assert files == [f"{split}.{end}" for split in ("train", "val", "test") for end in ("de", "en", "align")]
    lines = {name: (folder / name).read_text(encoding="utf-8").splitlines() for name in files}
    assert len(lines["train.de"]) == len(lines["train.en"]) == len(lines["train.align"]) == 50
    first = json.loads(run_command("data", "show", str(folder), "--pairs", "1", "--json").out)[0]
    assert (first["source"], first["target"]) == (lines["train.de"][0], lines["train.en"][0])
    original = json.loads(run_command("data", "show", "bilderbuch", "--pairs", "1", "--json").out)[0]
    assert lines["train.align"][0] == " ".join(f"{i}-{j}" for i, j in original["alignment"])
    assert "is already there" in fails_with_a_sentence(*asked)


def test_bad_input_gets_one_sentence(tmp_path: Path) -> None:
    assert "no dataset, file or folder called 'bilderbuhc'" in fails_with_a_sentence(
        "data", "show", "bilderbuhc"
    )
    assert "no split called 'dev'; there are: train, val, test" in fails_with_a_sentence(
        "data", "show", "bilderbuch", "--split", "dev"
    )
    assert "cannot be translated from fr" in fails_with_a_sentence("data", "show", "--source-language", "fr")
    assert "tagged nonsense" in fails_with_a_sentence("data", "show", "--split", "val", "--tag", "nonsense")
    assert "no such file" in fails_with_a_sentence("data", "show", str(tmp_path / "nowhere"))
    assert "'bilderbuch' is not a dataset to download; those that are: multi30k." in fails_with_a_sentence(
        "data", "fetch", "bilderbuch"
    )
    (tmp_path / "train.de").write_text("Ein Hund\nEine Katze\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("A dog\n", encoding="utf-8")
    unequal = fails_with_a_sentence("data", "export", str(tmp_path), "--out", str(tmp_path / "out"))
    assert "train.en ends after line 1" in unequal
    (tmp_path / "train.en").write_bytes(b"A dog\nA c\xe4t\n")
    broken = fails_with_a_sentence("data", "export", str(tmp_path), "--out", str(tmp_path / "out"))
    assert "train.en, line 2: not UTF-8" in broken
    assert not any((tmp_path / "out").glob("*"))


def test_a_reader_that_stops_reading_is_no_error() -> None:
    process = subprocess.Popen(
        [*COMMAND, "data", "show", "--pairs", "3000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_sentences_unlike_the_training_text_are_named_by_every_command_that_takes_one() -> None:
    for command in (("diagram",), ("patterns",), ("faithfulness",), ("theory", "from-run")):
        answer = run_command(*command, "日本語の 文です")
        assert answer.code == 0, answer.err
        assert "unlike the text that this model was trained on" in answer.err, command


def test_heads_of_a_model_with_one_are_explained() -> None:
    assert "There is one head only" in run_command("diagram", "Ein Hund.", "--heads").err
    assert "head" not in run_command("diagram", "Ein Hund.").err


def test_arguments_that_are_hardly_sentences_get_a_remark() -> None:
    assert "There is no file nosuch.txt" in run_command("translate", "nosuch.txt").err
    assert "in quotation marks" in run_command("translate", "Ein", "Hund", "schläft.").err
    assert run_command("translate", "Ein Hund schläft.").err == ""
    assert "add --sample" in fails_with_a_sentence("translate", "Ein Hund.", "--temperature", 2)
    assert "add --sample" in fails_with_a_sentence("translate", "Ein Hund.", "--top-k", 2)
