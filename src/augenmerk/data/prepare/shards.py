"""Turns chunks of text into shards of ids. A shard is a function of its chunk and the vocabulary."""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from augenmerk.cluster.block_job import BlockJob
from augenmerk.data.prepare.chunks import Mask, read_chunk
from augenmerk.data.prepared import TOO_MANY_TOKENS
from augenmerk.text.tokenizer import UNK, TokenizerPair

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
