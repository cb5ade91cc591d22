"""What is analysed: sentences, or a split of a run's data, as the run translates them or reads references."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape

from augenmerk import data as bitexts
from augenmerk.base.config import DataConfig
from augenmerk.base.console import err, show_status
from augenmerk.base.device import choose_translating_device
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.frames import as_list
from augenmerk.data import Bitext, SentencePair
from augenmerk.run.directory import RunDirectory
from augenmerk.text.words import check_sentences, split_sentences
from augenmerk.translation import Translation, Translator, load
from augenmerk.translation.output import warn_of_translations


class TranslatedSplit(NamedTuple):
    """Sentences of a split or of your own, as the run translated or, with `reference`, read them."""

    translator: Translator
    source_language: str
    pairs: list[SentencePair]
    translations: list[Translation]
    described: dict[str, str]
    """The run, the split, and whether the translations are those of the model, for JSON."""


def open_data_or_bilderbuch(data: DataConfig, split: str | None) -> tuple[Bitext, str]:
    """Opens the data of a run, or bilderbuch if that is missing; then it prints a line about it."""
    found, name = bitexts.open_data_or_bilderbuch(data, split)
    if found.name == "bilderbuch" != data.bitext:
        err().print(
            f"The data of this run, {escape(data.bitext)}, is not here: these are sentences of bilderbuch "
            f"({name}) instead."
        )
    return found, name


def check_index(split: str, index: int, pairs: Sequence[SentencePair]) -> None:
    """Raises AugenmerkError if the split has no sentence with this index."""
    if not 0 <= index < len(pairs):
        raise AugenmerkError(
            f"'{split}' has no sentence {index}: its {len(pairs):,} sentences are counted from 0."
        )


def translate_split(
    text: str | Sequence[str] | None,
    run: Path,
    split: str | None,
    beam: int | None,
    device: str,
    indices: Sequence[int] = (),
    *,
    reference: bool = False,
    heads: bool = False,
) -> TranslatedSplit:
    """Translates texts, sentence by sentence, or a split of the run's data, or has it read references.

    Raises AugenmerkError if the split has no sentence pairs, or not those with the indices.
    """
    texts = as_list(text, str)
    check_sentences(texts)
    if reference and beam is not None:
        raise AugenmerkError("References are read, not searched for; give --reference or --beam.")
    if texts and (split is not None or reference or indices):
        raise AugenmerkError("Your sentence is in no split; leave out --split, --index and --reference.")
    chosen_device = choose_translating_device(device)
    data = RunDirectory.open(run).config.data
    if texts:
        name, language = "command line", data.languages[0] or "source"
        parts = (part for one in texts for part in split_sentences(one, data.languages[0]))
        pairs = [SentencePair(part, "") for part in parts]
    else:
        bitext, name = open_data_or_bilderbuch(data, split)
        language, pairs = bitext.source_language, list(bitext[name])
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{name}'.")
    for index in indices:
        check_index(name, index, pairs)
    translator = load(run, chosen_device)
    with show_status(f"{name}: {len(pairs):,} sentences"):
        if reference:
            read = [(pair.source, pair.target) for pair in pairs]
            translations = translator.score_all(read, heads=heads)
        else:
            sources = [pair.source for pair in pairs]
            translations = translator.translate(sources, heads=heads, beam=beam, split_sentences=False)
    if texts:
        warn_of_translations(translations)
    described = {"run": str(run), "split": name, "of": "references" if reference else "translations"}
    return TranslatedSplit(translator, language, pairs, translations, described)
