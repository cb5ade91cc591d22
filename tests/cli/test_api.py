"""What Python offers beside the commands: mechanisms and loggers of a notebook; things show themselves."""

import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import augenmerk as am
from augenmerk.base.console import render_html
from augenmerk.base.errors import AugenmerkError
from augenmerk.drawing.figures import forget_missing_backend
from augenmerk.mechanisms.custom import CUSTOM_MECHANISMS
from augenmerk.training.loggers import load_logger
from tests.cli.test_documents import run_as_cells
from tests.cli.test_help import COMMANDS
from tests.support.runs import SharedRuns, tiny

CELLS = [
    "import math\nimport augenmerk as am\nfrom torch import Tensor\nSHARPNESS = 3.0",
    "def sharpen(scores: Tensor) -> Tensor:\n    return SHARPNESS * scores / math.sqrt(4)",
    """class Sharp(am.Attention):
    def scores(self, queries, memory):
        return sharpen(queries @ memory.keys.mT)

    def keys(self, states):
        return states[..., : states.shape[-1] // 2]
""",
]
SMALL: dict[str, Any] = {"data.bilderbuch.pairs": 60, "model.embedding": 8, "model.hidden": 8, "model.key": 8}
SMALL |= {"train.bleu": False, "train.select_by": "loss", "train.precision": "fp32"}


def test_a_mechanism_of_a_cell_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sharp = run_as_cells(CELLS)["Sharp"]
    run = am.train("quick", data="bilderbuch", epochs=1, attention=sharp, settings=SMALL, out="run")
    source = (run.path / "Sharp.py").read_text(encoding="utf-8")
    for part in ("import math as math", "SHARPNESS = 3.0", "def sharpen", "class Sharp"):
        assert part in source
    before = run.translate("Der Hund schläft.").log_probability
    monkeypatch.delitem(CUSTOM_MECHANISMS, "Sharp.py:Sharp")
    with pytest.raises(AugenmerkError, match="runs only if you name it"):
        am.open_run("run").translate("Der Hund schläft.")
    am.load_mechanism("run/Sharp.py:Sharp")
    assert am.load("run").translate("Der Hund schläft.").log_probability == before


def test_a_class_that_cannot_be_recorded_is_refused() -> None:
    names: dict[str, Any] = {}
    exec(compile("\n".join(CELLS), "<no cell>", "exec"), names)
    with pytest.raises(AugenmerkError, match="source of Sharp is not available"):
        am.load_mechanism(names["Sharp"])
    unrecordable = CELLS[0].replace("3.0", "object()")
    with pytest.raises(AugenmerkError, match="sharpen uses 'SHARPNESS', which a run cannot record"):
        am.load_mechanism(run_as_cells([unrecordable, *CELLS[1:]])["Sharp"])
    for wrong in (3, int, "mine"):
        with pytest.raises(AugenmerkError, match="is not a mechanism in a file"):
            am.load_mechanism(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"epoch": 3}, "'epoch=3' is not a setting"),
        ({"settings": {"train.lr": object()}}, "'train.lr' cannot be"),
        ({"train": {"lrr": 1}}, "unknown key 'train.lrr'"),
        ({"resume": True, "initial_run": "run"}, "--from begins a new run and --resume continues one"),
        ({"loggers": [object()]}, "is not a logger because it has no method 'start'"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AugenmerkError, match=sentence):
        am.train("quick", data="bilderbuch", **arguments)


