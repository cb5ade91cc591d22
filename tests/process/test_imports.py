"""What is imported only when it is needed, and what can be missing."""

import os
import subprocess
import sys
from pathlib import Path


def test_what_is_not_needed_is_not_imported() -> None:
    code = (
        "import sys, augenmerk\n"
        "def lacks(*names):\n"
        "    assert not set(names) & sys.modules.keys(), names\n"
        "translator = augenmerk.load()\n"
        "translator.translate(['Ein Hund schläft.', 'Zwei Kinder.'], beam=3, heads=True)\n"
        "translator.score('Ein Hund schläft.', 'A dog is sleeping.')\n"
        "translator.trace('Ein Hund.', beam=2)\n"
        "lacks('torch', 'matplotlib', 'scipy', 'augenmerk.drawing')\n"
        "augenmerk.theory.run('1.3', samples=50)\n"
        "lacks('torch', 'matplotlib')\n"
        "import augenmerk.study.report\n"
        "lacks('torch')\n"
        "import augenmerk.evaluation.agreement, augenmerk.evaluation.evaluator\n"
        "lacks('thot')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_that_windows_lacks_are_not_needed() -> None:
    code = (
        "import sacrebleu, sys, torch\n"
        "sys.modules['fcntl'] = sys.modules['resource'] = None\n"
        "import augenmerk.base.files, augenmerk.study.runner, augenmerk.bench.machine\n"
        "assert not augenmerk.base.files.HAS_FLOCK and not augenmerk.bench.machine.HAS_RESOURCE\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parquet_without_pyarrow_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pairs.parquet").touch()
    code = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "sys.argv = ['augenmerk', 'data', 'show', sys.argv[1]]\n"
        "from augenmerk.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "pairs.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("augenmerk: ")
    assert done.stderr.endswith("which is not installed: run pip install '.[parquet]' in your clone.\n")
    assert done.stderr.count("\n") == 1


def test_pictures_need_no_backend_of_another_environment(tmp_path: Path) -> None:
    code = "import augenmerk as am; am.theory.run('1.1', keys=3).plot().save('a.svg')"
    backend = {"MPLBACKEND": "module://not_installed_here.backend_inline"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, **backend})
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
