"""The training pairs as text in chunks of some thousands, the blocks of a job, and a hash of each pair."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.errors import AugenmerkError
from augenmerk.cluster.block_job import BlockJob, OnProgress
from augenmerk.data import BadLine, Bitext, SentencePair

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
