"""Paired tests held against the `sacrebleu` command, and what is said about them in words."""

import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from augenmerk.bitext import open_bitext
from augenmerk.significance import compare_texts

REFERENCES = [pair.target for pair in open_bitext("bilderbuch", pairs=150)["val"]]


def noisy(share: float, seed: int) -> list[str]:
    """The references without this share of their words."""
    rng = random.Random(seed)
    return [" ".join(word for word in text.split() if rng.random() > share) for text in REFERENCES]


def command_prints(test: str, folder: Path, *systems: Sequence[str]) -> list[list[list[float]]]:
    """The numbers that the command prints for each system, for BLEU and for chrF."""
    files = [folder / f"{number}.txt" for number in range(len(systems) + 1)]
    for file, lines in zip(files, (REFERENCES, *systems), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # Not as JSON: sacrebleu 2.6 cannot print that for --paired-bs.
    flags = ["-m", "bleu", "chrf", "-lc", "--chrf-lowercase", test, "-f", "latex", "-w", "9", "-q", "-nc"]
    names = [str(file) for file in files]
    command = [str(Path(sys.executable).with_name("sacrebleu")), names[0], "-i", *names[1:], *flags]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    cells = [line.split("&")[1:] for line in printed.splitlines() if ".txt &" in line]
    return [[[float(x) for x in re.findall(r"\d+\.\d+", cell)] for cell in row] for row in cells]


def test_both_tests_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    ours, theirs = noisy(0.10, 1), noisy(0.13, 2)
    compared = compare_texts(ours, theirs, REFERENCES)
    for test in ("--paired-ar", "--paired-bs"):
        baseline, system = command_prints(test, tmp_path, theirs, ours)
        for number, found in enumerate((compared["bleu"], compared["chrf"])):
            assert found.score == pytest.approx(system[number][0], abs=1e-8)
            assert found.baseline_score == pytest.approx(baseline[number][0], abs=1e-8)
            assert found.difference == found.score - found.baseline_score
            p = found.p_randomisation if test == "--paired-ar" else found.p_bootstrap
            assert 0.002 < p < 0.9  # not what it is whenever something goes wrong
            assert p == pytest.approx(system[number][-1], abs=5e-5)  # of which four decimals are printed
            if test == "--paired-bs":
                for interval, printed in ((found.interval, system), (found.baseline_interval, baseline)):
                    _, mean, half, *_ = printed[number]
                    assert interval == pytest.approx((mean - half, mean + half), abs=1e-6)
    for found in compared.values():
        assert (found.trials, found.resamples, found.seed) == (10_000, 1_000, "12345")


def test_a_difference_in_words() -> None:
    good, bad = noisy(0.05, 1), noisy(0.3, 2)
    better = compare_texts(good, bad, REFERENCES, trials=500, resamples=200)["bleu"]
    assert better.in_words("runs/a", "runs/b") == (
        f"runs/a is {better.difference:.1f} BLEU above runs/b "
        f"(p = 0.002 by approximate randomisation, 0.005 by paired bootstrap)."
    )
    assert compare_texts(good, bad, REFERENCES, trials=500, resamples=200)["bleu"] == better
    worse = compare_texts(bad, good, REFERENCES, trials=500, resamples=200)["bleu"]
    assert worse.difference == -better.difference
    assert " BLEU below runs/a (p" in worse.in_words("runs/b", "runs/a")
    alike = compare_texts(good, noisy(0.05, 3), REFERENCES, trials=500, resamples=200)["chrf"]
    assert " chrF " in alike.in_words("a", "b")
    assert "b, which may be chance (p = 0." in alike.in_words("a", "b")


def test_equal_texts_are_not_significantly_different() -> None:
    """sacrebleu would say p = 0.0001: no mixture of equal texts differs by more than nothing."""
    for texts in (REFERENCES, [""] * len(REFERENCES)):
        for comparison in compare_texts(texts, texts, REFERENCES, trials=50, resamples=50).values():
            assert comparison.difference == 0.0
            assert (comparison.p_randomisation, comparison.p_bootstrap) == (1.0, 1.0)
            assert comparison.in_words("a", "b") == f"a and b have the same {comparison.metric}."


def test_empty_against_perfect() -> None:
    found = compare_texts([""] * len(REFERENCES), REFERENCES, REFERENCES, trials=50, resamples=50)["bleu"]
    assert found.difference == pytest.approx(-100.0)
    assert found.interval == (0.0, 0.0)
    assert found.baseline_interval == pytest.approx((100.0, 100.0))
