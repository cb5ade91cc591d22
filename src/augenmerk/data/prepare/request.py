"""What to prepare: the sources, opened as one bitext, and the settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from augenmerk.base.config import DataConfig, TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file
from augenmerk.data import DATASETS, BadLine, Bitext, SentencePair, dataset_options, open_bitext
from augenmerk.data.files import find, is_divided
from augenmerk.data.prepare import chunks
from augenmerk.text.pairs import LazySplit, hold_out

VOCABULARY_SAMPLE = 100_000
MAX_RATIO = 9.0


@dataclass(frozen=True)
class Request:
    """What to prepare."""

    sources: tuple[str, ...]
    """Datasets by name, or folders and files of a person's own; all of them make one corpus."""
    data: DataConfig
    """Languages, names of the splits, bilderbuch's size and seed, and the most tokens of a sentence."""
    text: TextConfig
    """The vocabulary that is learnt."""
    vocabulary_sample: int = VOCABULARY_SAMPLE
    """The number of pairs that it is learnt from."""
    max_ratio: float = MAX_RATIO
    """Pairs are left out if one side has more than this many times the tokens of the other; 0 for none."""

    def settings(self) -> dict[str, Any]:
        """Returns all that decides about the content of the corpus, but for the content of the sources."""
        return {
            "text": self.text.model_dump(),
            "vocabulary_sample": self.vocabulary_sample,
            "max_length": self.data.max_length,
            "max_ratio": self.max_ratio,
            "chunk": chunks.CHUNK,
        }


def open_sources(request: Request) -> tuple[Bitext, list[set[BadLine]]]:
    """Opens all sources as one bitext; also returns the sets to which reading them adds bad lines.

    If no source has a split to validate on, some pairs are held out, see `hold_out`.
    """
    data = request.data
    bitexts = [
        open_bitext(
            source,
            **dataset_options(data, source),
            source_language=data.source_language,
            target_language=data.target_language,
            skip_bad=True,
            divide=False,
        )
        for source in request.sources
    ]
    first = bitexts[0]
    parts: dict[str, list[Iterable[SentencePair]]] = {}
    for bitext in bitexts:
        if (bitext.source_language, bitext.target_language) != (first.source_language, first.target_language):
            raise AugenmerkError(
                f"{first.name} is from {first.source_language} to {first.target_language}, but {bitext.name} "
                f"from {bitext.source_language} to {bitext.target_language}; say which languages are meant "
                f"with --source-language and --target-language."
            )
        # One file of any name is for training, unless its name says that it is not.
        undivided = is_divided(bitext.splits)
        for name, pairs in bitext.splits.items():
            parts.setdefault(data.train if undivided else name, []).append(pairs)
    splits: dict[str, Iterable[SentencePair]] = {
        name: LazySplit(partial(_chain, pairs)) for name, pairs in parts.items()
    }
    name = ", ".join(request.sources)
    if splits.keys() == {data.train}:
        held_out = hold_out(splits[data.train], Path(name))
        splits = {data.train: held_out["train"], data.validation: held_out["val"], "test": held_out["test"]}
    joined = Bitext(name, first.source_language, first.target_language, splits)
    return joined, [bitext.skipped for bitext in bitexts]


def _chain(parts: Sequence[Iterable[SentencePair]]) -> Iterator[SentencePair]:
    return chain.from_iterable(parts)


def describe_sources(request: Request) -> list[dict[str, Any]]:
    """Returns what the sources are: the checksums of their files, or what is generated."""
    described: list[dict[str, Any]] = []
    data = request.data
    for source in request.sources:
        named = source in DATASETS
        entry = {"name": source if named else Path(source).name, **dataset_options(data, source)}
        if not named:
            found = find(Path(source), data.source_language, data.target_language)
            entry["files"] = {}
            for path in chain.from_iterable(found.files.values()):
                entry["files"][path.name] = digest_file(path)
        described.append(entry)
    return described
