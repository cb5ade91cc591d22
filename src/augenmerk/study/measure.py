"""Measures a trained run of a study, and reads what was measured.

A worker computes scores for each split and beam, and probes (`probes.json`): what a report shows besides
scores. Those are the loss of each sentence, the alignment error, the attention for some sentences, whether
padding changes translations, and the data, software and hardware. `read_measured` reads them all.
"""

import hashlib
import json
import math
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from augenmerk import __version__
from augenmerk.base.config import DataConfig
from augenmerk.base.device import CPU, describe_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, read_object, read_text
from augenmerk.data import Bitext, SentencePair, is_prepared
from augenmerk.data.corpus import PreparedCorpus
from augenmerk.evaluation.agreement import choose_attention, measure_alignment
from augenmerk.evaluation.evaluator import Evaluator, hypothesis_path, model_score_path, reference_path
from augenmerk.evaluation.metrics import Counts, bleu_from_counts, count_bleu, ratio_from_counts
from augenmerk.run.directory import RunDirectory
from augenmerk.study.jobs import Job
from augenmerk.study.plan import PlannedRun, Study
from augenmerk.text.pairs import PairsSum, sum_pairs
from augenmerk.text.words import split_words
from augenmerk.translation import Translator

if TYPE_CHECKING:
    import torch

PROBES = "probes.json"
PROBES_VERSION = 3
PADDING_SENTENCES = 32
"""Sentences that the padding check translates."""
EXAMPLES = 3
SOFTWARE = ("torch", "numpy", "sacrebleu", "tokenizers", "scipy")

OnProgress = Callable[[str, float], None]  # is called with the phase and the fraction of it that is done


def is_complete(run: RunDirectory, wanted: Study | Job) -> bool:
    """Returns whether the run is trained, scored and probed."""
    splits_and_beams = product(wanted.splits, wanted.beams)
    return (
        run.finished and all(is_scored(run, *each) for each in splits_and_beams) and _is_probed(run, wanted)
    )


def is_scored(run: RunDirectory, split: str, beam: int, data_sha256: str | None = None) -> bool:
    """Returns whether a split is scored, and by its checksum, if one is given, is still the same."""
    row = next((row for row in run.read_scores() if (row.get("split"), row.get("beam")) == (split, beam)), {})
    files = reference_path(run, split), hypothesis_path(run, split, beam), model_score_path(run, split, beam)
    is_same = data_sha256 is None or row.get("data_sha256") == data_sha256
    return "model_score" in row and is_same and all(path.exists() for path in files)


def _is_probed(run: RunDirectory, wanted: Study | Job) -> bool:
    return read_probes(run).get("asked") == _describe_probes(wanted)


def _describe_probes(wanted: Study | Job) -> dict[str, Any]:
    """Returns what the probes depend on besides the run."""
    return {"version": PROBES_VERSION, "splits": list(wanted.splits), "sentences": list(wanted.sentences)}


def read_probes(run: RunDirectory) -> dict[str, Any]:
    """Reads the probes of a run; returns nothing if there are none yet."""
    path = run.path / PROBES
    return read_object(path) if path.exists() else {}


def measure_run(run: RunDirectory, job: Job, device: "torch.device | str", on_progress: OnProgress) -> None:
    """Computes the scores and probes that a trained run lacks. The model and the data are loaded once."""
    if is_complete(run, job):
        return
    evaluator = Evaluator(
        run, device, on_progress=lambda _what, done, total: on_progress("translating", done / total)
    )
    with evaluator.translator:
        pairs = evaluator.read_splits(job.splits)
        for split in job.splits:
            sha256 = sum_pairs(pairs[split]).sha256
            if missing := [beam for beam in job.beams if not is_scored(run, split, beam, sha256)]:
                evaluator.evaluate({split: pairs[split]}, missing)
        if not _is_probed(run, job):
            on_progress("probing", 0.0)
            text = json.dumps(_probe(evaluator, pairs, job), ensure_ascii=False, allow_nan=False)
            atomic_write(run.path / PROBES, [text.encode("utf-8", "backslashreplace"), b"\n"])


