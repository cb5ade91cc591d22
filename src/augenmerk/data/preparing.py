"""Prepares a large corpus: turns sentence pairs into ids in shards, once (see `augenmerk.data.corpus`).

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
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from augenmerk.base.config import DataConfig, RunConfig, TextConfig, load_config
from augenmerk.base.entries import Option
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file, fsync_path, make_folder, remove, write_object
from augenmerk.base.settings import format_value
from augenmerk.cluster.blocks import LOCK, BlockJob, MapBlocks, OnProgress, check_request
from augenmerk.data import (
    DATASETS,
    PREPARED,
    UNFINISHED,
    check_options,
    dataset_options,
    hold_out,
    is_prepared,
    open_bitext,
)
from augenmerk.data.corpus import FORMAT, SHARDS, TOO_MANY_TOKENS, VOCABULARY, check_dropout, read_about
from augenmerk.data.exporting import write_splits
from augenmerk.data.files import find, is_divided
from augenmerk.text.pairs import BadLine, Bitext, LazySplit, SentencePair
from augenmerk.text.tokenizer import UNK, TokenizerPair

CHUNK = 50_000
"""Pairs that are read for one shard."""
REPEATED, UNEQUAL = "repeated", "unequal lengths"
"""Why a pair is left out, besides `TOO_MANY_TOKENS` and the kinds of `BadLine`."""
_HASHES = "hashes.bin"

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Request:
    """What to prepare."""

    sources: tuple[str, ...]
    """Names of datasets, or your own folders and files; all of them make one corpus."""
    data: DataConfig
    """Languages, names of the splits, bilderbuch's size and seed, and the most tokens of a sentence."""
    text: TextConfig
    """The vocabulary that is learnt."""
    vocabulary_sample: int = 100_000
    """The number of pairs that it is learnt from."""
    max_ratio: float = 9.0
    """Pairs are left out if one side has more than this many times the tokens of the other; 0 for none."""

    def settings(self) -> dict[str, Any]:
        """Returns all that decides about the content of the corpus, except for the content of the sources."""
        return {
            "text": self.text.model_dump(),
            "vocabulary_sample": self.vocabulary_sample,
            "max_length": self.data.max_length,
            "max_ratio": self.max_ratio,
            "chunk": CHUNK,
        }

    def describe_sources(self) -> list[dict[str, Any]]:
        """Returns what the sources are: the checksums of their files, or what is generated."""
        described: list[dict[str, Any]] = []
        for source in self.sources:
            if source in DATASETS:
                described.append({"name": source, **dataset_options(self.data, source)})
                continue
            found = find(Path(source), self.data.source_language, self.data.target_language)
            files = (path for split in found.readers for path in found.list_files(split))
            digests = {path.name: digest_file(path) for path in files}
            described.append({"name": Path(source).name, "files": digests})
        return described


def make_request(
    sources: Sequence[str],
    preset: str | None,
    settings: Iterable[str],
    *,
    source_language: str | None,
    target_language: str | None,
    max_length: int | None,
    options: Mapping[Option, int],
    vocabulary_sample: int,
    max_ratio: float,
) -> Request:
    """Returns what to prepare: the settings of a preset or file, if one is named, with these changes.

    `settings` are such as text.vocabulary_size=16000; `options` are those of the datasets among the sources.
    Raises AugenmerkError if no source takes an option, or if a setting is not used here.
    """
    if not math.isfinite(max_ratio) or (max_ratio < 1 and max_ratio):
        raise AugenmerkError(f"--max-ratio {max_ratio:g} is impossible: it is 1 or more, or 0 for no limit.")
    settings = list(settings)
    for setting in settings:
        if setting.partition(".")[0].strip() not in ("text", "data"):
            raise AugenmerkError(f"--set {setting}: only settings of [text] and [data] are used here.")
    named = {
        "data.bitext": format_value(sources[0]),
        "data.source_language": source_language,
        "data.target_language": target_language,
        "data.max_length": max_length,
    }
    for option, value in options.items():
        taking = [name for name in sources if name in DATASETS and option in DATASETS[name].options]
        if not taking:
            check_options(sources[0], [option])
        named |= {f"data.{name}.{option}": value for name in taking}
    settings += [f"{key}={value}" for key, value in named.items() if value is not None]
    config = load_config(preset, settings) if preset else RunConfig.from_toml("", "--set", settings)
    return Request(tuple(sources), config.data, config.text, vocabulary_sample, max_ratio)


