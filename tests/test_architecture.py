"""Imports point one way: what docs/architecture.md draws is what the code does."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import augenmerk

PACKAGE = Path(augenmerk.__file__).parent

# From the ground up. A part may import what stands before it; nothing that stands after it.
LAYERS = (
    *(
        "errors",
        "arrays",
        "user_code",
        "signals",
        "storage",
        "words",
        "config",
        "settings",
        "figures",
        "curves",
        "loggers",
    ),
    *("theory", "bitext", "text"),
    *(
        "subword_dropout",
        "familiarity",
        "batching",
        "corpus",
        "device",
        "environment",
        "distributed",
        "cluster",
        "blocks",
        "prepare",
        "malloc",
        "step_model",
        "inference",
        "kernels",
        "model",
        "search",
    ),
    *("alignment", "tensorfile", "checkpoint", "scores", "diagrams", "translate", "probe"),
    *("silver", "agreement", "patterns", "evaluate", "faithfulness", "wanted"),
    *(
        "significance",
        "engine",
        "training_data",
        "train",
        "study",
        "report",
        "demo",
        "bench",
        "web",
        "serve",
        "cli",
    ),
)
# Some parts may know less than their place would permit.
ONLY = {
    "bitext": {"config", "errors", "storage", "words"},
    "words": set[str](),
    "storage": {"errors"},
    "arrays": set[str](),
    "tensorfile": {"arrays", "storage"},
    "config": {"errors"},
    "settings": {"config"},
    "signals": set[str](),
    "figures": {"storage", "errors"},
    "curves": {"errors", "figures"},
    "loggers": {"errors", "user_code"},
    "user_code": {"errors"},
    "diagrams": {"errors", "figures", "words"},
    "theory": {"errors", "figures"},
    "step_model": {"arrays", "batching", "config"},
    "inference": {"batching", "config", "errors", "step_model"},
    "kernels": set[str](),
    "model": {"arrays", "batching", "config", "errors", "inference", "kernels", "step_model", "user_code"},
    "search": {"arrays", "config", "errors", "text"},
    "corpus": {"batching", "bitext", "config", "errors", "storage", "text"},
    "blocks": {"cluster", "errors"},
    "prepare": {"bitext", "blocks", "config", "errors", "storage", "text"},
    "device": {"errors"},
    "environment": {"device"},
    "distributed": {"device", "errors"},
    "cluster": {"errors", "storage"},
    "malloc": set[str](),
    "scores": set[str](),
    "report": {"diagrams", "errors", "figures", "study"},
    "web": {
        *("arrays", "checkpoint", "config", "errors", "familiarity", "figures", "inference", "step_model"),
        *("storage", "text", "theory", "translate", "words"),
    },
}

# What is made of translations takes their attention as numpy arrays.
WITHOUT_TORCH = (
    *("translate/translation.py", "translate/mbr.py", "alignment.py", "agreement.py", "silver.py"),
    *(
        "corpus.py",
        "familiarity.py",
        "blocks.py",
        "prepare",
        "wanted.py",
        "diagrams",
        "patterns",
        "report",
        "theory",
        "study/collect.py",
        "study/result.py",
    ),
    "web",
    "serve",
)


@cache
def parts() -> dict[str, set[str]]:
    """Each part (a module or package directly below augenmerk) with the other parts it imports anywhere."""
    imported: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue
        names = imported.setdefault(part, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "augenmerk":
                inside = node.module.split(".")[1:]
                names.update(inside[:1] or [alias.name for alias in node.names])
            elif isinstance(node, ast.Import):
                names.update(
                    alias.name.split(".")[1] for alias in node.names if alias.name.startswith("augenmerk.")
                )
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative imports hide which part is meant"
        names -= {part, "__version__"}
    return imported


def test_every_part_has_its_place() -> None:
    assert set(parts()) == set(LAYERS)


def test_imports_point_down() -> None:
    place = {part: number for number, part in enumerate(LAYERS)}
    for part, imported in parts().items():
        for other in imported:
            assert place[other] < place[part], f"{part} must not import {other}"


def test_parts_that_may_know_little_know_little() -> None:
    for part, allowed in ONLY.items():
        assert parts()[part] <= allowed


def test_what_is_made_of_translations_imports_no_torch() -> None:
    for name in WITHOUT_TORCH:
        place = PACKAGE / name
        for path in place.glob("*.py") if place.is_dir() else (place,):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    assert "torch" not in [alias.name.split(".")[0] for alias in node.names], path
                elif isinstance(node, ast.ImportFrom):
                    assert (node.module or "").split(".")[0] != "torch", path


def test_a_translation_knows_nothing_of_plotting() -> None:
    code = "import sys, augenmerk.translate; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "augenmerk.translate.translation" in modules.split()
    assert not {"matplotlib", "augenmerk.diagrams", "augenmerk.figures"} & set(modules.split())


def test_modules_that_windows_lacks_are_not_needed() -> None:
    code = (
        "import sacrebleu, sys, torch\n"
        "sys.modules['fcntl'] = sys.modules['resource'] = None\n"
        "import augenmerk.study.running, augenmerk.bench.machine\n"
        "assert not augenmerk.study.running.HAS_FLOCK and not augenmerk.bench.machine.HAS_RESOURCE\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
