"""Decoding beside CTranslate2, and where its time goes: `augenmerk bench decode` with peers and a profile.

    python benchmarks/decoding.py [--model RUN] [--beam 1 --beam 5] [--no-peers] [--profile] [--json]

CTranslate2 (pip install '.[peers]') has a Transformer of the same width with random weights, in fp32
and int8, on the CPU. It reads the same sentences, and writes as many tokens for each as ours on average.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from decoding_profile import profile_decoding
from peers import Peer, PeerSize, is_installed, make_peers, to_tokens

from augenmerk.base.console import make_table, out, print_shown
from augenmerk.base.device import CPU, count_threads
from augenmerk.bench.decoding import (
    Engine,
    Sources,
    Work,
    bench_decoding,
    random_translator,
    select_evenly,
    trained_translator,
)
from augenmerk.bench.session import BEAMS, DecodingSpeed
from augenmerk.model.interface import TranslationModel


def make_engines(model: TranslationModel, size: PeerSize) -> Mapping[str, Engine]:
    """Returns CTranslate2 in each precision, with vocabularies as large as the model's."""
    vocabularies = model.source_vocabulary, model.target_vocabulary
    found = make_peers(size, vocabularies, count_threads())
    return {name: partial(_prepare, peer) for name, peer in found.items()}


def _prepare(peer: Peer, sources: Sources, beam: int, length: int) -> Work:
    return partial(peer.translate, to_tokens(sources), beam, length)


def print_profile(profile: Mapping[str, Any]) -> None:
    beams = profile["beams"]
    rows = []
    for name in beams[0]["parts"]:
        parts = [row["parts"][name] for row in beams]
        rows.append(
            [name, *(f"{100 * each['share']:.0f} ({100 * each['floor_share']:.0f})" for each in parts)]
        )
    totals = (f"{row['cpu_ms_per_sentence']:.2f} ({row['floor_ms_per_sentence']:.2f})" for row in beams)
    rows.append(["all, ms a sentence", *totals])
    headings = ("% of CPU time (floor)", *(f"beam {row['beam']}" for row in beams))
    out().print(make_table(headings, rows))
    out().print(
        f"one thread of numpy; floor: products with weights, at {profile['gflops_per_second']:.0f} GFLOP/s "
        f"as in a large product"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="run directory; without one, random weights")
    parser.add_argument("--preset", default="quick", help="the size of the model with random weights")
    parser.add_argument("--beam", type=int, action="append", help="beam width; repeatable")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--no-peers", action="store_true", help="leave out CTranslate2")
    parser.add_argument("--profile", action="store_true", help="also show where the time goes")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.no_peers and not is_installed():
        parser.error(
            "CTranslate2 is not installed: run pip install '.[peers]' in your clone, or add --no-peers."
        )
    cpu = torch.device(CPU)
    if asked.model is None:
        translator, model, sources = random_translator(asked.preset, asked.sentences, cpu)
    else:
        translator, model, sources = trained_translator(asked.model, asked.sentences, cpu)
    size = None if asked.no_peers else PeerSize.like(model.config)
    others = dict if size is None else partial(make_engines, model, size)
    result = bench_decoding(translator, model, sources, asked.beam or BEAMS, make_others=others)
    result["peer"] = None if size is None else asdict(size)
    if asked.profile:
        some = {row["beam"]: select_evenly(sources, row["sentences"]) for row in result["beams"]}
        result["profile"] = profile_decoding(translator, model, some)
    if asked.json:
        print(json.dumps(result, indent=2))
        return
    print_shown(DecodingSpeed(result))
    if size is not None:
        out().print(
            f"CTranslate2: a Transformer of random weights, {size.layers} + {size.layers} layers, "
            f"{size.width} wide"
        )
    if asked.profile:
        print_profile(result["profile"])


if __name__ == "__main__":
    main()
