"""Prepares a large corpus: sentence pairs, once and for all, as ids in shards (see `augenmerk.data.corpus`).

Four steps, each of which a killed process need not repeat:

1. The pairs are read in order. They are copied, some thousands at a time, into chunks, and hashed. Lines that
   hold no pair are left out. The splits that are not trained on are written as text.
2. The vocabulary is learnt from a sample: the pairs with the smallest hashes. So it depends neither on the
   order of the pairs nor on chance.
3. Each chunk becomes a shard, on all cores. Left out are pairs that occurred before, and those with too many
   tokens or with very unequal numbers of them.
4. prepared.json is written, and what is no longer needed removed.

A shard is a function of the chunk and the vocabulary, so its bytes do not depend on the number of workers.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from augenmerk.base.config import DataConfig, TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file, fsync_path, make_folder, remove, write_object
from augenmerk.cluster.blocks import LOCK, BlockJob, MapBlocks, OnProgress, check_request
from augenmerk.data import DATASETS, BadLine, Bitext, SentencePair, dataset_options, open_bitext
from augenmerk.data.corpus import (
    FORMAT,
    PREPARED,
    SHARDS,
    TOO_MANY_TOKENS,
    UNFINISHED,
    VOCABULARY,
    is_prepared,
    read_about,
)
from augenmerk.data.export import export
from augenmerk.data.files import find, is_divided
from augenmerk.text.pairs import LazySplit, hold_out
from augenmerk.text.tokenizer import UNK, TokenizerPair

__all__ = ["Request", "prepare"]

VOCABULARY_SAMPLE = 100_000
MAX_RATIO = 9.0


@dataclass(frozen=True)
class Request:
    """What to prepare."""

    sources: tuple[str, ...]
    """Datasets by name, or folders and files of a person's own; all of them make one corpus."""
    data: DataConfig
    """Languages, names of the splits, bilderbuch's size and seed, and the most tokens of a sentence."""
    text: TextConfig
    """The vocabulary that is learnt."""
    vocabulary_sample: int = VOCABULARY_SAMPLE
    """The number of pairs that it is learnt from."""
    max_ratio: float = MAX_RATIO
    """Pairs are left out if one side has more than this many times the tokens of the other; 0 for none."""

    def settings(self) -> dict[str, Any]:
        """Returns all that decides about the content of the corpus, but for the content of the sources."""
        return {
            "text": self.text.model_dump(),
            "vocabulary_sample": self.vocabulary_sample,
            "max_length": self.data.max_length,
            "max_ratio": self.max_ratio,
            "chunk": CHUNK,
        }


def open_sources(request: Request) -> tuple[Bitext, list[set[BadLine]]]:
    """Opens all sources as one bitext; also returns the sets to which reading them adds bad lines.

    If no source has a split to validate on, some pairs are held out, see `hold_out`.
    """
    data = request.data
    bitexts = [
        open_bitext(
            source,
            **dataset_options(data, source),
            source_language=data.source_language,
            target_language=data.target_language,
            skip_bad=True,
            divide=False,
        )
        for source in request.sources
    ]
    first = bitexts[0]
    parts: dict[str, list[Iterable[SentencePair]]] = {}
    for bitext in bitexts:
        if (bitext.source_language, bitext.target_language) != (first.source_language, first.target_language):
            raise AugenmerkError(
                f"{first.name} is from {first.source_language} to {first.target_language}, but {bitext.name} "
                f"from {bitext.source_language} to {bitext.target_language}; say which languages are meant "
                f"with --source-language and --target-language."
            )
        # One file of any name is for training, unless its name says that it is not.
        undivided = is_divided(bitext.splits)
        for name, pairs in bitext.splits.items():
            parts.setdefault(data.train if undivided else name, []).append(pairs)
    splits: dict[str, Iterable[SentencePair]] = {
        name: LazySplit(partial(_chain, pairs)) for name, pairs in parts.items()
    }
    name = ", ".join(request.sources)
    if splits.keys() == {data.train}:
        held_out = hold_out(splits[data.train], Path(name))
        splits = {data.train: held_out["train"], data.validation: held_out["val"], "test": held_out["test"]}
    joined = Bitext(name, first.source_language, first.target_language, splits)
    return joined, [bitext.skipped for bitext in bitexts]


