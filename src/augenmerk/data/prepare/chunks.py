"""The training pairs as text in chunks of some thousands, in their order, with a hash of each pair."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import make_folder, read_bytes, read_object, write_object
from augenmerk.data import BadLine, Bitext, SentencePair
from augenmerk.data.prepared import UNFINISHED

CHUNK = 50_000
"""Pairs that are read for one shard."""

_SCAN, _HASHES, _CHUNKS = "scan.json", "hashes.bin", "chunks"

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]

OnProgress = Callable[[str, int, int | None], None]
"""Is called with what is done, how many pairs it was done for, and how many there are if that is known."""


def write_chunks(
    bitext: Bitext, skipped: list[set[BadLine]], split: str, out: Path, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the training pairs into chunks and hashes them; returns their numbers and checksums."""
    unfinished = out / UNFINISHED
    if (unfinished / _SCAN).exists():
        return read_object(unfinished / _SCAN)
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
            (unfinished / _CHUNKS / name_chunk(len(chunks))).write_bytes(content)
            chunks.append({"pairs": len(chunk), "sha256": hashlib.sha256(content).hexdigest()})
            total += len(chunk)
            on_progress("reading", total, None)
    if not total:
        raise AugenmerkError(f"{bitext.name} has no pair in '{split}' to train on.")
    left_out = Counter(bad.kind for bad_lines in skipped for bad in bad_lines)
    scan = {"pairs": total, "chunks": chunks, "left_out": dict(sorted(left_out.items()))}
    write_object(unfinished / _SCAN, scan)
    return scan


def _hash_pair(source: str, target: str) -> bytes:
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=8).digest()


def read_hashes(out: Path) -> Hashes:
    """Returns the hashes of all pairs."""
    return np.fromfile(out / UNFINISHED / _HASHES, "<u8")


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


def read_sample(out: Path, scan: Mapping[str, Any], sample: Mask) -> Iterator[list[SentencePair]]:
    """Yields the pairs that are marked, those of one chunk after those of another."""
    start = 0
    for number, chunk in enumerate(scan["chunks"]):
        stop = start + chunk["pairs"]
        chosen = np.flatnonzero(sample[start:stop]).tolist()
        if chosen:
            sources, targets = read_chunk(out, number, chunk)
            yield [SentencePair(sources[place], targets[place]) for place in chosen]
        start = stop


def read_chunk(out: Path, number: int, chunk: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the source and the target sentences of a chunk."""
    path = out / UNFINISHED / _CHUNKS / name_chunk(number)
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != chunk["sha256"]:
        raise AugenmerkError(f"{path} is damaged; remove {out} and prepare the pairs again.")
    lines = content.decode("utf-8", "surrogatepass").split("\n")
    return lines[: chunk["pairs"]], lines[chunk["pairs"] :]


def name_chunk(number: int) -> str:
    """Returns what the files of a chunk, and of its shard, are called."""
    return f"{number:06d}"
