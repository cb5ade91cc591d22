"""What is measured of a trained run: scores for each split and beam, and probes (`probes.json`).

The probes are what a report shows beside scores: alignment error, the attention for some sentences, whether
padding leaks, and on what the run was made.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from augenmerk import __version__
from augenmerk.agreement import measure_alignment
from augenmerk.batching import encode_pairs
from augenmerk.bitext import SentencePair, open_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import DataConfig
from augenmerk.device import describe_device
from augenmerk.errors import AugenmerkError
from augenmerk.evaluate import (
    Evaluator,
    hypothesis_path,
    model_score_path,
    reference_path,
    sentence_losses,
)
from augenmerk.storage import atomic_write, explain_read_errors, parse_object, read_text
from augenmerk.study.plan import PlannedRun, Study
from augenmerk.translate import Translator, load, load_model
from augenmerk.words import split_words

PROBES = "probes.json"
PADDED = 32
"""Sentences that the padding check translates."""
EXAMPLES = 3
SOFTWARE = ("torch", "numpy", "sacrebleu", "tokenizers", "scipy")


def is_done(study: Study, out: Path, planned: PlannedRun) -> bool:
    """Trained, measured and probed."""
    place = out / planned.place
    if not (place / "config.toml").exists():
        return False
    run = RunDirectory.open(place)
    return (
        run.finished
        and all(is_measured(run, split, beam) for split in study.splits for beam in study.beams)
        and is_probed(run, study.splits, study.sentences)
    )


def is_measured(run: RunDirectory, split: str, beam: int) -> bool:
    """Whether the row is there with all it was made from."""
    row = next(
        (row for row in run.read_scores() if (row.get("split"), row.get("beam")) == (split, beam)), None
    )
    files = (hypothesis_path, model_score_path)
    return (
        row is not None
        and "model_score" in row
        and reference_path(run, split).exists()
        and all(path(run, split, beam).exists() for path in files)
    )


def measure(
    run: RunDirectory,
    splits: Sequence[str],
    beams: Sequence[int],
    device: torch.device,
    tell: Callable[[str, float], None],
) -> None:
    """Translates and scores what is not yet in the run's scores.json."""
    missing = {split: [beam for beam in beams if not is_measured(run, split, beam)] for split in splits}
    if not any(missing.values()):
        return
    evaluator = Evaluator(
        run, device, on_progress=lambda what, done, total: tell(what.rpartition(": ")[2], done / total)
    )
    for split, pairs in evaluator.read([split for split in missing if missing[split]]).items():
        evaluator.evaluate({split: pairs}, missing[split])


def is_probed(run: RunDirectory, splits: Sequence[str], sentences: Sequence[str]) -> bool:
    """Whether the probes that are there are those that are asked for."""
    found = read_probes(run)
    return found is not None and found.get("asked") == asked(splits, sentences)


def asked(splits: Sequence[str], sentences: Sequence[str]) -> dict[str, Any]:
    """What the probes depend on besides the run; the version says what is probed."""
    return {"version": 2, "splits": list(splits), "sentences": list(sentences)}


def read_probes(run: RunDirectory) -> dict[str, Any] | None:
    path = run.path / PROBES
    if not path.exists():
        return None
    with explain_read_errors(path):
        return parse_object(read_text(path))


