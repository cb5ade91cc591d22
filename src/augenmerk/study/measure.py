"""Measures a trained run of a study: scores for each split and beam, and probes (`probes.json`).

The probes are what a report shows besides scores: the loss of each sentence, the alignment error, the
attention for some sentences, whether padding changes translations, and the data, software and hardware.
"""

import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augenmerk import __version__
from augenmerk.base.config import DataConfig
from augenmerk.base.device import CPU, describe_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, explain_read_errors, parse_object, read_text
from augenmerk.data import Bitext, SentencePair, is_prepared
from augenmerk.data.corpus import PreparedCorpus
from augenmerk.evaluation.agreement import ChosenAttention, choose_attention, measure_alignment
from augenmerk.evaluation.evaluator import Evaluator, hypothesis_path, model_score_path, reference_path
from augenmerk.run.directory import RunDirectory
from augenmerk.study.plan import Study
from augenmerk.study.worker import Job
from augenmerk.text.pairs import PairsSum, sum_pairs
from augenmerk.text.words import split_words
from augenmerk.translation import Translator

if TYPE_CHECKING:
    import torch

PROBES = "probes.json"
PADDED = 32  # sentences that the padding check translates
EXAMPLES = 3
SOFTWARE = ("torch", "numpy", "sacrebleu", "tokenizers", "scipy")

OnProgress = Callable[[str, float], None]  # is called with the phase and the fraction of it that is done


def is_complete(run: RunDirectory, wanted: Study | Job) -> bool:
    """Returns whether the run is trained, scored and probed."""
    asked = product(wanted.splits, wanted.beams)
    return run.finished and all(_is_scored(run, *each) for each in asked) and _is_probed(run, wanted)


def _is_scored(run: RunDirectory, split: str, beam: int, data_sha256: str | None = None) -> bool:
    """Returns whether a split is scored, and by its checksum, if one is given, is still the same."""
    rows = [row for row in run.read_scores() if (row.get("split"), row.get("beam")) == (split, beam)]
    files = reference_path(run, split), hypothesis_path(run, split, beam), model_score_path(run, split, beam)
    if not rows or (data_sha256 and rows[0].get("data_sha256") != data_sha256):
        return False
    return "model_score" in rows[0] and all(path.exists() for path in files)


def _is_probed(run: RunDirectory, wanted: Study | Job) -> bool:
    probes = read_probes(run)
    return probes is not None and probes.get("asked") == _asked(wanted)


def _asked(wanted: Study | Job) -> dict[str, Any]:
    """Returns what the probes depend on besides the run. The version says which probes there are."""
    return {"version": 3, "splits": list(wanted.splits), "sentences": list(wanted.sentences)}


def read_probes(run: RunDirectory) -> dict[str, Any] | None:
    path = run.path / PROBES
    if not path.exists():
        return None
    with explain_read_errors(path):
        return parse_object(read_text(path))


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
            if missing := [beam for beam in job.beams if not _is_scored(run, split, beam, sha256)]:
                evaluator.evaluate({split: pairs[split]}, missing)
        if not _is_probed(run, job):
            on_progress("probing", 0.0)
            _probe(evaluator, pairs, job)


def _probe(evaluator: Evaluator, pairs: Mapping[str, Sequence[SentencePair]], job: Job) -> None:
    """Writes probes.json."""
    run, translator = evaluator.run, evaluator.translator
    first = pairs[job.splits[0]]
    examples: list[tuple[str, str | None]] = [(text, None) for text in job.sentences]
    if not examples:  # the first few pairs of medium length, whose diagrams can be read
        medium = (pair for pair in first if 7 <= len(split_words(pair.source)) <= 13)
        examples = [(pair.source, pair.target) for pair in islice(medium, EXAMPLES)]
    # Choosing a head takes time, and is needed only where there are gold links to compare it with.
    gold = any(_has_gold_links(pairs[split]) for split in pairs)
    attention, chosen = choose_attention(translator) if gold else None, {}
    if attention is not None:
        chosen = {"alignment_attention": attention.name, "alignment_chosen_on": attention.chosen_on}
    losses = {split: evaluator.sentence_losses(split, pairs[split]) for split in pairs}
    probes = {
        "asked": _asked(job),
        "alignment_error": {split: _alignment_error(translator, pairs[split], attention) for split in pairs},
        **chosen,
        "losses": {
            split: {"sums": [round(each, 6) for each in sums.tolist()], "tokens": tokens.tolist()}
            for split, (sums, tokens) in losses.items()
        },
        "examples": [{**_attention(translator, text), "reference": target} for text, target in examples],
        "source_lengths": [len(split_words(pair.source)) for pair in first],
        "padding": _check_padding(translator, [pair.source for pair in first]),
        "data": _describe_data(evaluator, pairs),
        "software": {
            "python": platform.python_version(),
            "augenmerk": __version__,  # from the code itself, which may run without being installed
            **{name: version(name) for name in SOFTWARE},
        },
        "hardware": _describe_hardware(translator.device),
    }
    text = json.dumps(probes, ensure_ascii=False, allow_nan=False)
    atomic_write(run.path / PROBES, [text.encode("utf-8", "backslashreplace"), b"\n"])


def _has_gold_links(pairs: Sequence[SentencePair]) -> bool:
    return all(pair.alignment is not None for pair in pairs)


def _alignment_error(
    translator: Translator, pairs: Sequence[SentencePair], attention: ChosenAttention | None
) -> float | None:
    """Returns None where there are no gold links, or the mechanism links nothing."""
    if not _has_gold_links(pairs):
        return None
    score = measure_alignment(translator, pairs, attention)
    return score.error if score.proposed else None


def _attention(translator: Translator, text: str) -> dict[str, Any]:
    """Returns the greedy translation with its attention."""
    translation = translator.translate(text, beam=1, split_sentences=False).to_dict()
    keys = ("source", "translation", "source_words", "target_words", "attention")
    return {key: translation[key] for key in keys}


def _check_padding(translator: Translator, sources: Sequence[str]) -> dict[str, Any]:
    """Translates some sentences, from the shortest to the longest, alone and in a batch, and compares."""
    ordered = sorted(sources, key=len)
    count = min(PADDED, len(ordered))
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
    return _describe_sum(split, sum_pairs(bitext[split]))


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
        _describe_sum(split, known[split])
        if split in known
        else describe_split(data, evaluator.bitext, split)
        for split in dict.fromkeys((data.train, data.validation, *pairs))
    ]


def _describe_sum(split: str, found: PairsSum) -> dict[str, Any]:
    return {"split": split, "sentences": found.pairs, "sha256": found.sha256}


def _describe_hardware(device: str) -> str:
    processor, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = re.search(r"^model name\s*: *(.+?) *$", cpuinfo.read_text(errors="replace"), re.MULTILINE)
        processor = model[1] if model else processor
    described = describe_device(device)
    return f"{processor}; {described}" if device == CPU else f"{described}; {processor}"
