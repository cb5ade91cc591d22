"""Reads the TOML file of a study: variants x seeds, each a run with its settings and its directory."""

import copy
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from augenmerk.base.config import PRESETS, RunConfig, keep_own_case, load_config, open_keys
from augenmerk.base.entries import MECHANISMS
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import limit_file_name
from augenmerk.base.settings import Settings, flatten_settings, parse_toml, read_settings, set_key
from augenmerk.data import resolve_data, resolve_data_name
from augenmerk.study.contrasts import Contrast, Design, plan_contrasts
from augenmerk.study.result import MEASURES, Published, StudyHeader

BUNDLED_STUDIES = dict(
    sorted((path.stem, path) for path in (Path(__file__).parents[1] / "studies").glob("*.toml"))
)
"""The studies that come with the package, by name."""

SHORT_NAMES = {"attention": "model.attention"}
MAX_RUNS = 10_000
NOT_FACTORS = {
    "train.seed": "name the seeds as seeds = [1, 2, 3]",
    "search.beam": "name the beams as beams = [1, 5]; the same runs are measured with each",
}


class _Published(Settings):
    source: str = Field(min_length=1)
    """Who published the numbers, and how that work differs from this."""
    figures: list[Published]


class _StudyFile(Settings):
    question: str = Field(min_length=1)
    """The question that the study answers, in a sentence."""
    base: str | None = None
    """A preset, or the path of a run's TOML file relative to the study's file."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that replace those of the base, for all runs. A relative path in data.bitext is relative to
    the study's file if it exists there, otherwise to the current folder."""
    factors: dict[str, Any]
    """Settings with a list of values each: every combination is a variant."""
    settings_for: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By the value of a factor, such as transformer: settings for the variants that have it."""
    seeds: list[Annotated[int, Field(ge=0, lt=2**63)]] = Field(min_length=1)
    splits: list[str] = Field(default_factory=list)
    """Splits to translate (default: validation). Comparisons cover each; the first leads the report."""
    beams: list[Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=list)
    """Beam widths (default: that of the settings). Comparisons are made with the first."""
    baseline: str | None = None
    """The variant that others are compared with (default: the first)."""
    contrasts: dict[str, Any] | None = None
    """By question: a factor, two as "A x B" or "A at each B", or weights of variants (default: see
    `contrasts.py`)."""
    sentences: list[str] = Field(default_factory=list)
    """Sentences whose attention is shown side by side (default: some of medium length of the first split)."""
    published: _Published | None = None


@dataclass(frozen=True)
class Variant:
    """One combination of the factors."""

    name: str
    settings: dict[str, Any]  # the values of the factors, by key such as model.attention

    @property
    def folder(self) -> str:
        return limit_file_name(re.sub(r"[^\w.=-]+", "-", self.name))


@dataclass(frozen=True)
class PlannedRun:
    """One variant with one seed."""

    variant: Variant
    config: RunConfig

    @property
    def seed(self) -> int:
        return self.config.train.seed

    @property
    def name(self) -> str:
        return f"{self.variant.name}, seed {self.seed}"

    @property
    def path(self) -> Path:
        """Its directory, relative to the study's."""
        return Path("runs") / self.variant.folder / f"seed-{self.seed}"


@dataclass(frozen=True, kw_only=True)
class Study(StudyHeader):
    """A study as its file declares it."""

    variants: tuple[Variant, ...]
    contrasts: tuple[Contrast, ...]
    sentences: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    """Ordered by seed, so that half a study compares all variants on some of the seeds."""

    def runs_of(self, variant: Variant) -> tuple[PlannedRun, ...]:
        return tuple(run for run in self.runs if run.variant is variant)


def find_study(name_or_file: str) -> Path:
    """Returns the file of a bundled or custom study; raises AugenmerkError if there is none."""
    if name_or_file in BUNDLED_STUDIES:
        return BUNDLED_STUDIES[name_or_file]
    path = Path(name_or_file)
    if path.suffix != ".toml" and not os.path.exists(path):  # noqa: PTH110 (no error for a name that is too long)
        raise AugenmerkError(
            f"There is no study called '{shorten(name_or_file)}': there are {', '.join(BUNDLED_STUDIES)}; "
            f"or give a file that ends in .toml."
        )
    return path


def read_study(path: Path) -> Study:
    """Reads a study's file; raises AugenmerkError for every mistake that can be found without running it."""
    declared = _StudyFile.checked(parse_toml(read_settings(path), str(path)), str(path))
    for key in ("seeds", "splits", "beams"):
        if len(set(getattr(declared, key))) != len(getattr(declared, key)):
            raise AugenmerkError(f"{path}: {key} names something twice.")
    factors = _factors(declared.factors, str(path))
    count = prod(map(len, factors.values())) * len(declared.seeds)
    if count > MAX_RUNS:
        shown = f"{count:,}" if count < 10**12 else "over a trillion"
        raise AugenmerkError(
            f"{path}: all combinations of the factors with all seeds are {shown} runs; "
            f"a study has at most {MAX_RUNS:,}."
        )
    base = _base(declared, path)
    variants = _variants(factors)
    settings_for = _settings_for(declared.settings_for, factors, path)
    left_open = (
        open_keys() - _flatten(declared.settings).keys() - factors.keys()
        if declared.base in PRESETS
        else set()
    )

    def plan_run(variant: Variant, seed: int) -> PlannedRun:
        own = {
            key: setting
            for value in map(_format, variant.settings.values())
            for key, setting in settings_for.get(value, {}).items()
        }
        config = _config(base, {**own, **variant.settings, "train.seed": seed}, path, variant.name)
        return PlannedRun(variant, keep_own_case(config.leaving_open(left_open - own.keys())))

    runs = tuple(plan_run(variant, seed) for seed in declared.seeds for variant in variants)
    folders = Counter(variant.folder for variant in variants)
    if twice := next((folder for folder, number in folders.items() if number > 1), None):
        raise AugenmerkError(f"{path}: two variants would both be kept in a folder called '{twice}'.")
    first, published = runs[0].config, declared.published
    if published:
        _check_published(published, [variant.name for variant in variants], path)
    question = declared.question.strip()
    baseline = _choose_baseline(declared.baseline, variants, path)
    design = Design(question, {each.name: each.settings for each in variants}, baseline, name_variant)
    return Study(
        name=path.stem,
        question=question,
        factors=tuple(factors),
        variants=variants,
        seeds=tuple(declared.seeds),
        splits=tuple(declared.splits) or (first.data.validation,),
        beams=tuple(declared.beams) or (first.search.beam,),
        baseline=baseline,
        contrasts=plan_contrasts(design, declared.contrasts, str(path)),
        sentences=tuple(declared.sentences),
        runs=runs,
        published=tuple(published.figures) if published else (),
        published_source=published.source if published else "",
    )