def _chain(parts: Sequence[Iterable[SentencePair]]) -> Iterator[SentencePair]:
    return chain.from_iterable(parts)


def describe_sources(request: Request) -> list[dict[str, Any]]:
    """Returns what the sources are: the checksums of their files, or what is generated."""
    described: list[dict[str, Any]] = []
    data = request.data
    for source in request.sources:
        named = source in DATASETS
        entry = {"name": source if named else Path(source).name, **dataset_options(data, source)}
        if not named:
            found = find(Path(source), data.source_language, data.target_language)
            entry["files"] = {}
            for path in chain.from_iterable(found.files.values()):
                entry["files"][path.name] = digest_file(path)
        described.append(entry)
    return described


CHUNK = 50_000
"""Pairs that are read for one shard."""

_HASHES = "hashes.bin"

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]


def write_chunks(
    job: BlockJob, bitext: Bitext, skipped: list[set[BadLine]], split: str, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the training pairs into chunks and hashes them; returns the scan of the job."""

    def read() -> Iterator[tuple[bytes, int]]:
        for bad_lines in skipped:  # of the other splits
            bad_lines.clear()
        pairs, total = iter(bitext[split]), 0
        with (job.folder / _HASHES).open("wb") as hashes:
            while chunk := list(islice(pairs, CHUNK)):
                sources, targets = [pair.source for pair in chunk], [pair.target for pair in chunk]
                hashes.write(b"".join(map(_hash_pair, sources, targets)))
                if any("\n" in text for text in chain(sources, targets)):  # which JSON can spell
                    sources, targets = (
                        [text.replace("\n", " ") for text in texts]  # which has the same ids
                        for texts in (sources, targets)
                    )
                total += len(chunk)
                yield "\n".join(chain(sources, targets)).encode("utf-8", "surrogatepass"), len(chunk)
                on_progress("reading", total, None)
        if not total:
            raise AugenmerkError(f"{bitext.name} has no pair in '{split}' to train on.")

    def count_bad_lines() -> dict[str, Any]:
        left_out = Counter(bad.kind for bad_lines in skipped for bad in bad_lines)
        return {"left_out": dict(sorted(left_out.items()))}

    return job.split(read(), count_bad_lines)


def _hash_pair(source: str, target: str) -> bytes:
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=8).digest()


def read_hashes(job: BlockJob) -> Hashes:
    """Returns the hashes of all pairs."""
    return np.fromfile(job.folder / _HASHES, "<u8")


def find_repeated(hashes: Hashes) -> Mask:
    """Marks all pairs that occurred before."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    repeated = np.zeros(len(hashes), bool)
    repeated[order[1:][ranked[1:] == ranked[:-1]]] = True
    return repeated


def choose_sample(hashes: Hashes, repeated: Mask, size: int) -> Mask:
    """Marks the pairs that the vocabulary is learnt from: those with the smallest hashes."""
    sample = ~repeated
    if np.count_nonzero(sample) > size:
        sample &= hashes <= np.partition(hashes[sample], size - 1)[size - 1]
    return sample


def divide_by_chunk(scan: Mapping[str, Any], mask: Mask) -> list[Mask]:
    """Returns the part of a mask that belongs to each chunk."""
    return np.split(mask, np.cumsum([block["size"] for block in scan["blocks"]])[:-1])


def read_sample(job: BlockJob, scan: Mapping[str, Any], sample: Mask) -> Iterator[list[SentencePair]]:
    """Yields the marked pairs of one chunk after another."""
    for number, (block, part) in enumerate(zip(scan["blocks"], divide_by_chunk(scan, sample), strict=True)):
        if part.any():
            sources, targets = read_chunk(job, number, block["sha256"])
            yield [SentencePair(sources[index], targets[index]) for index in np.flatnonzero(part).tolist()]


def read_chunk(job: BlockJob, number: int, sha256: str) -> tuple[list[str], list[str]]:
    """Returns the source and the target sentences of a chunk."""
    lines = job.read(number, sha256).decode("utf-8", "surrogatepass").split("\n")
    return lines[: len(lines) // 2], lines[len(lines) // 2 :]


REPEATED, UNEQUAL = "repeated", "unequal lengths"
"""Why a pair is left out, besides `TOO_MANY_TOKENS` and the kinds of `BadLine`."""


class ShardWriter:
    """Turns chunks into shards, in the process of a worker."""

    def __init__(self, job: BlockJob, vocabulary: Path, max_length: int, max_ratio: float) -> None:
        self._job = job
        self._max_length = max_length
        self._max_ratio = max_ratio
        self._tokenizers = TokenizerPair.load(vocabulary)

    def __call__(self, number: int, sha256: str, repeated: Mask) -> dict[str, Any]:
        """Writes a shard; returns its entry."""
        sources, targets = read_chunk(self._job, number, sha256)
        if repeated.any():
            first = np.flatnonzero(~repeated).tolist()
            sources, targets = [sources[index] for index in first], [targets[index] for index in first]
        source, source_lengths = self._tokenizers.source.encode_flat(sources)
        target, target_lengths = self._tokenizers.target.encode_flat(targets)
        longer = np.maximum(source_lengths, target_lengths)
        shorter = np.minimum(source_lengths, target_lengths)
        too_long = longer > self._max_length
        unequal = ~too_long & (longer > self._max_ratio * shorter) if self._max_ratio else too_long & False
        keep = ~(too_long | unequal)
        source, target = source[np.repeat(keep, source_lengths)], target[np.repeat(keep, target_lengths)]
        content = save(
            {
                "source": source,
                "target": target,
                "source_lengths": source_lengths[keep].astype(np.uint16),
                "target_lengths": target_lengths[keep].astype(np.uint16),
            }
        )
        about = {
            "pairs": int(np.count_nonzero(keep)),
            "source_tokens": len(source),
            "target_tokens": len(target),
            "unknown_source": int(np.count_nonzero(source == UNK)),
            "unknown_target": int(np.count_nonzero(target == UNK)),
            "longest": int(longer[keep].max(initial=0)),
            "left_out": {
                REPEATED: int(np.count_nonzero(repeated)),
                TOO_MANY_TOKENS: int(np.count_nonzero(too_long)),
                UNEQUAL: int(np.count_nonzero(unequal)),
            },
        }
        return self._job.finish(number, [content], about)


_ENTRY = ("name", "pairs", "source_tokens", "target_tokens", "sha256")


def prepare(request: Request, out: Path, *, map_blocks: MapBlocks, on_progress: OnProgress) -> dict[str, Any]:
    """Prepares a corpus in the folder `out`, or resumes that; returns its prepared.json.

    Raises AugenmerkError if the folder holds something else, or a corpus that was prepared differently.
    """
    if request.text.bpe_dropout:
        raise AugenmerkError(
            "text.bpe_dropout splits sentences differently in every epoch, but a prepared corpus keeps their "
            "ids; leave it out, or train on the text itself."
        )
    for source in request.sources:
        if is_prepared(source):
            raise AugenmerkError(f"{source} is a prepared corpus already; give the text that it was made of.")
    bitext, skipped = open_sources(request)
    bitext[request.data.train], bitext[request.data.validation]  # a missing split is reported first
    make_folder(out)
    job = BlockJob(root=out, folder=out / UNFINISHED, results=out / SHARDS, suffix=".safetensors")
    with job.lock(out):
        asked = {"settings": request.settings(), "sources": describe_sources(request)}
        if (out / PREPARED).exists():
            about = read_about(out)
            check_request(out, about, asked)
            return about
        others = sorted({path.name for path in out.iterdir()} - {LOCK})
        if others and UNFINISHED not in others:
            raise AugenmerkError(f"{out} holds something else already ({others[0]}); choose another --out.")
        job.begin(asked)
        scan = write_chunks(job, bitext, skipped, request.data.train, on_progress)
        _export_text(bitext, request.data, out)
        if describe_sources(request) != asked["sources"]:
            raise AugenmerkError(
                f"{bitext.name} changed while it was read; remove {out} and run the same command again."
            )
        hashes = read_hashes(job)
        repeated = find_repeated(hashes)
        sample = choose_sample(hashes, repeated, request.vocabulary_sample)
        _learn_vocabulary(request.text, job, scan, sample, on_progress)
        shards = job.compute(
            scan,
            [
                (block["sha256"], part)
                for block, part in zip(scan["blocks"], divide_by_chunk(scan, repeated), strict=True)
            ],
            partial(ShardWriter, job, out / VOCABULARY, request.data.max_length, request.max_ratio),
            map_blocks,
            lambda done: on_progress("tokenising", done, scan["size"]),
        )
        about = _summarise(asked, bitext, scan, shards, out)
        write_object(out / PREPARED, about, indent=1)
        job.remove()
        return about


def _export_text(bitext: Bitext, data: DataConfig, out: Path) -> None:
    """Writes the splits that are not trained on, with their links and tags, if they have any."""
    others = {name: pairs for name, pairs in bitext.splits.items() if name != data.train}
    if not all((out / f"{name}.jsonl").exists() for name in others):
        languages = bitext.source_language, bitext.target_language
        export(others, out, *languages, format="jsonl", overwrite=True)


def _learn_vocabulary(
    config: TextConfig, job: BlockJob, scan: Mapping[str, Any], sample: Mask, on_progress: OnProgress
) -> None:
    if (job.root / VOCABULARY).is_dir():
        return
    size = int(sample.sum())

    def read() -> Iterator[SentencePair]:
        done = 0
        for pairs in read_sample(job, scan, sample):
            yield from pairs
            done += len(pairs)
            on_progress("learning the vocabulary", done, size)

    tokenizers = TokenizerPair.train(LazySplit(read), config)
    temporary = job.folder / VOCABULARY
    remove(temporary)
    temporary.mkdir()
    tokenizers.save(temporary)
    for path in temporary.iterdir():
        fsync_path(path)
    temporary.rename(job.root / VOCABULARY)


def _summarise(
    asked: dict[str, Any], bitext: Bitext, scan: Mapping[str, Any], shards: list[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """Returns the content of prepared.json; raises AugenmerkError if no pair is left."""
    left_out = Counter[str](scan["left_out"])
    for shard in shards:
        left_out.update(shard["left_out"])
    totals = ("pairs", "source_tokens", "target_tokens", "unknown_source", "unknown_target")
    about = {
        "format": FORMAT,
        "source_language": bitext.source_language,
        "target_language": bitext.target_language,
        **{name: sum(shard[name] for shard in shards) for name in totals},
        "longest": max(shard["longest"] for shard in shards),
        "pairs_read": scan["size"],
        "left_out": {kind: count for kind, count in sorted(left_out.items()) if count},
        **asked,
        "vocabulary": {path.name: digest_file(path) for path in sorted((out / VOCABULARY).iterdir())},
        "held_out": {path.stem: digest_file(path) for path in sorted(out.glob("*.jsonl"))},
        "shards": [{name: shard[name] for name in _ENTRY} for shard in shards],
    }
    if not about["pairs"]:
        raise AugenmerkError(
            f"{bitext.name}: nothing is left to train on: of {scan['size']:,} pairs, "
            f"{left_out[TOO_MANY_TOKENS]:,} have more than {asked['settings']['max_length']} tokens on a "
            f"side, and {left_out[UNEQUAL]:,} have very unequal lengths; remove {out} and allow more."
        )
    return about
