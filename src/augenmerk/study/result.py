"""The result of a study as plain data: all that is in `study.json`, and all that a report shows.

`collect.py` computes it from the run directories. It can be read without torch and without the runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError
from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import Shown, make_table
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import check_format, explain_read_errors, is_marked, read_object, write_object
from augenmerk.base.settings import Settings
from augenmerk.evaluation.metrics import METRICS, Metric

RESULT = "study.json"
PLAN = "plan.json"  # beside it: what was declared; see `plan.py`
MARK = ".running"  # the file that is marked while the study runs; see `augenmerk.base.files`
FORMAT = 2
ALPHA = 0.05  # that of `augenmerk.evaluation.significance`, which needs the runs' data and models
LARGEST = 2**63  # of the numbers accepted: seeds are smaller, and charts cannot show much larger ones

Interval = tuple[float, float]
Beam = Annotated[int, Field(ge=1)]
State = Literal["finished", "unfinished", "missing", "failed"]  # unfinished: started; missing: not started


MEASURES: Mapping[str, Metric] = {key: metric for key, metric in METRICS.items() if metric.study}
"""The metrics that a study measures, in the order in which it lists them."""


def _check_measure(measure: str) -> str:
    if measure not in MEASURES:
        raise ValueError(f"'{measure}' is not a measure; measures are {', '.join(MEASURES)}")
    return measure


Measure = Annotated[str, AfterValidator(_check_measure)]  # a key of `MEASURES`


def is_running(out: Path) -> bool:
    """Returns whether a process is running the study in a directory. Locks nothing."""
    return is_marked(out / MARK)


def find_runs(out: Path) -> list[Path]:
    """Returns the directories of the runs that the study in `out` has started."""
    return sorted(config.parent for config in out.glob("runs/*/seed-*/config.toml"))


@dataclass(frozen=True)
class RunResult:
    """One run of a variant."""

    seed: int
    run: str  # its directory, relative to the study's
    state: State
    problem: str | None = None  # why it failed, in a sentence
    epochs: int | None = None
    best_epoch: int | None = None
    seconds: float | None = None
    device: str | None = None
    precision: str | None = None
    alignment_attention: str | None = None
    """Which attention of a Transformer the alignment error is about, such as "layer 2, head 3"."""
    alignment_chosen_on: str | None = None  # the split by which it was chosen


@dataclass(frozen=True)
class Summary:
    """One measure of a variant over its seeds."""

    measure: Measure
    split: str | None  # None for measures of training, such as seconds
    beam: Beam | None  # None for measures that do not depend on the search
    values: dict[int, float]  # by seed
    mean: float
    variance: float | None  # with n - 1; None for one run
    interval: Interval | None
    """The 95% interval of the mean by Student's t over the seeds, within the measure's bounds; None for one
    run, and for times."""
    best: bool = False
    """Whether the mean is the best of all variants, or a paired t test over the seeds cannot tell it from the
    best; False for all if it can tell none."""

    def __post_init__(self) -> None:
        about = MEASURES.get(self.measure)
        if self.interval is not None and about is not None:
            # Cutting off what is impossible loses no coverage.
            low, high = (min(max(end, about.lowest), about.highest) for end in self.interval)
            object.__setattr__(self, "interval", (low, high))


@dataclass(frozen=True)
class CurvePoint:
    """The mean, lowest and highest value after an epoch, over the runs that reached it."""

    epoch: int
    runs: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A measure over the epochs of training."""

    measure: str  # a key of metrics.jsonl
    points: Annotated[tuple[CurvePoint, ...], Field(min_length=1)]