def prepare_corpus(
    request: Request, out: Path, *, map_blocks: MapBlocks, on_progress: OnProgress
) -> dict[str, Any]:
    """Prepares a corpus in the folder `out`, or resumes that; returns its prepared.json.

    Raises AugenmerkError if the folder holds something else, or a corpus that was prepared differently.
    """
    check_dropout(request.text)
    for source in request.sources:
        if is_prepared(source):
            raise AugenmerkError(f"{source} is a prepared corpus already; give the text that it was made of.")
    bitext, skipped = _open_sources(request)
    bitext[request.data.train], bitext[request.data.validation]  # a missing split is reported first
    make_folder(out)
    job = BlockJob(root=out, folder=out / UNFINISHED, results=out / SHARDS, suffix=".safetensors")
    with job.lock(out):
        asked = {"settings": request.settings(), "sources": request.describe_sources()}
        if (out / PREPARED).exists():
            about = read_about(out)
            check_request(out, about, asked)
            return about
        others = sorted({path.name for path in out.iterdir()} - {LOCK})
        if others and UNFINISHED not in others:
            raise AugenmerkError(f"{out} holds something else already ({others[0]}); choose another --out.")
        job.begin(asked)
        scan = _write_chunks(job, bitext, skipped, request.data.train, on_progress)
        others = [name for name in bitext.splits if name != request.data.train]
        if not all((out / f"{name}.jsonl").exists() for name in others):
            write_splits(
                {name: bitext[name] for name in others},
                out,
                bitext.source_language,
                bitext.target_language,
                format="jsonl",
                overwrite=True,
            )
        if request.describe_sources() != asked["sources"]:
            raise AugenmerkError(
                f"{bitext.name} changed while it was read; remove {out} and run the same command again."
            )
        hashes = np.fromfile(job.folder / _HASHES, "<u8")
        repeated = np.ones(len(hashes), bool)
        repeated[np.unique(hashes, return_index=True)[1]] = False
        _learn_vocabulary(job, scan, request, _choose_sample(hashes, repeated, request), on_progress)
        digests = (block["sha256"] for block in scan["blocks"])
        shards = job.compute(
            scan,
            list(zip(digests, _divide(repeated, scan), strict=True)),
            partial(_start_writing, job, request),
            map_blocks,
            lambda done: on_progress("tokenising", done, scan["size"]),
        )
        about = _summarise(asked, bitext, scan, shards, out)
        write_object(out / PREPARED, about, indent=1)
        job.remove()
        return about


def _open_sources(request: Request) -> tuple[Bitext, list[set[BadLine]]]:
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
                f"from {bitext.source_language} to {bitext.target_language}; choose the languages with "
                f"--source-language and --target-language."
            )
        # A single file of any name is for training, unless it is named like a test set.
        undivided = is_divided(bitext.splits)
        for name, pairs in bitext.splits.items():
            parts.setdefault(data.train if undivided else name, []).append(pairs)
    splits: dict[str, Iterable[SentencePair]] = {
        name: LazySplit(partial(chain.from_iterable, pairs)) for name, pairs in parts.items()
    }
    name = ", ".join(request.sources)
    if splits.keys() == {data.train}:
        held_out = hold_out(splits[data.train], Path(name))
        splits = {data.train: held_out["train"], data.validation: held_out["val"], "test": held_out["test"]}
    joined = Bitext(name, first.source_language, first.target_language, splits)
    return joined, [bitext.skipped for bitext in bitexts]


# Step 1: chunks, the blocks of the job


