"""What commands read: runs and sentences among their arguments, and other data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from augenmerk.cli import options
from augenmerk.cli.options import Group
from augenmerk.text.words import check_sentences

if TYPE_CHECKING:
    from augenmerk.evaluation.opening import OtherData


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


# Runs and what they translate


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
        path, sentences = split_arguments(self.run)
        given = {"split": self.split, "beam": self.beam, "reference": self.reference, "device": self.device}
        self.chosen: dict[str, Any] = {"text": sentences, "run": path, **given}
        """What was given, as keywords of a function of `augenmerk`."""