@dataclass(frozen=True)
class LengthBin:
    """BLEU of the sentences with a range of source lengths: mean, lowest and highest over the runs."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    low: float
    high: float


@dataclass(frozen=True)
class VariantResult:
    """One combination of the factors, over all seeds."""

    name: str
    settings: dict[str, Any]  # the factors' values, by key of the configuration
    parameters: int | None
    runs: tuple[RunResult, ...]
    summaries: tuple[Summary, ...]
    curves: tuple[Curve, ...]
    by_length: tuple[LengthBin, ...]  # on the study's first split with its first beam
    remarks: tuple[str, ...] = ()  # sentences about the number of runs

    def summary(self, measure: str, split: str | None = None, beam: int | None = None) -> Summary | None:
        asked = (measure, split, beam)
        return next((s for s in self.summaries if (s.measure, s.split, s.beam) == asked), None)


@dataclass(frozen=True)
class SeedComparison:
    """A contrast of runs with the same seed."""

    seed: int
    difference: float


@dataclass(frozen=True, repr=False)
class ComparisonResult(Shown):
    """A contrast of variants on the same sentences, by runs with the same seed.

    `augenmerk.evaluation.significance` says how `p` and `interval` are computed; both are about new seeds and
    sentences.
    """

    question: str
    variant: str  # what is compared: the name of a variant, or several in words
    against: str
    weights: dict[str, float]  # by variant
    measure: Literal["bleu", "word_loss"]
    split: str
    beam: Beam | None  # None for the loss, which does not depend on the search
    sentences: int
    seeds: tuple[SeedComparison, ...]
    difference: float
    interval: Interval  # excludes 0 exactly if p_corrected is below 0.05
    confidence: float  # the level of the interval: 0.95, or more where p is corrected
    interval_covers: Literal["sentences and seeds", "sentences"]
    seed_deviation: float | None  # of the mean over seeds, due to the choice of seeds; None for one seed
    sentence_deviation: float  # the same, due to the choice of sentences
    p: float
    p_corrected: float  # by Holm, over the comparisons by this measure on this split
    p_these_runs: float | None
    """By approximate randomisation, which takes the runs as given; for two variants."""
    trials: int
    resamples: int
    in_words: str

    def show(self) -> Iterator[RenderableType]:
        digits = 2 if self.measure == "bleu" else 4
        rows = [[str(each.seed), f"{each.difference:+.{digits}f}"] for each in self.seeds]
        rows.append(["mean", f"{self.difference:+.{digits}f}"])
        yield make_table(("seed", f"difference, {METRICS[self.measure].heading}"), rows)
        yield escape(self.in_words)


def describe_doubt(found: "ComparisonResult | BeamRepair") -> str:
    """Returns why a difference may not be found again, or nothing if it is clear or there is none at all."""
    return "may be chance" if found.p_corrected >= ALPHA and any(found.interval) else ""


@dataclass(frozen=True)
class Verdict:
    """The answer to a question of a study, with the comparisons that it rests on, in words."""

    question: str
    answer: str
    details: tuple[str, ...]


@dataclass(frozen=True)
class BeamRow:
    """A variant's translations of a split with one beam width; means over the runs."""

    variant: str
    split: str
    beam: Beam
    runs: int
    bleu: float
    bleu_low: float  # the lowest of the runs
    bleu_high: float  # the highest
    length_ratio: float
    model_score: float  # the mean score that the search maximises, per sentence
    seconds_per_sentence: float


@dataclass(frozen=True)
class BeamRepair:
    """The search errors of the study's narrowest beam that a wider beam repairs."""

    variant: str
    split: str
    narrow: int
    wide: int
    runs: int
    sentences: int  # summed over all runs, as are the next two
    better: int  # sentences for which the wider beam found a translation with a higher model score
    worse: int  # sentences for which it found one with a lower score: wider is not always better
    bleu_narrow: float | None  # BLEU of the repaired sentences alone; None if there are none
    bleu_wide: float | None  # the same with the wider beam
    difference: float  # BLEU with the wider beam minus BLEU with the narrower, as in `ComparisonResult`
    interval: Interval
    confidence: float
    p: float
    p_corrected: float  # by Holm, over the wider beams of this variant on this split
    p_these_runs: float
    in_words: str


@dataclass(frozen=True)
class ExampleMap:
    """The attention of one run for a sentence."""

    variant: str
    seed: int
    translation: str
    target_words: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]  # (target words, source words)


@dataclass(frozen=True)
class Example:
    """A sentence with the attention of each variant."""

    source: str
    source_words: tuple[str, ...]
    reference: str | None
    maps: tuple[ExampleMap, ...]


@dataclass(frozen=True)
class DataSum:
    """The SHA-256 of a split: of its pairs, each as source, tab, target, newline in UTF-8."""

    split: str
    sentences: int
    sha256: str


