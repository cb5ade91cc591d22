"""Imports point one way: what docs/explanation/architecture.md draws is what the code does."""

import ast
from functools import cache
from pathlib import Path

import augenmerk

PACKAGE = Path(augenmerk.__file__).parent

ROOMS = (
    *("base", "text", "mechanisms", "cluster", "data", "drawing", "search", "inference", "model", "run"),
    *("translation", "evaluation", "analysis", "training", "theory", "lab", "study", "web", "serve", "bench"),
    *("api", "assignment", "cli"),
)
"""From the ground up. A room may import the rooms before it; nothing after it."""

ONLY = {
    "base": set[str](),
    "text": {"base"},
    "mechanisms": {"base"},
    "cluster": {"base"},
    "data": {"base", "cluster", "text"},
    "drawing": {"base", "text"},
    "search": {"base", "mechanisms", "text"},
    "inference": {"base", "mechanisms", "search", "text"},
    "model": {"base", "inference", "mechanisms", "search", "text"},
    "run": {"base", "text"},
    "theory": {"base", "drawing"},
    "lab": {"base", "drawing", "theory"},
    "web": {"analysis", "base", "drawing", "inference", "mechanisms", "run", "text", "theory", "translation"},
}
"""Rooms that may import less than their position permits."""

# What is made of translations takes their attention as numpy arrays.
WITHOUT_TORCH = (
    *("cluster", "mechanisms", "inference", "drawing", "web", "serve", "theory"),
    *(
        "translation/translation.py",
        "translation/data.py",
        "translation/mbr.py",
        "translation/alignment.py",
        "data",
    ),
    *("evaluation/agreement.py", "text/batching.py"),
    *("analysis/wanted.py", "analysis/patterns.py", "analysis/measures.py", "analysis/pages.py"),
    *("study/collect.py", "study/result.py", "study/report.py", "study/charts.py"),
)


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports() -> dict[str, set[str]]:
    """Returns each room with the rooms that its modules import anywhere."""
    imported: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        if room in ("__init__.py", "__main__.py"):
            continue
        names = imported.setdefault(room, set())
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative imports hide which room is meant"
                if node.module and node.module.split(".")[0] == "augenmerk":
                    inside = node.module.split(".")[1:]
                    names.update(inside[:1] or [alias.name for alias in node.names])
            elif isinstance(node, ast.Import):
                parts = (alias.name.split(".") for alias in node.names)
                names.update(inside[0] for first, *inside in parts if first == "augenmerk" and inside)
        names -= {room, "__version__"}
    return imported


def test_every_module_is_in_a_room_that_says_what_it_is_for() -> None:
    assert set(imports()) == set(ROOMS)
    for room in ROOMS:
        described = ast.get_docstring(parse(PACKAGE / room / "__init__.py"))
        assert described, room
        assert "May import:" in described, room
        assert "Read first:" in described, room


def test_imports_point_down() -> None:
    for room, imported in imports().items():
        for other in imported:
            assert ROOMS.index(other) < ROOMS.index(room), f"{room} must not import {other}"
    for room, allowed in ONLY.items():
        assert imports()[room] <= allowed, room


def test_what_is_made_of_translations_imports_no_torch() -> None:
    for name in WITHOUT_TORCH:
        place = PACKAGE / name
        for path in place.glob("*.py") if place.is_dir() else (place,):
            for node in ast.walk(parse(path)):
                if isinstance(node, ast.Import):
                    assert "torch" not in [alias.name.split(".")[0] for alias in node.names], path
                elif isinstance(node, ast.ImportFrom):
                    assert (node.module or "").split(".")[0] != "torch", path
