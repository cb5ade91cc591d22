"""What must be the same in every process: tokenizers, plans of batches, generated pairs."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.processes import ROOT
from tests.unit.test_bitext_bilderbuch import CHECKSUM

MAKE = """
import random, sys
from pathlib import Path
from augenmerk.base.config import TextConfig
from augenmerk.text.batching import ParallelTokens
from augenmerk.text.tokenizer import Tokenizer
from tests.unit.test_bitext_bilderbuch import checksum
from tests.unit.test_text import SENTENCES

words = " ".join(SENTENCES).split()
lines = [" ".join(random.Random(i).choices(words, k=9)) for i in range(300)]
for unit in ("bpe", "word"):
    Tokenizer.train(lines, TextConfig(unit=unit, vocabulary_size=600)).save(Path(sys.argv[1], unit))
data = ParallelTokens.of(([7] * (i % 5), [7] * (i % 3)) for i in range(18))
print([batch.indices.tolist() for batch in data.plan(4, seed=7, epoch=2)], checksum())
"""
PLAN = "[[17, 14, 9, 4], [5, 11, 6, 15], [13, 7, 3, 12], [2, 8], [10, 16, 1, 0]]"


def run_python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=inherited | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )


def test_vocabularies_plans_and_generated_pairs_are_the_same_in_every_process(tmp_path: Path) -> None:
    places = [tmp_path / seed for seed in ("0", "1")]
    for place in places:
        place.mkdir()
        printed = run_python(MAKE, str(place), PYTHONHASHSEED=place.name).stdout
        assert printed == f"{PLAN} {CHECKSUM}\n"  # on every machine
    for unit in ("bpe", "word"):
        first, second = ((place / unit).read_bytes() for place in places)
        assert first == second


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
