"""Reads the TOML file of a study: variants x seeds, each a run, and the contrasts that answer its questions.

A contrast is a weighted sum of the scores of variants. A study file declares contrasts as the answers to
questions. By default, each variant is compared with the baseline; if several factors vary, there are main
effects and interactions of two. All contrasts of a study are a family for which p is corrected, so a study
should ask what it wants to know, and no more.

A study's directory keeps what was declared as `plan.json`.
"""

import copy
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from augenmerk.base.config import PRESETS, RunConfig, keep_own_case, load_config, open_keys
from augenmerk.base.entries import MECHANISMS
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.files import explain_read_errors, limit_file_name, read_object, read_text, write_object
from augenmerk.base.settings import MAX_SETTINGS_BYTES, Settings, flatten_settings, parse_toml, set_key
from augenmerk.data import resolve_data, resolve_data_name
from augenmerk.study.result import PLAN, Published, StudyHeader

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
INTERACTION, AT_EACH = " x ", " at each "
"""What is between two factors in a declared contrast."""
MAX_WEIGHT = 1e6


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
    """Settings of all runs, which replace those of the base. A relative path in data.bitext is relative to
    the study's file if it exists there, otherwise to the current folder."""
    factors: dict[str, Any]
    """Settings with a list of values each: every combination is a variant."""
    settings_for: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By the value of a factor, such as transformer: settings for the variants that have it."""
    seeds: list[Annotated[int, Field(ge=0, lt=2**63)]] = Field(min_length=1)
    """The seeds of every variant. Under one seed, variants start alike and read the same batches."""
    splits: list[str] = Field(default_factory=list)
    """Splits to translate (default: validation). Comparisons cover each; the first leads the report."""
    beams: list[Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=list)
    """Beam widths (default: that of the settings). Comparisons are made with the first."""
    baseline: str | None = None
    """The variant that others are compared with (default: the first)."""
    contrasts: dict[str, Any] | None = None
    """By question: a factor, two as "A x B" or "A at each B", or weights of variants."""
    sentences: list[str] = Field(default_factory=list)
    """Sentences whose attention is shown side by side (default: some of medium length of the first split)."""
    published: _Published | None = None
    """Numbers from a publication, shown beside yours."""


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


@dataclass(frozen=True)
class Contrast:
    """A comparison that answers a question, or a part of it."""

    question: str
    variant: str  # what is compared: the name of a variant, or several in words
    against: str
    weights: dict[str, float]  # by variant; they sum to 0


@dataclass(frozen=True, kw_only=True)
class Study(StudyHeader):
    """A study as its file declares it."""

    variants: tuple[Variant, ...]
    contrasts: tuple[Contrast, ...]
    sentences: tuple[str, ...]
    runs: tuple[PlannedRun, ...]
    """Ordered by seed, so that half a study compares all variants on some of the seeds."""


def find_study(name_or_file: str) -> Path:
    """Returns the file of a bundled or custom study; raises AugenmerkError if there is none."""
    if name_or_file in BUNDLED_STUDIES:
        return BUNDLED_STUDIES[name_or_file]
    path = Path(name_or_file)
    if path.suffix != ".toml" and not os.path.exists(path):  # noqa: PTH110 (no error for a name that is too long)
        raise AugenmerkError(
            f"There is no study called '{shorten(name_or_file)}': the studies are "
            f"{', '.join(BUNDLED_STUDIES)}; or give a file that ends in .toml."
        )
    return path


def read_study(path: Path) -> Study:
    """Reads a study's file; raises AugenmerkError for every mistake that can be found without running it."""
    return plan_study(parse_toml(read_text(path, MAX_SETTINGS_BYTES), str(path)), path, path.stem)