def probe(run: RunDirectory, splits: Sequence[str], sentences: Sequence[str], device: torch.device) -> None:
    """Writes probes.json, unless it is there."""
    if is_probed(run, splits, sentences):
        return
    bitext = open_data(run.config.data)
    pairs = {split: list(bitext[split]) for split in splits}
    first = pairs[splits[0]]
    examples: list[tuple[str, str | None]] = [(text, None) for text in sentences]
    examples = examples or [(pair.source, pair.target) for pair in chosen(first)]
    found = {
        "asked": asked(splits, sentences),
        "alignment_error": {split: alignment_error(run, pairs[split], device) for split in splits},
        "losses": {split: losses(run, pairs[split], device) for split in splits},
        "examples": [{**attention(run, text, device), "reference": target} for text, target in examples],
        "source_lengths": [len(split_words(pair.source)) for pair in first],
        "padding": padding(run, [pair.source for pair in first], device),
        "data": [
            {"split": split, **summed(bitext[split])}
            for split in dict.fromkeys((run.config.data.train, run.config.data.validation, *splits))
        ],
        "software": {
            "python": platform.python_version(),
            "augenmerk": __version__,  # asked of the code itself: it may run without being installed
            **{name: version(name) for name in SOFTWARE},
        },
        "hardware": hardware(device),
    }
    text = json.dumps(found, ensure_ascii=False, allow_nan=False)
    atomic_write(run.path / PROBES, [text.encode("utf-8", "backslashreplace"), b"\n"])


def chosen(pairs: Iterable[SentencePair]) -> list[SentencePair]:
    """The first few that are neither short nor long: a diagram of them can be read."""
    return list(islice((pair for pair in pairs if 7 <= len(split_words(pair.source)) <= 13), EXAMPLES))


def alignment_error(run: RunDirectory, pairs: Sequence[SentencePair], device: torch.device) -> float | None:
    """None where there are no gold links, or the mechanism links nothing."""
    if any(pair.alignment is None for pair in pairs):
        return None
    score = measure_alignment(load(run.path, device), pairs)
    return score.error if score.proposed else None


def losses(run: RunDirectory, pairs: Sequence[SentencePair], device: torch.device) -> dict[str, list[Any]]:
    """The terms of the loss (see `augenmerk.evaluate`), sentence by sentence."""
    tokenizers = run.tokenizers
    data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids).to(device)
    sums, tokens = sentence_losses([load_model(run, device)], data)
    return {"sums": [round(each, 6) for each in sums.tolist()], "tokens": tokens.tolist()}


def attention(run: RunDirectory, text: str, device: torch.device) -> dict[str, Any]:
    """Of the greedy translation."""
    translation = load(run.path, device).translate(text, beam=1).to_dict()
    return {
        key: translation[key]
        for key in ("source", "translation", "source_words", "target_words", "attention")
    }


def padding(run: RunDirectory, sources: Sequence[str], device: torch.device) -> dict[str, Any]:
    """Translates some sentences, from the shortest to the longest, alone and in one batch."""
    translator = Translator.from_runs([run], device)
    ids = sorted(run.tokenizers.source.encode_ids(list(sources)), key=len)
    ids = [ids[number * (len(ids) - 1) // max(1, PADDED - 1)] for number in range(min(PADDED, len(ids)))]
    settings = translator.search_settings(beam=1)
    together = translator.decode(ids, settings, batch_size=len(ids))
    alone = [translator.decode([each], settings)[0] for each in ids]
    pairs = [(a[0], b[0]) for a, b in zip(alone, together, strict=True)]
    return {
        "sentences": len(ids),
        "different_texts": sum(a.ids != b.ids for a, b in pairs),
        "largest_difference": max(abs(a.log_probability - b.log_probability) for a, b in pairs),
    }


def summed(pairs: Iterable[SentencePair]) -> dict[str, Any]:
    """How many pairs there are, and a checksum of all of them."""
    digest, count = hashlib.sha256(), 0
    for pair in pairs:
        digest.update(f"{pair.source}\t{pair.target}\n".encode("utf-8", "surrogatepass"))
        count += 1
    return {"sentences": count, "sha256": digest.hexdigest()}


def hardware(device: torch.device) -> str:
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return (
        f"{describe_device(device)}; {processor}"
        if device.type != "cpu"
        else f"{processor}; {describe_device(device)}"
    )


def refuse_absent_splits(config: DataConfig, splits: Sequence[str]) -> None:
    """Better said before hours of training than after."""
    bitext = open_data(config)
    for split in (config.train, config.validation, *splits):
        if not any(True for _ in islice(bitext[split], 1)):
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{split}'.")