def _choose_baseline(declared: str | None, variants: Sequence[Variant], path: Path) -> str:
    names = [variant.name for variant in variants]
    if declared is not None and declared not in names:
        raise AugenmerkError(
            f"{path}: the baseline is '{declared}', but the variants are {', '.join(names)}."
        )
    return declared or names[0]


def _base(declared: _StudyFile, path: Path) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    if declared.base is not None:
        base = declared.base if declared.base in PRESETS else str(path.parent / declared.base)
        tree = load_config(base).model_dump(exclude_none=True)
    for key, value in _flatten(declared.settings).items():
        try:
            set_key(tree, key, value)
        except ValueError as error:
            raise AugenmerkError(
                f"{path}: {error}; a setting is a key such as train.lr, or is in a group such as "
                f"[settings.train]."
            ) from None
    return tree


def _flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings by full key, whether written as "train.lr", train.lr, or in a table."""
    return {
        SHORT_NAMES.get(key, key): value
        for group, settings in tree.items()
        for key, value in flatten_settings(group, settings)
    }


def _factors(declared: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
    """Returns the values of each factor by its full key."""
    factors = _flatten(declared)
    if factors.get("model.attention") == "all":
        factors["model.attention"] = list(MECHANISMS)
    if not factors:
        raise AugenmerkError(f'{where}: name a factor, such as attention = ["none", "scaled-dot"].')
    for key, values in factors.items():
        if key in NOT_FACTORS:
            raise AugenmerkError(f"{where}: '{key}' is not a factor; {NOT_FACTORS[key]}.")
        if not isinstance(values, list) or not values:
            raise AugenmerkError(f"{where}: the factor '{key}' needs a list of values.")
        if len(values) <= MAX_RUNS and any(value in values[:i] for i, value in enumerate(values)):
            raise AugenmerkError(f"{where}: the factor '{key}' has a value twice.")
    return factors


def _settings_for(
    declared: Mapping[str, Mapping[str, Any]], factors: Mapping[str, list[Any]], path: Path
) -> dict[str, dict[str, Any]]:
    """Returns the settings for single values of factors, by value and by full key."""
    values = {_format(value) for each in factors.values() for value in each}
    for value in declared:
        if value not in values:
            raise AugenmerkError(
                f"{path}: settings for '{value}', but no factor has this value; there are "
                f"{', '.join(sorted(values))}."
            )
    found = {value: _flatten(tree) for value, tree in declared.items()}
    for value, settings in found.items():
        for key in settings:
            if key in factors:
                raise AugenmerkError(f"{path}: settings for '{value}' cannot say '{key}', which is a factor.")
            if key in NOT_FACTORS:
                raise AugenmerkError(f"{path}: '{key}' is not a setting of variants; {NOT_FACTORS[key]}.")
    return found


def _variants(factors: Mapping[str, list[Any]]) -> tuple[Variant, ...]:
    combinations = [dict(zip(factors, values, strict=True)) for values in product(*factors.values())]
    return tuple(Variant(name_variant(settings), settings) for settings in combinations)


def name_variant(settings: Mapping[str, Any]) -> str:
    """Returns the name of the variant whose factors have these values, such as `mean, hidden=128`."""
    names = [key.rpartition(".")[2] for key in settings]
    labels = [name if names.count(name) == 1 else key for key, name in zip(settings, names, strict=True)]
    return ", ".join(
        value if label == "attention" and isinstance(value, str) else f"{label}={_format(value)}"
        for label, value in zip(labels, settings.values(), strict=True)
    )


def _format(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _config(base: Mapping[str, Any], settings: Mapping[str, Any], path: Path, variant: str) -> RunConfig:
    """Returns the settings of a run. A relative path of data is looked for beside the study's file first."""
    where = f"{path}: {variant}"
    tree = copy.deepcopy(dict(base))
    for key, value in settings.items():
        try:
            set_key(tree, key, value)
        except ValueError:
            raise AugenmerkError(
                f"{where}: '{key}' is no setting; a factor is attention, or a key such as train.lr."
            ) from None
    config = RunConfig.checked(tree, where)
    data = config.data.model_copy(update={"bitext": resolve_data_name(config.data.bitext, path.parent)})
    return resolve_data(config.model_copy(update={"data": data}))


def _check_published(published: _Published, names: list[str], path: Path) -> None:
    for each in published.figures:
        if each.variant not in names:
            raise AugenmerkError(
                f"{path}: published numbers of '{each.variant}', but the variants are {', '.join(names)}."
            )
        if each.measure not in MEASURES:
            raise AugenmerkError(
                f"{path}: published numbers of '{each.measure}', but measures are {', '.join(MEASURES)}."
            )