def _probe(evaluator: Evaluator, pairs: Mapping[str, Sequence[SentencePair]], job: Job) -> dict[str, Any]:
    translator, first = evaluator.translator, pairs[job.splits[0]]
    examples: list[tuple[str, str | None]] = [(text, None) for text in job.sentences]
    if not examples:  # the first few pairs of medium length, whose diagrams can be read
        medium = (pair for pair in first if 7 <= len(split_words(pair.source)) <= 13)
        examples = [(pair.source, pair.target) for pair in islice(medium, EXAMPLES)]
    losses = {split: evaluator.sentence_losses(split, pairs[split]) for split in pairs}
    return {
        "asked": _describe_probes(job),
        **_measure_alignment(translator, pairs),
        "losses": {
            split: {"sums": [round(each, 6) for each in sums.tolist()], "tokens": tokens.tolist()}
            for split, (sums, tokens) in losses.items()
        },
        "examples": [{**_attend(translator, text), "reference": target} for text, target in examples],
        "source_lengths": [len(split_words(pair.source)) for pair in first],
        "padding": check_padding(translator, [pair.source for pair in first]),
        "data": _describe_data(evaluator, pairs),
        "software": {
            "python": platform.python_version(),
            "augenmerk": __version__,  # from the code itself, which may run without being installed
            **{name: version(name) for name in SOFTWARE},
        },
        "hardware": _describe_hardware(translator.device),
    }


def _measure_alignment(translator: Translator, pairs: Mapping[str, Sequence[SentencePair]]) -> dict[str, Any]:
    """Returns the error of each split: None without gold links, or if the mechanism links nothing."""
    errors: dict[str, float | None] = dict.fromkeys(pairs)
    gold = [split for split in pairs if all(pair.alignment is not None for pair in pairs[split])]
    # Choosing a head takes time, and is needed only where there are gold links to compare it with.
    attention = choose_attention(translator) if gold else None
    for split in gold:
        score = measure_alignment(translator, pairs[split], attention)
        errors[split] = score.error if score.proposed else None
    if attention is None:
        return {"alignment_error": errors}
    chosen = {"alignment_attention": attention.name, "alignment_chosen_on": attention.chosen_on}
    return {"alignment_error": errors, **chosen}


def _attend(translator: Translator, text: str) -> dict[str, Any]:
    """Returns the greedy translation with its attention."""
    translation = translator.translate(text, beam=1, split_sentences=False).to_dict()
    keys = ("source", "translation", "source_words", "target_words", "attention")
    return {key: translation[key] for key in keys}