def _write_chunks(
    job: BlockJob, bitext: Bitext, skipped: list[set[BadLine]], split: str, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the training pairs into chunks and hashes them; returns the scan of the job."""

    def read() -> Iterator[tuple[bytes, int]]:
        for bad_lines in skipped:  # of the other splits
            bad_lines.clear()
        pairs, total = iter(bitext[split]), 0
        with (job.folder / _HASHES).open("wb") as hashes:
            while chunk := list(islice(pairs, CHUNK)):
                for pair in chunk:
                    text = f"{pair.source}\n{pair.target}".encode("utf-8", "surrogatepass")
                    hashes.write(hashlib.blake2b(text, digest_size=8).digest())
                # A line break, which JSON can spell, has the same ids as a space.
                texts = (
                    text.replace("\n", " ")
                    for text in chain((pair.source for pair in chunk), (pair.target for pair in chunk))
                )
                total += len(chunk)
                yield "\n".join(texts).encode("utf-8", "surrogatepass"), len(chunk)
                on_progress("reading", total, None)
        if not total:
            raise AugenmerkError(f"{bitext.name} has no pair in '{split}' to train on.")

    def count_bad_lines() -> dict[str, Any]:
        left_out = Counter(bad.kind for bad_lines in skipped for bad in bad_lines)
        return {"left_out": dict(sorted(left_out.items()))}

    return job.split(read(), count_bad_lines)


def _read_chunk(job: BlockJob, number: int, sha256: str, chosen: Mask) -> tuple[list[str], list[str]]:
    """Returns the source and the target sentences of the chosen pairs of a chunk."""
    lines = job.read(number, sha256).decode("utf-8", "surrogatepass").split("\n")
    half, indices = len(lines) // 2, np.flatnonzero(chosen).tolist()
    return [lines[index] for index in indices], [lines[half + index] for index in indices]


def _divide(mask: Mask, scan: Mapping[str, Any]) -> list[Mask]:
    """Returns the part of a mask that belongs to each chunk."""
    return np.split(mask, np.cumsum([block["size"] for block in scan["blocks"]])[:-1])


# Step 2: the vocabulary


def _choose_sample(hashes: Hashes, repeated: Mask, request: Request) -> Mask:
    """Returns which pairs the vocabulary is learnt from: those with the smallest hashes."""
    sample, size = ~repeated, request.vocabulary_sample
    if np.count_nonzero(sample) > size:
        sample &= hashes <= np.partition(hashes[sample], size - 1)[size - 1]
    return sample


def _learn_vocabulary(
    job: BlockJob, scan: Mapping[str, Any], request: Request, sample: Mask, on_progress: OnProgress
) -> None:
    if (job.root / VOCABULARY).is_dir():
        return
    size = int(sample.sum())

    def read() -> Iterator[SentencePair]:
        done = 0
        for number, (block, part) in enumerate(zip(scan["blocks"], _divide(sample, scan), strict=True)):
            if part.any():
                yield from map(SentencePair, *_read_chunk(job, number, block["sha256"], part))
                done += int(part.sum())
                on_progress("learning the vocabulary", done, size)

    tokenizers = TokenizerPair.train(LazySplit(read), request.text)
    temporary = job.folder / VOCABULARY
    remove(temporary)
    temporary.mkdir()
    tokenizers.save(temporary)
    for path in temporary.iterdir():
        fsync_path(path)
    temporary.rename(job.root / VOCABULARY)


# Step 3: shards


def _start_writing(job: BlockJob, request: Request) -> Callable[..., dict[str, Any]]:
    """Returns a function that writes shards, in the process of a worker."""
    return partial(_write_shard, job, request, TokenizerPair.load(job.root / VOCABULARY))


def _write_shard(
    job: BlockJob, request: Request, tokenizers: TokenizerPair, number: int, sha256: str, repeated: Mask
) -> dict[str, Any]:
    """Turns a chunk into a shard; returns its entry."""
    sources, targets = _read_chunk(job, number, sha256, ~repeated)
    source, source_lengths = tokenizers.source.encode_flat(sources)
    target, target_lengths = tokenizers.target.encode_flat(targets)
    longer = np.maximum(source_lengths, target_lengths)
    shorter = np.minimum(source_lengths, target_lengths)
    too_long = longer > request.data.max_length
    unequal = ~too_long & (longer > request.max_ratio * shorter) & bool(request.max_ratio)
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
    left_out = {REPEATED: repeated, TOO_MANY_TOKENS: too_long, UNEQUAL: unequal}
    about = {
        "pairs": int(np.count_nonzero(keep)),
        "source_tokens": len(source),
        "target_tokens": len(target),
        "unknown_source": int(np.count_nonzero(source == UNK)),
        "unknown_target": int(np.count_nonzero(target == UNK)),
        "longest": int(longer[keep].max(initial=0)),
        "left_out": {kind: int(np.count_nonzero(mask)) for kind, mask in left_out.items()},
    }
    return job.finish(number, [content], about)


# Step 4: prepared.json


def _summarise(
    asked: dict[str, Any], bitext: Bitext, scan: Mapping[str, Any], shards: list[dict[str, Any]], out: Path
) -> dict[str, Any]:
    """Returns the content of prepared.json; raises AugenmerkError if no pair is left."""
    left_out = Counter[str](scan["left_out"])
    for shard in shards:
        left_out.update(shard["left_out"])
    totals = ("pairs", "source_tokens", "target_tokens", "unknown_source", "unknown_target")
    entry = ("name", "pairs", "source_tokens", "target_tokens", "sha256")
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
        "shards": [{name: shard[name] for name in entry} for shard in shards],
    }
    if not about["pairs"]:
        raise AugenmerkError(
            f"{bitext.name}: nothing is left to train on: of {scan['size']:,} pairs, "
            f"{left_out[TOO_MANY_TOKENS]:,} have more than {asked['settings']['max_length']} tokens on a "
            f"side, and {left_out[UNEQUAL]:,} have very unequal lengths; remove {out} and allow more."
        )
    return about
