"""What commands read: runs and sentences among their arguments, splits of a run's data, other data, stdin.

Warnings about this input are printed here too: of text unlike what a model learnt from, and of translations
that leave something out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rich.markup import escape
from typer import Argument

from augenmerk.base.console import err, show_status
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import options
from augenmerk.cli.options import Group

if TYPE_CHECKING:
    from augenmerk.base.config import DataConfig
    from augenmerk.data import BadLine, Bitext, SentencePair
    from augenmerk.evaluation.opening import OtherData
    from augenmerk.translation import Translation, Translator

COMMAND_LINE = "command line"
"""The name of the split if the sentences are arguments."""


def is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except OSError:  # a sentence may be longer than a name
        return False


def split_arguments(arguments: list[str] | None) -> tuple[Path, list[str]]:
    """Returns the run directory, by default that of the bundled model, and the sentences after it.

    The first argument is a run unless it has a space in it, as a sentence has. So a run whose name was
    mistyped is not translated.
    """
    from augenmerk.run.bundled import BUNDLED_MODEL

    sentences = list(arguments or [])
    run = BUNDLED_MODEL
    if sentences and (is_folder(sentences[0]) or not any(map(str.isspace, sentences[0].strip()))):
        run = Path(sentences.pop(0))
    check_sentences(sentences)
    return run, sentences


def check_sentences(sentences: Sequence[str]) -> None:
    """Raises AugenmerkError if a sentence of the command line is empty or not UTF-8."""
    for number, sentence in enumerate(sentences, 1):
        if not sentence.strip():  # empty lines of a file are kept, but an empty argument is a mistake
            raise AugenmerkError(f"Sentence {number} is empty; give a sentence, in quotation marks.")
        # Python decodes bytes of an argument that are not UTF-8 to surrogates.
        if not sentence.isascii() and any("\ud800" <= character <= "\udfff" for character in sentence):
            raise AugenmerkError(f"Sentence {number} is not UTF-8; convert it to UTF-8.")


# Other data


class DataOptions(Group):
    """Sentence pairs that are not those of a run."""

    data: str | None = None
    """Other sentence pairs, as train takes them: a name, a folder or a file; or where the data of the run is
    now, if it was moved."""
    source_language: options.SourceLanguage = None
    target_language: options.TargetLanguage = None

    def find(self, *, divided: bool, skip_bad: bool = False) -> "OtherData | None":
        """Returns the sentence pairs, if there are any."""
        from augenmerk.evaluation.opening import find_other_data

        return find_other_data(**vars(self), divided=divided, skip_bad=skip_bad)


def describe_skipped(skipped: "Collection[BadLine]") -> str:
    """Returns how many bad lines were skipped, and why, in a line for people."""
    kinds = sorted(Counter(bad.kind for bad in skipped).items())
    reasons = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    return f"{len(skipped):,} bad line{'s' if len(skipped) > 1 else ''} skipped: {reasons}"


# Runs and what they translate


def open_data_or_bilderbuch(data: "DataConfig", split: str | None) -> "tuple[Bitext, str]":
    """Opens the data of a run, or bilderbuch if that is missing; then it prints a line about it."""
    from augenmerk import data as bitext

    found, name = bitext.open_data_or_bilderbuch(data, split)
    if found.name == "bilderbuch" != data.bitext:
        err().print(
            f"The data of this run, {escape(data.bitext)}, is not here: these are sentences of bilderbuch "
            f"({name}) instead."
        )
    return found, name


def check_index(split: str, index: int, pairs: "Sequence[SentencePair]") -> None:
    """Raises AugenmerkError if the split has no sentence with this index."""
    if not 0 <= index < len(pairs):
        raise AugenmerkError(
            f"'{split}' has no sentence {index}: its {len(pairs):,} sentences are counted from 0."
        )


class TranslatedSplit(NamedTuple):
    """Sentences of a split or of the command line, as the run translated or, with --reference, read them."""

    translator: "Translator"
    source_language: str
    pairs: "list[SentencePair]"
    translations: "list[Translation]"
    described: dict[str, str]
    """The run, the split, and whether the translations are those of the model, for JSON."""


class RunOptions(Group):
    """Which run translates, or reads the references of, which sentences."""

    run: Annotated[list[str] | None, Argument(metavar="[RUN] SENTENCE", show_default=False)] = None
    """Run directory, by default the bundled model; and your own sentences, in quotation marks, instead of a
    split."""
    split: str | None = None
    """Split of the run's data. Default: the validation split."""
    beam: options.Beam = None
    reference: bool = False
    """Feed the reference translations to the model instead of translating."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        options.load_mechanisms(self.attention)
        self.path, self.sentences = split_arguments(self.run)

    def translate(
        self, indices: Iterable[int] = (), *, heads: bool = False, device: str | None = None
    ) -> TranslatedSplit:
        """Translates texts, sentence by sentence, or a split of the run's data, or has it read references.

        Raises AugenmerkError if the split has no sentence pairs, or not those with the indices.
        """
        from augenmerk.base.device import choose_translating_device
        from augenmerk.data import SentencePair
        from augenmerk.run.directory import RunDirectory
        from augenmerk.text.words import split_sentences
        from augenmerk.translation import load

        if self.reference and self.beam is not None:
            raise AugenmerkError("References are read, not searched for; give --reference or --beam.")
        if self.sentences and (self.split is not None or self.reference or indices):
            raise AugenmerkError("Your sentence is in no split; leave out --split, --index and --reference.")
        chosen_device = choose_translating_device(device or self.device)
        data = RunDirectory.open(self.path).config.data
        if self.sentences:
            name, language = COMMAND_LINE, data.languages[0] or "source"
            parts = (part for text in self.sentences for part in split_sentences(text, data.languages[0]))
            pairs = [SentencePair(part, "") for part in parts]
        else:
            bitext, name = open_data_or_bilderbuch(data, self.split)
            language, pairs = bitext.source_language, list(bitext[name])
            if not pairs:
                raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{name}'.")
        for index in indices:
            check_index(name, index, pairs)
        translator = load(self.path, chosen_device)
        with show_status(f"{name}: {len(pairs):,} sentences"):
            if self.reference:
                read = [(pair.source, pair.target) for pair in pairs]
                translations = translator.score_all(read, heads=heads)
            else:
                sources = [pair.source for pair in pairs]
                translations = translator.translate(
                    sources, heads=heads, beam=self.beam, split_sentences=False
                )
        if self.sentences:
            from augenmerk.translation.output import warn_of_translations

            warn_of_translations(translations)
        of = "references" if self.reference else "translations"
        described = {"run": str(self.path), "split": name, "of": of}
        return TranslatedSplit(translator, language, pairs, translations, described)
