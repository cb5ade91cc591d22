"""Prepares a large corpus: sentence pairs, once and for all, as ids in shards (see `augenmerk.corpus`).

Four steps, each of which a killed process need not repeat:

1. The pairs are read in order. They are copied, some thousands at a time, into chunks, and hashed. Lines that
   hold no pair are left out.
2. The vocabulary is learnt from a sample: the pairs with the smallest hashes. So it depends neither on the
   order of the pairs nor on chance.
3. Each chunk becomes a shard, on all cores. Left out are pairs that occurred before, and those with too many
   tokens or with very unequal numbers of them.
4. prepared.json is written, and what is no longer needed removed.

A shard is a function of the chunk and the vocabulary, so its bytes do not depend on the number of workers.
"""

import hashlib
import json
import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from safetensors.numpy import save

from augenmerk.bitext import NAMES, BadLine, Bitext, SentencePair, open_bitext
from augenmerk.bitext.export import export
from augenmerk.bitext.files import find, is_divided
from augenmerk.bitext.pairs import LazySplit, hold_out
from augenmerk.bitext.prepared import (
    FORMAT,
    PREPARED,
    SHARDS,
    TOO_MANY_TOKENS,
    UNFINISHED,
    VOCABULARY,
    is_prepared,
    read_about,
)
from augenmerk.config import DataConfig, TextConfig
from augenmerk.errors import AugenmerkError
from augenmerk.storage import (
    atomic_write,
    error_reason,
    explain_read_errors,
    fsync_path,
    make_folder,
    parse_object,
    read_bytes,
    read_text,
)
from augenmerk.text import UNK, TokenizerPair

CHUNK = 50_000
"""Pairs that are read for one shard."""
VOCABULARY_SAMPLE = 100_000
MAX_RATIO = 9.0
REPEATED, UNEQUAL = "repeated", "unequal lengths"
"""Why a pair is left out, besides `TOO_MANY_TOKENS` and the kinds of `BadLine`."""

_REQUEST, _SCAN, _HASHES, _CHUNKS, _LOCK = "request.json", "scan.json", "hashes.bin", "chunks", ".lock"
_ENTRY = ("name", "pairs", "source_tokens", "target_tokens", "sha256")

Hashes = NDArray[np.uint64]

OnProgress = Callable[[str, int, int | None], None]
"""Is called with what is done, how many pairs it was done for, and how many there are if that is known."""


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


def prepare(request: Request, out: Path, *, workers: int, on_progress: OnProgress) -> dict[str, Any]:
    """Prepares a corpus in the folder `out`, or goes on where it was left; returns its prepared.json.

    Raises AugenmerkError if the folder holds something else, or a corpus that was prepared differently.
    """
    if request.text.bpe_dropout:
        raise AugenmerkError(
            "text.bpe_dropout splits sentences anew in every epoch, but a prepared corpus keeps their ids; "
            "leave it out, or train on the text itself."
        )
    for source in request.sources:
        if is_prepared(source):
            raise AugenmerkError(f"{source} is a prepared corpus already; give the text that it was made of.")
    bitext, skipped = _open_sources(request)
    bitext[request.data.train], bitext[request.data.validation]  # a missing split is reported first
    make_folder(out)
    try:
        with FileLock(out / _LOCK, timeout=0.5):
            asked = {"settings": request.settings(), "sources": _describe_sources(request)}
            if not _begin(out, asked):
                return read_about(out)
            _export_text(bitext, request.data, out)
            scan = _scan(bitext, skipped, request.data.train, out, on_progress)
            hashes = np.fromfile(out / UNFINISHED / _HASHES, "<u8")
            repeated = _find_repeated(hashes)
            _learn_vocabulary(request, out, scan, _choose_sample(hashes, repeated, request), on_progress)
            shards = _write_shards(request, out, scan, repeated, workers, on_progress)
            about = _summarise(asked, bitext, scan, shards, out)
            atomic_write(out / PREPARED, [_to_json(about, indent=1)])
            shutil.rmtree(out / UNFINISHED, ignore_errors=True)
            return about
    except Timeout:
        raise AugenmerkError(f"{out} is being prepared by another process; wait for it or stop it.") from None
    except OSError as error:
        raise AugenmerkError(
            f"{out}: cannot be prepared there ({error_reason(error)}); what is finished is kept."
        ) from None


