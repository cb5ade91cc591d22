"""Silver links: word links by a statistical aligner, for bitexts without gold links.

The aligner is fast_align (Dyer, Chahuneau and Smith 2013) in both directions, joined by grow-diag-final-and,
as the library Thot implements it (the optional extra `align`), on lowercased words. On bilderbuch, whose true
links are known, its own alignment error is 0.095 (docs/lab/measurements.md): an error measured against silver
links is an estimate.

The aligner learns from the training pairs together with those to be aligned, which takes seconds. Its links
are kept in the user's cache under a checksum of all that they depend on.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, read_text
from augenmerk.data import Links, SentencePair
from augenmerk.text.words import split_words

ITERATIONS = 5
HEURISTIC = "GROW_DIAG_FINAL_AND"
FEW_PAIRS = 1_000
"""The aligner's own links are poor if it learns from fewer pairs: on bilderbuch its alignment error is 0.14
with 1,000 pairs, 0.20 with 500 and 0.35 with 60."""
LONGEST = 200
"""The aligner does not learn from sentences with more words, but aligns them."""

Progress = Callable[[str, int, int], None]
"""A callback that receives a description of the work, how much of it is done, and how much there is."""
Words = list[list[str]]


def silver_links(
    train: Sequence[SentencePair],
    pairs: Sequence[SentencePair],
    *,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> list[Links]:
    """Returns the links of each of `pairs`, learnt from them and from `train`, or from the cache."""
    try:
        from thot import alignment as thot
    except ImportError:
        raise AugenmerkError("A word aligner is not installed: pip install 'augenmerk[align]'.") from None
    sides = ([pair.source for pair in (*train, *pairs)], [pair.target for pair in (*train, *pairs)])
    sources, targets = ([[word.lower() for word in split_words(text)] for text in side] for side in sides)
    folder = cache or user_cache_path("augenmerk") / "silver"
    path = folder / f"{_checksum(sources, targets, len(pairs))}.json"
    with suppress(AugenmerkError, ValueError, TypeError):  # the file is absent or damaged
        read = json.loads(read_text(path))
        kept = [tuple((int(i), int(j)) for i, j in sentence) for sentence in read]
        if len(kept) == len(pairs):
            return kept
    links = _align(thot, sources, targets, len(pairs), progress)
    # If the cache cannot be written, the next call aligns again.
    with suppress(OSError, AugenmerkError):
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(path, [json.dumps(links).encode()])
    return links


def _align(thot: Any, sources: Words, targets: Words, last: int, progress: Progress) -> list[Links]:
    """Trains on all sentences, and returns the links of as many at the end as `last` says."""
    what, steps = "aligning words", 2 * (ITERATIONS + 1)
    models = []
    for done, here, there in ((0, sources, targets), (ITERATIONS + 1, targets, sources)):
        model = thot.FastAlignModel()
        for one, other in zip(here, there, strict=True):
            if 0 < len(one) <= LONGEST and 0 < len(other) <= LONGEST:
                model.add_sentence_pair(one, other)
        progress(what, done, steps)
        model.start_training()
        for iteration in range(1, ITERATIONS + 1):
            model.train()
            progress(what, done + iteration, steps)
        model.end_training()
        models.append(model)
    aligner = thot.SymmetrizedAligner(*models)
    aligner.heuristic = getattr(thot.SymmetrizationHeuristic, HEURISTIC)
    first = len(sources) - last
    # An empty sentence has no links.
    nonempty = [index for index in range(first, len(sources)) if sources[index] and targets[index]]
    texts = ([side[index] for index in nonempty] for side in (sources, targets))
    links: list[Links] = [()] * last
    for index, (_, matrix) in zip(nonempty, aligner.get_best_alignments(*texts), strict=True):
        rows, columns = matrix.to_numpy().nonzero()
        links[index - first] = tuple(zip(rows.tolist(), columns.tolist(), strict=True))
    progress(what, steps, steps)
    return links


def _checksum(sources: Words, targets: Words, last: int) -> str:
    """Returns a checksum of the text, of the part of it that is aligned, and of the method."""
    digest = hashlib.sha256()
    how = [metadata.version("sil-thot"), ITERATIONS, HEURISTIC, LONGEST, last]
    digest.update(json.dumps(how).encode())
    for words in (*sources, *targets):
        digest.update(" ".join(words).encode(errors="surrogatepass") + b"\n")
    return digest.hexdigest()