def describe_other_data(
    ours: Sequence[Mapping[str, Any]],
    theirs: Sequence[Mapping[str, Any]],
    splits: Sequence[str] | None = None,
) -> str | None:
    """Returns how the first split that differs does, of these splits or of all that both have.

    Each split is given as the fields of a `DataSum`.
    """
    known = {each["split"]: each for each in theirs}
    for our in ours:
        their = known.get(our["split"])
        if their is None or our["sha256"] == their["sha256"] or our["split"] not in (splits or known):
            continue
        ours_has, theirs_has = our["sentences"], their["sentences"]
        change = f"{ours_has:,} and {theirs_has:,} sentences" if ours_has != theirs_has else "other sentences"
        return f"'{our['split']}' has {change}"
    return None


@dataclass(frozen=True)
class PaddingCheck:
    """Sentences translated one by one and in batches, which must not differ."""

    runs: int
    sentences: int  # of each run
    different_texts: int  # over all runs
    largest_difference: float  # between the two scores of a sentence, over all runs
    in_words: str


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from: settings, data, software and hardware."""

    config: str  # settings of the first run as TOML; the others differ in the factors and the seed
    bitext: str
    data: tuple[DataSum, ...]
    software: dict[str, str]
    hardware: tuple[str, ...]
    seconds: float  # of training, summed over all runs
    signatures: dict[str, str]
    padding: PaddingCheck | None
    remarks: tuple[str, ...] = ()


class Published(Settings):
    """A figure from a publication, which was not measured here."""

    variant: str
    measure: Measure
    mean: float
    variance: float | None = None


@dataclass(frozen=True, kw_only=True)
class StudyHeader:
    """What both the declaration and the result of a study say."""

    name: str
    question: str
    factors: tuple[str, ...]
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    splits: Annotated[tuple[str, ...], Field(min_length=1)]
    beams: Annotated[tuple[Beam, ...], Field(min_length=1)]
    baseline: str = ""
    """The variant that others are compared with."""
    published: tuple[Published, ...] = ()
    published_source: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyResult(StudyHeader):
    """A study, complete or not."""

    variants: Annotated[tuple[VariantResult, ...], Field(min_length=1)]
    incomparable: tuple[str, ...] = ()
    """The measures whose units differ between the variants, such as losses over different vocabularies."""
    verdicts: tuple[Verdict, ...] = ()
    comparisons: tuple[ComparisonResult, ...]
    beam_rows: tuple[BeamRow, ...]
    beam_repairs: tuple[BeamRepair, ...]
    examples: tuple[Example, ...]
    provenance: Provenance | None  # None if no run is finished
    remarks: tuple[str, ...] = ()
    """Sentences about missing results and about conclusions that the study does not allow."""
    format: int = FORMAT

    @property
    def complete(self) -> bool:
        return all(run.state == "finished" for variant in self.variants for run in variant.runs)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as JSON, with derived values for readers: `complete`, and for each variant the
        `mean` and `variance` of the measures of the first split and beam."""
        tree: dict[str, Any] = _plain(asdict(self))
        for variant, its_tree in zip(self.variants, tree["variants"], strict=True):
            first = [each for each in variant.summaries if self.is_leading(each)]
            its_tree["mean"] = {each.measure: each.mean for each in first}
            its_tree["variance"] = {each.measure: each.variance for each in first}
        return {"complete": self.complete, **tree}

    def is_leading(self, summary: Summary) -> bool:
        """Returns whether a summary is of training, or of the study's first split and beam."""
        return summary.split in (None, self.splits[0]) and summary.beam in (None, self.beams[0])

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        return TypeAdapter(cls).validate_python(_plain(tree))

    def save(self, folder: Path) -> None:
        write_object(folder / RESULT, self.to_dict(), indent=1)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads a result, given the study's directory or the file itself."""
        path = folder / RESULT if folder.is_dir() else folder
        if not path.exists():
            raise AugenmerkError(
                f"{folder} holds no study, or one that has not ended: expected a folder with {RESULT} in it. "
                f"To continue a study, use `augenmerk study FILE --out {folder}`."
            )
        tree = read_object(path)
        check_format(path, tree.get("format"), FORMAT)
        with explain_read_errors(path):
            try:
                return cls.from_dict(tree)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def check(part: VariantResult | Example | Provenance) -> None:
    """Raises ValueError for a part that could not be written, or not be read again."""
    TypeAdapter(type(part)).validate_python(_plain(asdict(part)))


def _plain(value: Any) -> Any:
    """Returns a tree of what JSON has; raises ValueError for numbers that are not finite or too large."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise ValueError("a number is not finite, or too large")
    return value
