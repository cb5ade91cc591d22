"""What a study's directory holds from its start: `plan.json`, which says what was declared, and the runs.

`study.json` is written when a study ends or is interrupted. Until then, `collect.collect_so_far` reads the
plan and what is finished.
"""

import json
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import TypeAdapter

from augenmerk.base.config import RunConfig
from augenmerk.base.files import atomic_write, explain_read_errors, is_marked, parse_object, read_text
from augenmerk.study.contrasts import Contrast
from augenmerk.study.plan import PlannedRun, Study, Variant
from augenmerk.study.result import MARK, StudyHeader

PLAN = "plan.json"


def is_running(out: Path) -> bool:
    """Returns whether a process is at work in the directory of a study. Locks nothing."""
    return is_marked(out / MARK)


def find_runs(out: Path) -> list[Path]:
    """Returns the directories of the runs that the study in `out` has started."""
    return sorted(config.parent for config in out.glob("runs/*/seed-*/config.toml"))


def save_plan(study: Study, out: Path) -> None:
    header = TypeAdapter(StudyHeader).dump_python(study, mode="json")
    plan = {
        **{field.name: header[field.name] for field in fields(StudyHeader)},
        "sentences": study.sentences,
        "variants": [{"name": each.name, "settings": each.settings} for each in study.variants],
        "contrasts": [asdict(each) for each in study.contrasts],
    }
    text = json.dumps(plan, ensure_ascii=False, indent=1)
    atomic_write(out / PLAN, [text.encode("utf-8", "backslashreplace"), b"\n"])


def read_plan(out: Path) -> Study | None:
    """Reads what a study declared; None if it has no plan. Of the runs' settings, only seeds are known."""
    path = out / PLAN
    if not path.is_file():
        return None
    with explain_read_errors(path):
        tree = parse_object(read_text(path))
        names = [field.name for field in fields(StudyHeader) if field.name in tree]
        header = TypeAdapter(StudyHeader).validate_python({name: tree[name] for name in names})
        variants = tuple(Variant(str(each["name"]), dict(each["settings"])) for each in tree["variants"])
        configs = [RunConfig.model_validate({"train": {"seed": seed}}) for seed in header.seeds]
        return Study(
            **{field.name: getattr(header, field.name) for field in fields(StudyHeader)},
            variants=variants,
            contrasts=TypeAdapter(tuple[Contrast, ...]).validate_python(tree["contrasts"]),
            sentences=tuple(map(str, tree["sentences"])),
            runs=tuple(PlannedRun(variant, config) for config in configs for variant in variants),
        )