def plan_study(tree: dict[str, Any], path: Path, name: str) -> Study:
    """Plans a study from what its file has; errors name the path, and relative paths begin in its folder."""
    declared = _StudyFile.checked(tree, str(path))
    for key in ("seeds", "splits", "beams"):
        values = getattr(declared, key)
        if twice := [value for index, value in enumerate(values) if value in values[:index]]:
            raise AugenmerkError(f"{path}: {key} names {shorten(repr(twice[0]))} twice.")
    factors = _read_factors(declared, path)
    variants = _list_variants(factors, path)
    names = [variant.name for variant in variants]
    baseline = declared.baseline or names[0]
    published = declared.published.figures if declared.published else []
    for key, given in [("baseline", baseline), *(("published", each.variant) for each in published)]:
        if given not in names:
            raise AugenmerkError(f"{path}: {key} names '{given}', but the variants are {', '.join(names)}.")
    runs = tuple(_plan_runs(declared, path, factors, variants))
    question = declared.question.strip()
    design = _Design(question, {each.name: each.settings for each in variants}, baseline)
    return Study(
        name=name,
        question=question,
        factors=tuple(factors),
        variants=variants,
        seeds=tuple(declared.seeds),
        splits=tuple(declared.splits) or (runs[0].config.data.validation,),
        beams=tuple(declared.beams) or (runs[0].config.search.beam,),
        baseline=baseline,
        contrasts=tuple(_plan_contrasts(design, declared.contrasts, path)),
        sentences=tuple(declared.sentences),
        runs=runs,
        published=tuple(published),
        published_source=declared.published.source if declared.published else "",
    )


def save_plan(study: Study, out: Path) -> None:
    write_object(out / PLAN, TypeAdapter(Study).dump_python(study, mode="json", exclude={"runs"}), indent=1)


def read_plan(out: Path) -> Study | None:
    """Reads what a study declared; None if it has no plan. Of the runs' settings, only seeds are known."""
    path = out / PLAN
    if not path.is_file():
        return None
    tree = read_object(path)
    with explain_read_errors(path):
        study = TypeAdapter(Study).validate_python({**tree, "runs": ()})
        configs = [RunConfig.model_validate({"train": {"seed": seed}}) for seed in study.seeds]
    return replace(
        study, runs=tuple(PlannedRun(each, config) for config in configs for each in study.variants)
    )


# Variants and their runs