def check_padding(translator: Translator, sources: Sequence[str]) -> dict[str, Any]:
    """Translates some sentences, from the shortest to the longest, alone and in a batch, and compares."""
    ordered = sorted(sources, key=len)
    count = min(PADDING_SENTENCES, len(ordered))
    texts = [ordered[number * (len(ordered) - 1) // max(1, count - 1)] for number in range(count)]
    alone = [translator.translate(text, beam=1, split_sentences=False) for text in texts]
    together = translator.translate(texts, beam=1, split_sentences=False)
    pairs = list(zip(alone, together, strict=True))
    return {
        "sentences": count,
        "different_texts": sum(a.text != b.text for a, b in pairs),
        "largest_difference": max(abs(a.log_probability - b.log_probability) for a, b in pairs),
    }


def describe_split(config: DataConfig, bitext: Bitext, split: str) -> dict[str, Any]:
    """Returns the name of a split, its number of sentences and their checksum."""
    if split == config.train and is_prepared(config.bitext):
        corpus = PreparedCorpus.open(Path(config.bitext))
        return {"split": split, "sentences": corpus.pairs, "sha256": corpus.sha256}
    return describe_sum(split, sum_pairs(bitext[split]))


def describe_sum(split: str, found: PairsSum) -> dict[str, Any]:
    """Returns the fields of a `DataSum`."""
    return {"split": split, "sentences": found.pairs, "sha256": found.sha256}


def _describe_data(evaluator: Evaluator, pairs: Mapping[str, Sequence[SentencePair]]) -> list[dict[str, Any]]:
    """Describes the splits that the run has learnt from, as it recorded them, and those it is tested on.

    Raises AugenmerkError if one is both and was edited in between.
    """
    run, data = evaluator.run, evaluator.run.config.data
    learnt, tested = run.read_data(), {split: sum_pairs(found) for split, found in pairs.items()}
    for split in learnt.keys() & tested.keys():
        if learnt[split] != tested[split]:
            raise AugenmerkError(
                f"{evaluator.bitext.describe(split)} has changed since {run.path} was trained; put the old "
                f"data back, and start the study again."
            )
    known = learnt | tested
    return [
        describe_sum(split, known[split]) if split in known else describe_split(data, evaluator.bitext, split)
        for split in dict.fromkeys((data.train, data.validation, *pairs))
    ]


def _describe_hardware(device: str) -> str:
    processor, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = re.search(r"^model name\s*: *(.+?) *$", cpuinfo.read_text(errors="replace"), re.MULTILINE)
        processor = model[1] if model else processor
    described = describe_device(device)
    return f"{processor}; {described}" if device == CPU else f"{described}; {processor}"


class Vocabulary(NamedTuple):
    """The units in which a run's loss is counted."""

    subwords: bool
    lowercase: bool
    digest: str


@dataclass(frozen=True)
class TranslatedSplit:
    """A run's translations of a split with one beam."""

    row: Mapping[str, Any]  # from scores.json
    counts: Counts
    hypotheses: Sequence[str]
    scores: Sequence[float]  # what the model gives to each hypothesis


@dataclass(frozen=True)
class MeasuredRun:
    """A run that is trained, scored and probed, with all that its study reads of it."""

    planned: PlannedRun
    run: RunDirectory
    result: dict[str, Any]
    metrics: list[dict[str, Any]]
    probes: dict[str, Any]
    rows: dict[tuple[str, int], dict[str, Any]]  # of scores.json, by split and beam
    losses: dict[str, Counts]
    """By split (N, 2): for each sentence the sum over its tokens, and the number of its words."""
    translated: dict[tuple[str, int], TranslatedSplit]  # by split and beam
    vocabulary: Vocabulary

    def get_value(self, measure: str, split: str | None, beam: int) -> Any:
        """Returns a value, or None where there is none; only some measures depend on a split or a beam."""
        if split is None:
            return self.result.get(measure)
        if measure == "alignment_error":
            return self.probes[measure][split]
        if measure == "word_loss":
            return float(ratio_from_counts(self.losses[split].sum(0)))
        return self.rows[split, beam].get(measure)


def read_measured(study: Study, planned: PlannedRun, run: RunDirectory) -> MeasuredRun:
    probes = read_probes(run)
    rows = {(row["split"], row["beam"]): row for row in run.read_scores()}
    losses, translated = {}, {}
    for split in study.splits:
        references = _read_lines(reference_path(run, split))
        words = [len(split_words(line)) + 1 for line in references]  # with the end of the sentence
        losses[split] = np.array([probes["losses"][split]["sums"], words], np.float64).T
        for beam in study.beams:
            hypotheses = _read_lines(hypothesis_path(run, split, beam))
            counts = count_bleu(hypotheses, references)
            scores = [float(line) for line in _read_lines(model_score_path(run, split, beam))]
            row = rows[split, beam]
            is_scored = math.isclose(float(bleu_from_counts(counts.sum(0))), row["bleu"], abs_tol=1e-6)
            if not is_scored or not len(scores) == len(losses[split]) == len(hypotheses):
                raise AugenmerkError(
                    f"{run.path}: the hypotheses for '{split}', beam {beam} are not those that were scored."
                )
            translated[split, beam] = TranslatedSplit(row, counts, hypotheses, scores)
    target = run.tokenizers.target
    tokens = "\n".join(map(target.token, range(target.size)))
    digest = hashlib.sha256(tokens.encode("utf-8", "surrogatepass")).hexdigest()
    return MeasuredRun(
        planned,
        run,
        run.result or {},
        run.read_metrics(),
        probes,
        rows,
        losses,
        translated,
        Vocabulary(target.is_bpe, target.lowercase, digest),
    )


def _read_lines(path: Path) -> list[str]:
    return read_text(path).split("\n")[:-1]
