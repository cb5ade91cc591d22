"""Where sentence pairs come from."""

from pathlib import Path

from augenmerk.bitext.pairs import Bitext, Links, SentencePair
from augenmerk.errors import AugenmerkError

__all__ = ["NAMES", "Bitext", "Links", "SentencePair", "open_bitext"]

NAMES = ("bilderbuch", "multi30k")
"""The bitexts known by name; anything else is a person's own folder or file."""


def open_bitext(
    place: str,
    *,
    pairs: int | None = None,
    seed: int = 1,
    folder: Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Bitext:
    """A bitext by its name, or a person's own by the place of its files.

    `pairs` and `seed` are for bilderbuch, which is written on request; `folder` says where multi30k lies.
    A folder that happens to be called like a bitext is meant by `./multi30k`.
    """
    if place == "bilderbuch":
        from augenmerk.bitext import bilderbuch

        return _turned(bilderbuch.load(pairs, seed), source_language, target_language)
    if place == "multi30k":
        from augenmerk.bitext import multi30k

        return _turned(multi30k.load(folder), source_language, target_language)
    if Path(place).name == place and place.endswith((".tsv", ".jsonl", ".gz")) and not Path(place).exists():
        raise AugenmerkError(f"{place}: there is no such file.")
    if not place.strip() or (Path(place).name == place and not _something_there(Path(place))):
        raise AugenmerkError(
            f"There is no bitext called '{place}': known by name are {' and '.join(NAMES)}; "
            f"for sentence pairs of your own, give their folder or file."
        )
    from augenmerk.bitext import files

    return files.load(Path(place), source_language, target_language)


def _something_there(place: Path) -> bool:
    """The folder or file itself, or `place.de` for two files of parallel text."""
    return place.exists() or any(place.parent.glob(f"{place.name}.*"))


def _turned(bitext: Bitext, source_language: str | None, target_language: str | None) -> Bitext:
    """The bitext in the direction that was asked for."""
    languages = (bitext.source_language, bitext.target_language)
    wanted = (source_language, target_language)
    if all(want in (None, language) for want, language in zip(wanted, languages, strict=True)):
        return bitext
    if all(want in (None, language) for want, language in zip(wanted, reversed(languages), strict=True)):
        return bitext.reversed()
    raise AugenmerkError(
        f"{bitext.name} is in {languages[0]} and {languages[1]}; "
        f"it has no way from {source_language or 'there'} to {target_language or 'there'}."
    )
