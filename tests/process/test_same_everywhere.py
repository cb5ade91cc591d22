"""What must be the same in every process: tokenizers, plans of batches, generated pairs."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import ROOT
from tests.unit.test_bitext_bilderbuch import CHECKSUM
from tests.unit.test_text import SENTENCES

PRINT_A_PLAN = """
from augenmerk.text.batching import ParallelTokens
data = ParallelTokens.of(([7] * (i % 5), [7] * (i % 3)) for i in range(18))
print([batch.indices.tolist() for batch in data.plan(4, seed=7, epoch=2)])
"""


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("unit", ["bpe", "word"])
def test_training_gives_the_same_bytes_in_every_process(tmp_path: Path, unit: str) -> None:
    lines = [" ".join(random.Random(i).choices(" ".join(SENTENCES).split(), k=9)) for i in range(300)]
    (tmp_path / "lines.json").write_text(json.dumps(lines), encoding="utf-8")
    for seed in ("0", "1", "2"):
        run_python(
            "import json; from pathlib import Path\n"
            "from augenmerk.text.tokenizer import Tokenizer; from augenmerk.base.config import TextConfig\n"
            f"folder = Path({str(tmp_path)!r})\n"
            "lines = json.loads((folder / 'lines.json').read_text('utf-8'))\n"
            f"Tokenizer.train(lines, TextConfig(unit={unit!r}, vocabulary_size=600)).save(folder / '{seed}')",
            PYTHONHASHSEED=seed,
        )
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_forked_process_goes_on_encoding_in_silence_and_torch_is_not_imported() -> None:
    done = run_python(
        "import os, sys\n"
        "from augenmerk.base.config import TextConfig\n"
        "from augenmerk.text.tokenizer import Tokenizer\n"
        "texts = [f'ein Hund {number}' for number in range(3000)]\n"
        "tokenizer = Tokenizer.train(texts, TextConfig()); tokenizer.encode_ids(texts)\n"
        "child = os.fork()\n"
        "tokenizer.encode_ids(texts)\n"
        "if child: assert os.waitpid(child, 0)[1] == 0 and 'torch' not in sys.modules"
    )
    assert done.stderr == ""


def test_a_plan_is_the_same_in_every_process_and_on_every_machine() -> None:
    expected = "[[17, 14, 9, 4], [5, 11, 6, 15], [13, 7, 3, 12], [2, 8], [10, 16, 1, 0]]\n"
    assert run_python(PRINT_A_PLAN, PYTHONHASHSEED="1").stdout == expected


def test_bilderbuch_is_the_same_in_every_process() -> None:
    code = "from tests.unit.test_bitext_bilderbuch import checksum; print(checksum())"
    assert run_python(code, PYTHONHASHSEED="1").stdout.strip() == CHECKSUM
