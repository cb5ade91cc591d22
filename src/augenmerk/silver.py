"""Silver links: what an offline word aligner makes of a bitext that has no gold ones.

The model of fast_align (Dyer, Chahuneau and Smith 2013) in both directions, joined by grow-diag-final-and, as
it is in the library Thot: the optional extra `align`. It sees words in lower case. On bilderbuch, where the
truth is known, its own alignment error is 0.095 (docs/results.md), so that an error measured against it is no
more than an estimate.

The aligner learns from all pairs of training together with those to be aligned, which takes seconds, and what
it found is kept in the user's cache under a checksum of all it depends on.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from augenmerk.bitext import Links, SentencePair
from augenmerk.errors import AugenmerkError
from augenmerk.storage import atomic_write
from augenmerk.words import split_words

ITERATIONS = 5
HEURISTIC = "GROW_DIAG_FINAL_AND"
LONGEST = 200
"""Words. The aligner ignores longer sentences in training; they are aligned all the same."""

Progress = Callable[[str, int, int], None]
Words = list[list[str]]


def silver_links(
    train: Sequence[SentencePair],
    pairs: Sequence[SentencePair],
    *,
    progress: Progress = lambda _what, _done, _total: None,
    cache: Path | None = None,
) -> list[Links]:
    """Links of each of `pairs`, learnt from them and from `train`; from the cache where they are there."""
    thot = _library()
    sources = [_words(pair.source) for pair in (*train, *pairs)]
    targets = [_words(pair.target) for pair in (*train, *pairs)]
    folder = cache if cache is not None else user_cache_path("augenmerk") / "silver"
    path = folder / f"{_checksum(sources, targets, len(pairs))}.json"
    kept = _kept(path, len(pairs))
    if kept is not None:
        return kept
    links = _align(thot, sources, targets, len(pairs), progress)
    # A cache that cannot be written costs time the next time, nothing else.
    with suppress(OSError, AugenmerkError):
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(path, [json.dumps(links).encode()])
    return links


def _library() -> Any:
    try:
        from thot import alignment
    except ImportError:
        raise AugenmerkError(
            "Links for a bitext that has none come from a word aligner that is not installed: "
            "pip install 'augenmerk[align]'."
        ) from None
    return alignment


def _words(sentence: str) -> list[str]:
    return [word.lower() for word in split_words(sentence)]


def _align(thot: Any, sources: Words, targets: Words, last: int, progress: Progress) -> list[Links]:
    """Of the last so many sentences."""
    what, steps = "aligning words", 2 * (ITERATIONS + 1)
    done = 0
    models = []
    for here, there in ((sources, targets), (targets, sources)):
        model = thot.FastAlignModel()
        for one, other in zip(here, there, strict=True):
            if 0 < len(one) <= LONGEST and 0 < len(other) <= LONGEST:
                model.add_sentence_pair(one, other)
        progress(what, done, steps)
        model.start_training()
        for _ in range(ITERATIONS):
            model.train()
            done += 1
            progress(what, done, steps)
        model.end_training()
        done += 1
        models.append(model)
    aligner = thot.SymmetrizedAligner(*models)
    aligner.heuristic = getattr(thot.SymmetrizationHeuristic, HEURISTIC)
    first = len(sources) - last
    # An empty sentence has no links, and the aligner is not asked what it would make of one.
    spoken = [place for place in range(first, len(sources)) if sources[place] and targets[place]]
    found = aligner.get_best_alignments(
        [sources[place] for place in spoken], [targets[place] for place in spoken]
    )
    links: list[Links] = [()] * last
    for place, (_, matrix) in zip(spoken, found, strict=True):
        rows, columns = matrix.to_numpy().nonzero()
        links[place - first] = tuple(zip(rows.tolist(), columns.tolist(), strict=True))
    progress(what, steps, steps)
    return links


def _checksum(sources: Words, targets: Words, last: int) -> str:
    """Of the text, of which part of it is aligned, and of how."""
    digest = hashlib.sha256()
    how = [metadata.version("sil-thot"), ITERATIONS, HEURISTIC, LONGEST, last]
    digest.update(json.dumps(how).encode())
    for words in (*sources, *targets):
        digest.update(" ".join(words).encode(errors="surrogatepass") + b"\n")
    return digest.hexdigest()


def _kept(path: Path, count: int) -> list[Links] | None:
    """None if there is nothing, or nothing that makes sense: then it is worked out again."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        links = [tuple((int(i), int(j)) for i, j in sentence) for sentence in read]
    except (OSError, ValueError, TypeError):
        return None
    return links if len(links) == count else None