FUNCTIONS = {
    **{
        name: getattr(am, name) for name in ("train", "study", "evaluate", "score", "export", "serve", "demo")
    },
    **{name: getattr(am, name) for name in ("diagram", "patterns", "faithfulness")},
    **{f"data {name}": getattr(am.data, name) for name in ("show", "check", "fetch", "export", "prepare")},
    **{f"bench {name}": getattr(am.bench, name) for name in ("train", "decode")},
    "theory from-run": am.probe,
    "report": am.StudyResults.report,
}
OTHERWISE = {
    "help": "",
    "json": "to_dict()",
    "attention": "load_mechanism",
    "threads": "$OMP_NUM_THREADS",
    **dict.fromkeys(("theme", "title", "size", "font_size", "outline"), "**style"),
    **{"text": "pairs", "model": "run", "run": "run", "show_attention": "Translator.score(...).plot()"},
    **{"folder": "out", "example": "examples", "list_": "list_studies", "study": "StudyResults(...)"},
    **{
        "no_pages": "pages",
        "open_browser": "webbrowser.open(server.address)",
        "check": "serve raises the error",
    },
    "out": "plot().save(...)",
}
"""Options that are no keywords, and what Python has for them."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_options_of_a_command_are_keywords_with_the_same_defaults(name: str) -> None:
    keywords = inspect.signature(FUNCTIONS[name]).parameters
    options = {option.name: option for option in COMMANDS[name].params}
    assert len(options.keys() & keywords.keys()) >= 1
    assert options.keys() - keywords.keys() <= OTHERWISE.keys()
    for key in options.keys() & keywords.keys() - {"run"}:
        default = keywords[key].default
        wanted = None if default is keywords[key].empty else default or None
        assert str(options[key].default or None) == str(wanted), key


def test_numbers_of_numpy_are_settings(tmp_path: Path) -> None:
    given = {**SMALL, "train.lr": np.float32(0.5), "train.seed": np.int64(7)}
    run = am.train("quick", data="bilderbuch", epochs=1, settings=given, out=tmp_path / "run")
    assert (run.settings.train.lr, run.settings.train.seed) == (0.5, 7)


def test_hostile_names_are_escaped(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = am.open_run(shared_runs.copy(tiny(), tmp_path / "[red]<script>&").path)
    scores = run.evaluate("val", beam=1)
    translations = run.translator.translate(["<script>alert(1)</script>", "[bold]Hund[/]"])
    tree = run.translator.trace("<script> [/]", beam=2)
    hostile = "Ein <script>alert(1)</script> [/] Hund."
    looks = [look(hostile, run) for look in (am.diagram, am.patterns, am.faithfulness)]
    for shown in (run, scores, translations, tree, translations[0], *looks):
        assert "<script" not in shown._repr_html_()
        assert str(shown) is not None
    assert "[red]&lt;script&gt;&amp;" in run._repr_html_()
    assert render_html(["[bold]x[/] < y"]).endswith("&lt; y</pre>")


def test_frames_need_pandas(shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = am.open_run(shared_runs.copy(tiny(), tmp_path / "run").path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(AugenmerkError, match="needs pandas, which is not installed"):
        run.to_pandas()


def test_an_installed_backend_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib.backends.backend_svg")
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    forget_missing_backend()
    assert "MPLBACKEND" in os.environ


def test_an_answer_may_be_a_text() -> None:
    assert am.theory.check("1.2", "c(k_a + k_b)", samples=10).holds
    with pytest.raises(AugenmerkError, match="Give your answer"):
        am.theory.check("1.2", "")
    with pytest.raises(AugenmerkError, match="has no setting 'kys'"):
        am.theory.run("1.2", kys=3)


def test_a_study_can_be_called_and_is_a_package() -> None:
    assert callable(am.study)
    called: Any = am.study
    assert importlib.import_module("augenmerk.study") is called
    with pytest.raises(AugenmerkError, match="Name a study"):
        am.study()
    with pytest.raises(AugenmerkError, match="either in a file or by keywords"):
        am.study("small", base="quick")
    with pytest.raises(AugenmerkError, match="either in a file or by keywords"):
        am.study("small", seeds=5)
    with pytest.raises(AugenmerkError, match="trained by other processes"):
        am.study("small", loggers=[object()])  # type: ignore[list-item]


def test_a_logger_is_taken_as_it_is() -> None:
    class Own:
        def start(self, *_: object) -> None: ...
        def log(self, *_: object) -> None: ...
        def close(self) -> None: ...

    own = Own()
    assert load_logger(own) is own


def test_a_number_of_sentences_that_cannot_be_is_refused() -> None:
    for look in (am.patterns, am.faithfulness):
        with pytest.raises(AugenmerkError, match="-1 is below 0"):
            look("Ein Hund schläft.", top=-1)
    with pytest.raises(AugenmerkError, match="1 or more: not 0"):
        am.diagram(split="test", count=0, out="maps")
