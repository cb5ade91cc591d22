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

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from augenmerk.base.config import DataConfig, TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file, fsync_path, make_folder, remove, write_object
from augenmerk.cluster.block_job import LOCK, BlockJob, OnProgress, check_request
from augenmerk.cluster.blocks import MapBlocks
from augenmerk.data import Bitext, SentencePair
from augenmerk.data.export import export
from augenmerk.data.prepare.chunks import (
    Mask,
    choose_sample,
    divide_by_chunk,
    find_repeated,
    read_hashes,
    read_sample,
    write_chunks,
)
from augenmerk.data.prepare.request import Request, describe_sources, open_sources
from augenmerk.data.prepare.shards import UNEQUAL, ShardWriter
from augenmerk.data.prepared import (
    FORMAT,
    PREPARED,
    SHARDS,
    TOO_MANY_TOKENS,
    UNFINISHED,
    VOCABULARY,
    is_prepared,
    read_about,
)
from augenmerk.text.pairs import LazySplit
from augenmerk.text.tokenizer import TokenizerPair

__all__ = ["Request", "prepare"]

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
