"""Turns chunks of text into shards of ids. A shard is a function of its chunk and the vocabulary."""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from augenmerk.base.files import atomic_write, make_folder, read_bytes, read_object, write_object
from augenmerk.cluster.blocks import MapBlocks, map_missing
from augenmerk.data.prepare.chunks import Mask, OnProgress, name_chunk, read_chunk
from augenmerk.data.prepared import SHARDS, TOO_MANY_TOKENS, UNFINISHED, VOCABULARY
from augenmerk.text.tokenizer import UNK, TokenizerPair

REPEATED, UNEQUAL = "repeated", "unequal lengths"
"""Why a pair is left out, besides `TOO_MANY_TOKENS` and the kinds of `BadLine`."""


def write_shards(
    out: Path,
    scan: Mapping[str, Any],
    repeated: Mask,
    max_length: int,
    max_ratio: float,
    map_blocks: MapBlocks,
    on_progress: OnProgress,
) -> list[dict[str, Any]]:
    """Writes all shards that are not there yet; returns the entries of all."""
    make_folder(out / SHARDS)
    ends = np.cumsum([chunk["pairs"] for chunk in scan["chunks"]])
    blocks = [
        (chunk["pairs"], (chunk, repeated[end - chunk["pairs"] : end]))
        for chunk, end in zip(scan["chunks"], ends, strict=True)
    ]
    return map_missing(
        map_blocks,
        partial(ShardWriter, out, max_length, max_ratio),
        blocks,
        partial(_find_finished, out),
        lambda done: on_progress("tokenising", done, scan["pairs"]),
    )


def _find_finished(out: Path, number: int) -> dict[str, Any] | None:
    """Returns the entry of a shard that was written before and is undamaged, or None."""
    about, shard = (
        out / UNFINISHED / f"{name_chunk(number)}.json",
        out / SHARDS / f"{name_chunk(number)}.safetensors",
    )
    if not about.exists() or not shard.exists():
        return None
    entry = read_object(about)
    return entry if hashlib.sha256(read_bytes(shard)).hexdigest() == entry["sha256"] else None


class ShardWriter:
    """Turns chunks into shards."""

    def __init__(self, out: Path, max_length: int, max_ratio: float) -> None:
        self._out = out
        self._max_length = max_length
        self._max_ratio = max_ratio
        self._tokenizers = TokenizerPair.load(out / VOCABULARY)

    def __call__(self, number: int, chunk: Mapping[str, Any], repeated: Mask) -> dict[str, Any]:
        """Writes a shard and then its entry, each whole or not at all; returns the entry."""
        sources, targets = read_chunk(self._out, number, chunk)
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
        name = f"{name_chunk(number)}.safetensors"
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
        write_object(self._out / UNFINISHED / f"{name_chunk(number)}.json", entry)
        return entry
