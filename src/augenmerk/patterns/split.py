"""The patterns in a whole split: found, ranked, counted, and held against gold links and tags."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from augenmerk.bitext import Links, SentencePair
from augenmerk.errors import AugenmerkError
from augenmerk.patterns.kinds import KINDS, PLACES, Kind, Pattern, recognise
from augenmerk.patterns.measures import Attended
from augenmerk.translate import Translation

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Finding:
    """A sentence of a split and the pattern in it."""

    index: int
    pair: SentencePair
    translation: Translation
    pattern: Pattern

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        attended = Attended.of(self.translation)
        return {
            "index": self.index,
            "kind": self.pattern.kind,
            "verdict": self.pattern.verdict,
            "strength": self.pattern.strength,
            "measures": asdict(self.pattern.measures),
            "moved": [
                {
                    "source": [attended.source[t] for t in moved.source],
                    "target": [attended.target[j] for j in moved.target],
                    "places": moved.places,
                    "direction": "earlier" if moved.earlier else "later",
                    "weight": moved.weight,
                    "links": [list(link) for link in moved.links],
                }
                for moved in self.pattern.moved
            ],
            "source": self.translation.source,
            "translation": self.translation.text,
            "reference": self.pair.target,
            "tags": list(self.pair.tags),
        }


def find_patterns(
    pairs: Sequence[SentencePair], translations: Iterable[Translation], language: str
) -> list[Finding]:
    """Of every sentence whose translation has words, in the order of the split."""
    findings = []
    for index, (pair, translation) in enumerate(zip(pairs, translations, strict=True)):
        attended = Attended.of(translation)
        if not attended.target or not attended.source:
            continue
        if not attended.weights.any():
            raise AugenmerkError(
                "This model attends to nothing (model.attention = 'none'): there are no patterns to find."
            )
        findings.append(Finding(index, pair, translation, recognise(attended, language)))
    return findings


def strongest(findings: Sequence[Finding], kind: Kind | None, top: int) -> list[Finding]:
    """Of a kind those that show it most; without a kind, the first of every kind, then the second, ..."""
    by_kind: dict[Kind, list[Finding]] = {one: [] for one in KINDS if kind in (None, one)}
    for finding in sorted(findings, key=lambda finding: -finding.pattern.strength):
        if finding.pattern.kind in by_kind:
            by_kind[finding.pattern.kind].append(finding)
    in_turn = [finding for rank in zip_longest(*by_kind.values()) for finding in rank if finding]
    chosen = in_turn[:top]
    return sorted(chosen, key=lambda finding: KINDS.index(finding.pattern.kind))


def summarise(
    pairs: Sequence[SentencePair], findings: Sequence[Finding], *, of_references: bool
) -> dict[str, Any]:
    """Counts and distributions over the split; and where the references were read and have gold links, how
    well the kind agrees with these."""
    counts = Counter(finding.pattern.kind for finding in findings)
    summary: dict[str, Any] = {
        "sentences": len(pairs),
        "without_words": len(pairs) - len(findings),
        "kinds": {kind: counts[kind] for kind in KINDS},
        "measures": {name: _distribution(values) for name, values in values_of(findings).items()},
    }
    tags = dict.fromkeys(tag for finding in findings for tag in finding.pair.tags)
    if tags:
        summary["tags"] = {tag: _share([one for one in findings if tag in one.pair.tags]) for tag in tags}
        summary["tags"]["(none)"] = _share([one for one in findings if not one.pair.tags])
    if of_references and all(finding.pair.alignment is not None for finding in findings):
        summary["agreement"] = _agreement(findings)
    return summary


def values_of(findings: Sequence[Finding]) -> Mapping[str, list[float]]:
    """Every measure, over the split."""
    measures = [asdict(finding.pattern.measures) for finding in findings]
    return {name: [one[name] for one in measures] for name in (measures[0] if measures else ())}


def _distribution(values: Sequence[float]) -> dict[str, Any]:
    return {
        "mean": float(np.mean(values)),
        "deviation": float(np.std(values)),
        "quartiles": [float(value) for value in np.quantile(values, QUANTILES)],
    }


def _share(findings: Sequence[Finding]) -> dict[str, Any]:
    gold = [one.pair.alignment for one in findings if one.pair.alignment is not None]
    return {
        "sentences": len(findings),
        "inversion": _mean([finding.pattern.kind == "inversion" for finding in findings]),
        "gold_inversion": _mean([goes_back(links) for links in gold]),
    }


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def goes_back(links: Links) -> bool:
    """Whether two links cross whose source words are as far apart as an inversion asks for."""
    return any(t + PLACES <= other_t and other_j < j for t, j in links for other_t, other_j in links)


def _agreement(findings: Sequence[Finding]) -> dict[str, Any]:
    """Inversions against crossing gold links, and the links of the words that moved against gold."""
    known = [(finding.pattern, set(finding.pair.alignment or ())) for finding in findings]
    said = [pattern.kind == "inversion" for pattern, _ in known]
    true = [goes_back(tuple(links)) for _, links in known]
    both = sum(ours and gold for ours, gold in zip(said, true, strict=True))
    far = [
        (link in links, moved.places)
        for pattern, links in known
        if pattern.kind == "inversion"
        for moved in pattern.moved
        for link in moved.links
    ]
    return {
        "sentences": len(known),
        "gold_inversions": sum(true),
        "found": sum(said),
        "precision": both / sum(said) if any(said) else None,
        "recall": both / sum(true) if any(true) else None,
        "accuracy": _mean([ours == gold for ours, gold in zip(said, true, strict=True)]),
        "moved_links_in_gold": _mean([right for right, places in far if places >= PLACES]),
    }
