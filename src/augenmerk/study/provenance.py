"""Where figures come from, gathered from the runs; what is not the same in all of them is said."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from augenmerk.checkpoint import RunDirectory
from augenmerk.study.result import DataSum, PaddingCheck, Provenance

SAME_SCORE = 1e-3
"""Two scores of a sentence that differ by less differ by rounding; padding that leaks changes them more."""


def provenance_of(
    runs: Sequence[tuple[RunDirectory, Mapping[str, Any], Mapping[str, Any]]], splits: Sequence[str]
) -> Provenance:
    """Of finished runs, each with its probes and its result."""
    directories = [run for run, _, _ in runs]
    probes = [probe for _, probe, _ in runs]
    remarks = []
    if any(probe["data"] != probes[0]["data"] for probe in probes):
        remarks.append("Not all runs have read the same sentences: the sums are those of the first run.")
    for name, version in probes[0]["software"].items():
        others = {probe["software"][name] for probe in probes} - {version}
        if others:
            remarks.append(
                f"{name} is {version} in the first run, but {', '.join(sorted(others))} in others."
            )
    signatures: dict[str, str] = {}
    for row in directories[0].read_scores():
        if row["split"] in splits:
            signatures |= {"BLEU": row["bleu_signature"], "chrF": row["chrf_signature"]}
    return Provenance(
        config=directories[0].config.to_toml(),
        bitext=directories[0].config.data.bitext,
        data=tuple(DataSum(**each) for each in probes[0]["data"]),
        software=dict(probes[0]["software"]),
        hardware=tuple(dict.fromkeys(probe["hardware"] for probe in probes)),
        seconds=math.fsum(result["seconds"] for _, _, result in runs),
        signatures=signatures,
        padding=_padding([probe["padding"] for probe in probes]),
        remarks=tuple(remarks),
    )


def _padding(checks: Sequence[Mapping[str, Any]]) -> PaddingCheck:
    different = sum(check["different_texts"] for check in checks)
    largest = max(check["largest_difference"] for check in checks)
    sentences = checks[0]["sentences"]
    total = sum(check["sentences"] for check in checks)
    sentence = f"{sentences} sentences of each run were translated alone and, padded, in one batch: "
    if different or largest > SAME_SCORE:
        sentence += (
            f"{different} of {total} translations differ, and log-probabilities by up to {largest:.2g}."
        )
    else:
        sentence += f"all {total} translations are the same, and log-probabilities to within {largest:.2g}."
    return PaddingCheck(len(checks), sentences, different, largest, sentence)