def _open_sources(request: Request) -> tuple[Bitext, list[set[BadLine]]]:
    """Opens all sources as one bitext; also returns the sets to which reading them adds bad lines.

    If no source has a split to validate on, some pairs are held out, see `hold_out`.
    """
    data = request.data
    bitexts = [
        open_bitext(
            source,
            pairs=data.bilderbuch.pairs,
            seed=data.bilderbuch.seed,
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


def _describe_sources(request: Request) -> list[dict[str, Any]]:
    """Returns what the sources are: the checksums of their files, or what is generated."""
    described: list[dict[str, Any]] = []
    data = request.data
    for source in request.sources:
        entry: dict[str, Any] = {"name": source if source in NAMES else Path(source).name}
        if source == "bilderbuch":
            entry |= data.bilderbuch.model_dump()
        elif source not in NAMES:
            found = find(Path(source), data.source_language, data.target_language)
            entry["files"] = {}
            for path in chain.from_iterable(found.files.values()):
                with explain_read_errors(path), path.open("rb") as file:
                    entry["files"][path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        described.append(entry)
    return described


def _begin(out: Path, asked: dict[str, Any]) -> bool:
    """Returns whether there is anything to do; raises AugenmerkError if the folder holds something else."""
    unfinished, asked = out / UNFINISHED, json.loads(_to_json(asked))
    finished = (out / PREPARED).exists()
    if finished or (unfinished / _REQUEST).exists():
        before = read_about(out) if finished else _read_json(unfinished / _REQUEST)
        for what, name in (("settings", "settings"), ("sources", "text")):
            if before.get(what) != asked[what]:
                raise AugenmerkError(
                    f"{out} was prepared {'' if finished else 'in part '}from other {name}; remove it, or "
                    f"choose another --out."
                )
        return not finished
    if others := sorted({each.name for each in out.iterdir()} - {_LOCK, UNFINISHED}):
        raise AugenmerkError(f"{out} holds something else already ({others[0]}); choose another --out.")
    make_folder(unfinished)
    atomic_write(unfinished / _REQUEST, [_to_json(asked)])
    return True


def _export_text(bitext: Bitext, data: DataConfig, out: Path) -> None:
    """Writes the splits that are not trained on, with their links and tags, if they have any."""
    others = {name: pairs for name, pairs in bitext.splits.items() if name != data.train}
    if not all((out / f"{name}.jsonl").exists() for name in others):
        languages = bitext.source_language, bitext.target_language
        export(others, out, *languages, format="jsonl", overwrite=True)


def _scan(
    bitext: Bitext, skipped: list[set[BadLine]], split: str, out: Path, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the training pairs into chunks and hashes them; returns their numbers and checksums."""
    unfinished = out / UNFINISHED
    if (unfinished / _SCAN).exists():
        return _read_json(unfinished / _SCAN)
    shutil.rmtree(unfinished / _CHUNKS, ignore_errors=True)
    make_folder(unfinished / _CHUNKS)
    for bad_lines in skipped:  # of the other splits, which were perhaps written by a process that was killed
        bad_lines.clear()
    pairs, chunks, total = iter(bitext[split]), list[dict[str, Any]](), 0
    with (unfinished / _HASHES).open("wb") as hashes:
        while chunk := list(islice(pairs, CHUNK)):
            sources, targets = [pair.source for pair in chunk], [pair.target for pair in chunk]
            hashes.write(b"".join(map(_hash_pair, sources, targets)))
            if any("\n" in text for text in chain(sources, targets)):  # which JSON can spell
                sources, targets = (
                    [text.replace("\n", " ") for text in texts]  # which has the same ids
                    for texts in (sources, targets)
                )
            content = "\n".join(chain(sources, targets)).encode("utf-8", "surrogatepass")
            (unfinished / _CHUNKS / _name(len(chunks))).write_bytes(content)
            chunks.append({"pairs": len(chunk), "sha256": hashlib.sha256(content).hexdigest()})
            total += len(chunk)
            on_progress("reading", total, None)
    if not total:
        raise AugenmerkError(f"{bitext.name} has no pair in '{split}' to train on.")
    left_out = Counter(bad.kind for bad_lines in skipped for bad in bad_lines)
    scan = {"pairs": total, "chunks": chunks, "left_out": dict(sorted(left_out.items()))}
    atomic_write(unfinished / _SCAN, [_to_json(scan)])
    return scan


def _hash_pair(source: str, target: str) -> bytes:
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=8).digest()


def _find_repeated(hashes: Hashes) -> NDArray[np.bool_]:
    """Marks all pairs that occurred before."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    repeated = np.zeros(len(hashes), bool)
    repeated[order[1:][ranked[1:] == ranked[:-1]]] = True
    return repeated


def _choose_sample(hashes: Hashes, repeated: NDArray[np.bool_], request: Request) -> NDArray[np.bool_]:
    """Marks the pairs that the vocabulary is learnt from: those with the smallest hashes."""
    sample = ~repeated
    if np.count_nonzero(sample) > request.vocabulary_sample:
        last = request.vocabulary_sample - 1
        sample &= hashes <= np.partition(hashes[sample], last)[last]
    return sample


def _learn_vocabulary(
    request: Request, out: Path, scan: Mapping[str, Any], sample: NDArray[np.bool_], on_progress: OnProgress
) -> None:
    if (out / VOCABULARY).is_dir():
        return
    size, done = int(np.count_nonzero(sample)), 0

    def read() -> Iterator[SentencePair]:
        nonlocal done
        start = done = 0
        for number, chunk in enumerate(scan["chunks"]):
            stop = start + chunk["pairs"]
            chosen = np.flatnonzero(sample[start:stop]).tolist()
            if chosen:
                sources, targets = _read_chunk(out, number, chunk)
                yield from (SentencePair(sources[place], targets[place]) for place in chosen)
                done += len(chosen)
                on_progress("learning the vocabulary", done, size)
            start = stop

    tokenizers = TokenizerPair.train(LazySplit(read), request.text)
    temporary = out / UNFINISHED / VOCABULARY
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    tokenizers.save(temporary)
    for path in temporary.iterdir():
        fsync_path(path)
    temporary.rename(out / VOCABULARY)


def _read_chunk(out: Path, number: int, chunk: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the source and the target sentences of a chunk."""
    path = out / UNFINISHED / _CHUNKS / _name(number)
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != chunk["sha256"]:
        raise AugenmerkError(f"{path} is damaged; remove {out} and prepare the pairs again.")
    lines = content.decode("utf-8", "surrogatepass").split("\n")
    return lines[: chunk["pairs"]], lines[chunk["pairs"] :]


def _write_shards(
    request: Request,
    out: Path,
    scan: Mapping[str, Any],
    repeated: NDArray[np.bool_],
    workers: int,
    on_progress: OnProgress,
) -> list[dict[str, Any]]:
    """Writes all shards that are not there yet; returns the entries of all."""
    make_folder(out / SHARDS)
    shards: dict[int, dict[str, Any]] = {}
    todo: list[tuple[int, dict[str, Any], NDArray[np.bool_]]] = []
    start = done = 0
    for number, chunk in enumerate(scan["chunks"]):
        stop = start + chunk["pairs"]
        if (entry := _find_finished(out, number)) is not None:
            shards[number] = entry
            done += chunk["pairs"]
        else:
            todo.append((number, chunk, repeated[start:stop]))
        start = stop

    def finish(number: int, entry: dict[str, Any]) -> None:
        nonlocal done
        shards[number] = entry
        done += scan["chunks"][number]["pairs"]
        on_progress("tokenising", done, scan["pairs"])

    settings = out, request.data.max_length, request.max_ratio
    if min(workers, len(todo)) <= 1:
        writer = _ShardWriter(*settings)
        for task in todo:
            finish(task[0], writer.write(*task))
    else:
        # Not forked, because threads of the libraries, or of a progress bar, may hold locks.
        pool = ProcessPoolExecutor(min(workers, len(todo)), get_context("spawn"), _start_worker, settings)
        try:
            numbers = {pool.submit(_write_shard, *task): task[0] for task in todo}
            for future in as_completed(numbers):
                finish(numbers[future], future.result())
        except BrokenProcessPool:
            raise AugenmerkError(
                f"{out}: a worker was killed, perhaps because memory ran out; run the same command again, "
                f"with fewer --workers, and it goes on."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)
    return [shards[number] for number in sorted(shards)]


def _find_finished(out: Path, number: int) -> dict[str, Any] | None:
    """Returns the entry of a shard that was written before and is undamaged, or None."""
    about, shard = out / UNFINISHED / f"{_name(number)}.json", out / SHARDS / f"{_name(number)}.safetensors"
    if not about.exists() or not shard.exists():
        return None
    entry = _read_json(about)
    return entry if hashlib.sha256(read_bytes(shard)).hexdigest() == entry["sha256"] else None


class _ShardWriter:
    """Turns chunks into shards."""

    def __init__(self, out: Path, max_length: int, max_ratio: float) -> None:
        self._out = out
        self._max_length = max_length
        self._max_ratio = max_ratio
        self._tokenizers = TokenizerPair.load(out / VOCABULARY)

    def write(self, number: int, chunk: Mapping[str, Any], repeated: NDArray[np.bool_]) -> dict[str, Any]:
        """Writes a shard and then its entry, each whole or not at all; returns the entry."""
        sources, targets = _read_chunk(self._out, number, chunk)
        if repeated.any():
            first = np.flatnonzero(~repeated).tolist()
            sources, targets = [sources[place] for place in first], [targets[place] for place in first]
        source, source_lengths = self._tokenizers.source.encode_flat(sources)
        target, target_lengths = self._tokenizers.target.encode_flat(targets)
        longer, shorter = (
            np.maximum(source_lengths, target_lengths),
            np.minimum(source_lengths, target_lengths),
        )
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
        name = f"{_name(number)}.safetensors"
        atomic_write(self._out / SHARDS / name, [content])
        entry = {
            "name": name,
            "pairs": int(np.count_nonzero(keep)),
            "source_tokens": len(source),
            "target_tokens": len(target),
            "sha256": hashlib.sha256(content).hexdigest(),
            "unknown_source": int(np.count_nonzero(source == UNK)),
            "unknown_target": int(np.count_nonzero(target == UNK)),
            "longest": int(longer[keep].max(initial=0)),
            "left_out": {
                REPEATED: int(np.count_nonzero(repeated)),
                TOO_MANY_TOKENS: int(np.count_nonzero(too_long)),
                UNEQUAL: int(np.count_nonzero(unequal)),
            },
        }
        atomic_write(self._out / UNFINISHED / f"{_name(number)}.json", [_to_json(entry)])
        return entry


# In a worker

_writer: _ShardWriter


def _start_worker(out: Path, max_length: int, max_ratio: float) -> None:
    global _writer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the parent ends them
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _writer = _ShardWriter(out, max_length, max_ratio)


def _end_with_parent() -> None:
    """Ends this process when its parent was killed, which would otherwise wait for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _write_shard(number: int, chunk: dict[str, Any], repeated: NDArray[np.bool_]) -> dict[str, Any]:
    return _writer.write(number, chunk, repeated)


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
        "pairs_read": scan["pairs"],
        "left_out": {kind: count for kind, count in sorted(left_out.items()) if count},
        **asked,
        "vocabulary": {
            path.name: hashlib.sha256(read_bytes(path)).hexdigest()
            for path in sorted((out / VOCABULARY).iterdir())
        },
        "shards": [{name: shard[name] for name in _ENTRY} for shard in shards],
    }
    if not about["pairs"]:
        raise AugenmerkError(
            f"{bitext.name}: nothing is left to train on, for of {scan['pairs']:,} pairs, "
            f"{left_out[TOO_MANY_TOKENS]:,} have more than {asked['settings']['max_length']} tokens on a "
            f"side, and {left_out[UNEQUAL]:,} have very unequal lengths; remove {out} and allow more."
        )
    return about


def _name(number: int) -> str:
    return f"{number:06d}"


def _to_json(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8", "backslashreplace") + b"\n"


def _read_json(path: Path) -> dict[str, Any]:
    with explain_read_errors(path):
        return parse_object(read_text(path))