def _flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings by full key, whether written as "train.lr", train.lr, or in a table."""
    return {
        SHORT_NAMES.get(key, key): value
        for group, settings in tree.items()
        for key, value in flatten_settings(group, settings)
    }


def _read_factors(declared: _StudyFile, path: Path) -> dict[str, list[Any]]:
    """Returns the values of each factor by its full key."""
    factors = _flatten(declared.factors)
    if factors.get("model.attention") == "all":
        factors["model.attention"] = list(MECHANISMS)
    if not factors:
        raise AugenmerkError(f'{path}: name a factor, such as attention = ["none", "scaled-dot"].')
    count = len(declared.seeds)
    for key, values in factors.items():
        if key in NOT_FACTORS:
            raise AugenmerkError(f"{path}: '{key}' is not a factor; {NOT_FACTORS[key]}.")
        if not isinstance(values, list) or not values:
            raise AugenmerkError(f"{path}: the factor '{key}' needs a list of values.")
        count *= len(values)
        if count > MAX_RUNS:
            raise AugenmerkError(f"{path}: all factors and seeds combined are over {MAX_RUNS:,} runs.")
        if any(value in values[:i] for i, value in enumerate(values)):
            raise AugenmerkError(f"{path}: the factor '{key}' has a value twice.")
    return factors


def _list_variants(factors: Mapping[str, list[Any]], path: Path) -> tuple[Variant, ...]:
    chosen = (dict(zip(factors, values, strict=True)) for values in product(*factors.values()))
    variants = tuple(Variant(_name_variant(settings), settings) for settings in chosen)
    [(folder, number)] = Counter(variant.folder for variant in variants).most_common(1)
    if number > 1:
        raise AugenmerkError(f"{path}: two variants would both be kept in a folder called '{folder}'.")
    return variants


def _name_variant(settings: Mapping[str, Any]) -> str:
    """Returns the name of the variant whose factors have these values, such as `mean, hidden=128`."""
    names = [_shorten(key) for key in settings]
    labels = [name if names.count(name) == 1 else key for key, name in zip(settings, names, strict=True)]
    return ", ".join(
        value if label == "attention" and isinstance(value, str) else f"{label}={_format(value)}"
        for label, value in zip(labels, settings.values(), strict=True)
    )


def _shorten(factor: str) -> str:
    return factor.rpartition(".")[2]


def _format(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plan_runs(
    declared: _StudyFile, path: Path, factors: Mapping[str, list[Any]], variants: Sequence[Variant]
) -> Iterator[PlannedRun]:
    base: dict[str, Any] = {}
    if declared.base is not None:
        file = declared.base if declared.base in PRESETS else str(path.parent / declared.base)
        base = load_config(file).model_dump(exclude_none=True)
    common, settings_for = _flatten(declared.settings), _read_settings_for(declared, factors, path)
    _set_all(base, common, str(path))
    left_open = open_keys() - common.keys() - factors.keys() if declared.base in PRESETS else set()
    for seed, variant in product(declared.seeds, variants):
        values = map(_format, variant.settings.values())
        own = {key: setting for value in values for key, setting in settings_for.get(value, {}).items()}
        tree, where = copy.deepcopy(base), f"{path}: {variant.name}"
        _set_all(tree, {**own, **variant.settings, "train.seed": seed}, where)
        config = RunConfig.checked(tree, where)
        bitext = resolve_data_name(config.data.bitext, path.parent)
        data = config.data.model_copy(update={"bitext": bitext})
        config = resolve_data(config.model_copy(update={"data": data}))
        yield PlannedRun(variant, keep_own_case(config.leaving_open(left_open - own.keys())))


def _read_settings_for(
    declared: _StudyFile, factors: Mapping[str, list[Any]], path: Path
) -> dict[str, dict[str, Any]]:
    """Returns the settings for single values of factors, by value and by full key."""
    values = {_format(value) for each in factors.values() for value in each}
    found = {value: _flatten(tree) for value, tree in declared.settings_for.items()}
    for value, settings in found.items():
        if value not in values:
            raise AugenmerkError(
                f"{path}: settings for '{value}', but no factor has this value; there are "
                f"{', '.join(sorted(values))}."
            )
        for key in settings.keys() & (factors.keys() | NOT_FACTORS.keys()):
            why = NOT_FACTORS.get(key, "it is a factor")
            raise AugenmerkError(f"{path}: settings for '{value}' cannot have '{key}': {why}.")
    return found


def _set_all(tree: dict[str, Any], settings: Mapping[str, Any], where: str) -> None:
    for key, value in settings.items():
        try:
            set_key(tree, key, value)
        except ValueError as error:
            raise AugenmerkError(
                f"{where}: {error}; a setting is attention, or a key such as train.lr, or is in a group such "
                f"as [settings.train]."
            ) from None


# Contrasts


@dataclass(frozen=True)
class _Design:
    """The variants of a study, each with the value of every factor, and which of them is the baseline."""

    question: str
    variants: Mapping[str, Mapping[str, Any]]
    baseline: str

    @property
    def factors(self) -> list[str]:
        """The factors that have several values."""
        return [factor for factor in self.variants[self.baseline] if len(self.levels(factor)) > 1]

    def levels(self, factor: str) -> list[Any]:
        """Returns the values of a factor, that of the baseline first."""
        found = [self.variants[self.baseline][factor]]
        for settings in self.variants.values():
            if settings[factor] not in found:  # a value may be a table, which cannot be hashed
                found.append(settings[factor])
        return found

    def average(self, wanted: Mapping[str, Any], sign: float = 1.0) -> dict[str, float]:
        """Returns the weights of the mean over all variants with these values."""
        chosen = [
            name
            for name, settings in self.variants.items()
            if all(settings[factor] == value for factor, value in wanted.items())
        ]
        return dict.fromkeys(chosen, sign / len(chosen))

    def compare(self, question: str, factor: str, at: Mapping[str, Any]) -> Iterator[Contrast]:
        """Yields each value of a factor against that of the baseline, averaged over the factors that `at`
        leaves open."""
        first, *others = self.levels(factor)
        free = [_shorten(each) for each in self.factors if each != factor and each not in at]
        averaged = f" (averaged over {' and '.join(free)})" if free else ""
        for value in others:
            sides = {factor: value, **at}, {factor: first, **at}
            ours, theirs = self.average(sides[0]), self.average(sides[1], -1)
            name, against = map(_name_variant, sides) if free else [*ours, *theirs]
            yield Contrast(question, name, f"{against}{averaged}", _add(ours, theirs))

    def interact(self, question: str, factor: str, other: str) -> Iterator[Contrast]:
        """Yields by how much more each value of a factor gains with each value of another one."""
        first, *values = self.levels(factor)
        usual, *conditions = self.levels(other)
        for value, condition in product(values, conditions):
            gap = f"{_name_variant({factor: value})} − {_name_variant({factor: first})}"
            corners = product((condition, usual), (value, first))
            parts = [
                self.average({factor: a, other: b}, sign)
                for (b, a), sign in zip(corners, (1, -1, -1, 1), strict=True)
            ]
            at, against = (_name_variant({other: each}) for each in (condition, usual))
            yield Contrast(question, f"{gap} with {at}", f"that with {against}", _add(*parts))


def _plan_contrasts(design: _Design, declared: Mapping[str, Any] | None, path: Path) -> Iterator[Contrast]:
    """Yields the contrasts that a study file declares, by question, or the default if it declares none."""
    factors = design.factors
    if declared is not None:
        for question, text in declared.items():
            yield from _read_contrasts(design, question, text, f"{path}: [contrasts] “{question}”")
        return
    for factor in factors:
        question = design.question if len(factors) == 1 else f"Does {_shorten(factor)} matter?"
        yield from design.compare(question, factor, {})
    for factor, other in combinations(factors, 2):
        question = f"Does the effect of {_shorten(factor)} depend on {_shorten(other)}?"
        yield from design.interact(question, factor, other)


def _read_contrasts(design: _Design, question: str, declared: Any, where: str) -> Iterator[Contrast]:
    if not isinstance(declared, str):
        yield _weigh(design, question, declared, where)
        return
    separator = next((each for each in (INTERACTION, AT_EACH) if each in declared), None)
    names = [name.strip() for name in (declared.split(separator, 1) if separator else [declared])]
    by_name = {name: factor for factor in design.factors for name in (_shorten(factor), factor)}
    factors = [by_name.get(name, "") for name in names]
    for name, factor in zip(names, factors, strict=True):
        if not factor or factors.count(factor) > 1:
            raise AugenmerkError(
                f"{where}: '{name}' is not a factor to compare by; write one factor with several values "
                f"({', '.join(map(_shorten, design.factors))}), A{INTERACTION}B, A{AT_EACH}B, or weights of "
                f"variants."
            )
    if separator == INTERACTION:
        yield from design.interact(question, *factors)
    elif separator == AT_EACH:
        for level in design.levels(factors[1]):
            yield from design.compare(question, factors[0], {factors[1]: level})
    else:
        yield from design.compare(question, factors[0], {})


def _weigh(design: _Design, question: str, weights: Any, where: str) -> Contrast:
    # TOML has nan and inf, and integers of any length.
    if isinstance(weights, dict) and all(
        name in design.variants and type(weight) in (int, float) and abs(weight) <= MAX_WEIGHT
        for name, weight in weights.items()
    ):
        sides = [{name: w * sign for name, w in weights.items() if w * sign > 0} for sign in (1, -1)]
        totals = [math.fsum(side.values()) for side in sides]
        if all(sides) and math.isclose(*totals, rel_tol=1e-6):
            return Contrast(question, _name_side(sides[0]), _name_side(sides[1]), dict(weights))
    raise AugenmerkError(
        f"{where}: write a factor, or weights of variants that sum to 0, such as "
        f"{{ a = 1, b = -0.5, c = -0.5 }}; the variants are {', '.join(design.variants)}."
    )


def _name_side(side: Mapping[str, float]) -> str:
    if len(side) > 1 and len(set(side.values())) == 1 and math.isclose(sum(side.values()), 1):
        *names, last = side
        return f"the mean of {', '.join(names)} and {last}"
    return " + ".join(name if weight == 1 else f"{weight:g} {name}" for name, weight in side.items())


def _add(*parts: Mapping[str, float]) -> dict[str, float]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: math.fsum(part.get(name, 0.0) for part in parts) for name in names}
