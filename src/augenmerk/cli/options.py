"""Options that several commands share, and the functions that carry them out."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from rich.markup import escape
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.terminal import err, out, show_status
from augenmerk.cli.unfamiliar import warn_of_translations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from augenmerk.base.config import DataConfig
    from augenmerk.data import BadLine, Bitext, SentencePair
    from augenmerk.drawing.figures import Style
    from augenmerk.translation import Translation, Translator

MAX_SEED = 2**63 - 1
MAX_THREADS = 1024


def _use_threads(number: int | None) -> int | None:
    """Sets the number of threads, before the libraries that read it from the environment are imported."""
    if number is not None:
        os.environ.update(OMP_NUM_THREADS=str(number), MKL_NUM_THREADS=str(number))
    return number


Json = Annotated[bool, Option("--json", help="Print the result as one JSON document.")]
Device = Annotated[str, Option(help="Device to compute on: auto, cpu or cuda.")]
Threads = Annotated[
    int | None,
    Option(
        help="CPU threads to compute with. Default: $OMP_NUM_THREADS, or one for each core that this process "
        "may use.",
        min=1,
        max=MAX_THREADS,
        callback=_use_threads,
    ),
]
MAX_BEAM = 1000
MAX_INDEX = 2**31 - 1
Beam = Annotated[
    int | None,
    Option(help="Beam width; 1 is greedy search. Default: the run's own setting.", min=1, max=MAX_BEAM),
]
Data = Annotated[
    str | None,
    Option(help="bilderbuch, multi30k, or a folder or file of your own pairs. Default: the preset's data."),
]
SourceLanguage = Annotated[str | None, Option(help="Language to translate from, e.g. de.")]
TargetLanguage = Annotated[str | None, Option(help="Language to translate into, e.g. en.")]
SkipBad = Annotated[
    bool, Option("--skip-bad", help="Leave out bad lines of your own files (empty, not UTF-8, ...).")
]
Precision = Annotated[
    Literal["fp32", "int8"] | None,
    Option(
        help="Numbers to compute in; int8 is faster on a CPU, rounds, and needs ONNX Runtime. Default: "
        "the run's own setting."
    ),
]
Mbr = Annotated[bool, Option("--mbr", help="Minimum Bayes risk: choose the candidate most like the others.")]
Run = Annotated[
    Path | None, Argument(help="Run directory. Default: the model that ships.", show_default=False)
]
RunAndSentences = Annotated[
    list[str] | None,
    Argument(
        metavar="[RUN] SENTENCE",
        help="Run directory, by default the model that ships; and sentences of your own, in quotation marks, "
        "instead of a split.",
        show_default=False,
    ),
]
Models = Annotated[
    list[Path] | None, Option(help="Run directory; repeatable. Default: the model that ships with augenmerk.")
]
Split = Annotated[str | None, Option(help="Split of the run's data. Default: the validation split.")]
Reference = Annotated[
    bool, Option("--reference", help="Feed the reference translations to the model instead of translating.")
]
Layer = Annotated[
    int | None,
    Option(help="Of a Transformer, take only this layer, counted from 1. Default: all.", min=1, max=8),
]
Mechanisms = Annotated[
    list[str] | None,
    Option(
        "--attention",
        metavar="FILE.py:CLASS",
        help="Attention mechanism in a file of your own, which a run was trained with; repeatable. The file "
        "is code, so it is executed only if you name it here.",
    ),
]
RESUMABLE = "What is finished is kept: run the same command again to resume."
"""What a command that computes in blocks prints when it is interrupted."""
Place = Literal["local", "ray"]
On = Annotated[Place, Option(help="Compute on this machine (local), or over a Ray cluster (ray).")]
RayAddress = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="The Ray cluster; auto is that of this machine. Default: $RAY_ADDRESS, or one is started here.",
    ),
]

ThemeName = Annotated[str, Option("--theme", help="Colours of pictures: light, or dark.")]
Title = Annotated[str | None, Option(help="Title above the picture, or of the page.")]
Size = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Size of pictures: a shape such as 16:9, inches such as 8x4.5, or 20x10cm. Default: as needed.",
    ),
]
FontSize = Annotated[
    float | None, Option(help="Size of ordinary text in points, e.g. 14 for slides. Default: 10.")
]
Outline = Annotated[
    bool,
    Option("--outline", help="Draw letters in SVG files as paths, which look the same without the font."),
]
MIN_FONT_SIZE, MAX_FONT_SIZE = 4.0, 72.0


def make_style(
    theme: str, title: str | None, size: str | None, font_size: float | None, outline: bool
) -> "Style":
    """Returns how pictures are to look; raises AugenmerkError for what cannot be drawn."""
    from augenmerk.drawing.figures import PictureSize, Style, get_theme

    if font_size is not None and not MIN_FONT_SIZE <= font_size <= MAX_FONT_SIZE:
        raise AugenmerkError(
            f"--font-size {font_size:g} is impossible: it is {MIN_FONT_SIZE:g} to {MAX_FONT_SIZE:g} points."
        )
    sides = None if size is None else PictureSize.parse(size)
    return Style(get_theme(theme), title, sides, font_size, outline)


@contextmanager
def connect_if_asked(on: Place, ray_address: str | None) -> Iterator[None]:
    """Connects the Ray cluster, if one was asked for; an interrupted command then says how to resume."""
    if on == "local":
        if ray_address is not None:
            raise AugenmerkError("--ray-address is for a Ray cluster: add --on ray.")
        yield
        return
    from augenmerk.cluster.ray import connect

    try:
        with connect(ray_address):
            yield
    except KeyboardInterrupt as interrupt:
        interrupt.args = (RESUMABLE,)
        raise


def load_mechanisms(places: list[str] | None) -> None:
    """Loads attention mechanisms from files that the user named."""
    if places:
        from augenmerk.model.custom import load_mechanisms as load

        load(places)


COMMAND_LINE = "command line"
"""What stands where a split is named, for sentences that the user gave."""


class OtherData:
    """The sentence pairs that --data names, for a run that was trained on others or on the same."""

    def __init__(
        self,
        name: str,
        divided: bool,
        source_language: str | None = None,
        target_language: str | None = None,
        *,
        skip_bad: bool = False,
    ) -> None:
        """A file of one's own is one split with all of its pairs, unless `divided`."""
        from augenmerk.data import resolve_data_name

        self.place = resolve_data_name(name, Path.cwd())
        self._divided = divided
        self._skip_bad = skip_bad
        self._languages = source_language, target_language

    def is_place_of(self, own: str) -> bool:
        """Returns whether the data of a run is here: the same, or what is left of data that was moved.

        What was a file must have kept its name: another file is more likely to be another test set.
        """
        from augenmerk.data import NAMES, place_exists

        moved = own not in NAMES and not place_exists(Path(own)) and self.place not in NAMES
        return self.place == own or (
            moved and (Path(self.place).is_dir() or Path(self.place).name == Path(own).name)
        )

    def open(self, own: "DataConfig") -> "Bitext":
        """Opens the pairs; they are in the languages of the run's own, unless others were given."""
        from augenmerk.data import open_bitext

        source, target = self._languages
        return open_bitext(
            self.place,
            source_language=source or own.source_language,
            target_language=target or own.target_language,
            skip_bad=self._skip_bad,
            divide=self._divided,
        )


def describe_skipped(skipped: "Collection[BadLine]") -> str:
    """Returns how many bad lines were skipped, and why, in a line for people."""
    kinds = sorted(Counter(bad.kind for bad in skipped).items())
    reasons = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    return f"{len(skipped):,} bad line{'s' if len(skipped) > 1 else ''} skipped: {reasons}"


def check_sentences(sentences: "Sequence[str]") -> None:
    """Raises AugenmerkError if a sentence of the command line is empty or not UTF-8."""
    for number, sentence in enumerate(sentences, 1):
        if not sentence.strip():  # empty lines of a file are kept, but an empty argument is a mistake
            raise AugenmerkError(f"Sentence {number} is empty; give a sentence, in quotation marks.")
        # Python decodes bytes of an argument that are not UTF-8 to surrogates.
        if not sentence.isascii() and any("\ud800" <= character <= "\udfff" for character in sentence):
            raise AugenmerkError(f"Sentence {number} is not UTF-8; convert it to UTF-8.")


def print_attention(one: "Translation") -> None:
    """Draws the attention over words in the terminal, and that of each head if there is more than one."""
    from augenmerk.drawing import (
        AttentionMap,
        explain_terminal_maps,
        render_terminal_map,
        render_terminal_maps,
    )

    width, groups = out().width, [[AttentionMap.from_translation(one)]]
    if len(one.heads) > 1:
        groups.append([AttentionMap.from_translation(one, head=head) for head in one.heads])
    for maps in groups:
        out().print()
        several = len(maps) > 1
        out().print(render_terminal_maps(maps, width) if several else render_terminal_map(maps[0], width))
    out().print(f"[dim]{explain_terminal_maps(groups, width)}[/]")


def check_index(split: str, index: int, pairs: "Sequence[SentencePair]") -> None:
    """Raises AugenmerkError if the split has no sentence with this index."""
    if not 0 <= index < len(pairs):
        raise AugenmerkError(f"'{split}' has no sentence {index}: its {len(pairs):,} sentences count from 0.")


class TranslatedSplit(NamedTuple):
    """Sentences of a split or of the command line, as the run translated or, with --reference, read them."""

    translator: "Translator"
    source_language: str
    pairs: "list[SentencePair]"
    translations: "list[Translation]"
    described: dict[str, str]
    """The run, the split, and whether the translations are those of the model, for JSON."""


def is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except OSError:  # a sentence may be longer than a name
        return False


def split_arguments(arguments: list[str] | None) -> tuple[Path, list[str]]:
    """Returns the run directory, by default that of the model that ships, and the sentences after it.

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


def translate_split(
    run: Path,
    split: str | None,
    beam: int | None,
    reference: bool,
    device: str,
    indices: Iterable[int] = (),
    *,
    sentences: Sequence[str] = (),
    heads: bool = False,
) -> TranslatedSplit:
    """Translates texts, sentence by sentence, or a split of the run's data, or has it read references.

    Raises AugenmerkError if the split has no sentence pairs, or not those with the indices.
    """
    from augenmerk.base.device import choose_translating_device
    from augenmerk.data import SentencePair
    from augenmerk.run.directory import RunDirectory
    from augenmerk.text.sentences import split_sentences
    from augenmerk.translation import load

    if reference and beam is not None:
        raise AugenmerkError("References are read, not searched for; give --reference or --beam.")
    if sentences and (split is not None or reference or indices):
        raise AugenmerkError(
            "A sentence of your own is in no split; leave out --split, --index and --reference."
        )
    chosen_device = choose_translating_device(device)
    data = RunDirectory.open(run).config.data
    if sentences:
        name, language = COMMAND_LINE, data.languages[0] or "source"
        pairs = [
            SentencePair(sentence, "")
            for text in sentences
            for sentence in split_sentences(text, data.languages[0])
        ]
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
            translations = translator.score_all([(pair.source, pair.target) for pair in pairs], heads=heads)
        else:
            sources = [pair.source for pair in pairs]
            translations = translator.translate(sources, heads=heads, beam=beam, split_sentences=False)
    if sentences:
        warn_of_translations(translations)
    described = {"run": str(run), "split": name, "of": "references" if reference else "translations"}
    return TranslatedSplit(translator, language, pairs, translations, described)


def open_data_or_bilderbuch(data: "DataConfig", split: str | None) -> "tuple[Bitext, str]":
    """Opens the data of a run, or says that bilderbuch is opened because that is not there."""
    from augenmerk import data as bitext

    found, name = bitext.open_data_or_bilderbuch(data, split)
    if found.name == "bilderbuch" != data.bitext:
        err().print(
            f"The data of this run, {escape(data.bitext)}, is not here: these are sentences of bilderbuch "
            f"({name}) instead."
        )
    return found, name


def write_pictures(
    folder: Path, names: Sequence[str], figures: "Iterable[Figure]", *, outline: bool
) -> list[str]:
    """Writes figures with numbered names, such as 01-test-7.svg, and returns the names."""
    from augenmerk.drawing.figures import save_figure

    digits = len(str(len(names)))
    files = [f"{number:0{digits}}-{name}" for number, name in enumerate(names, 1)]
    for file, figure in zip(files, figures, strict=True):
        save_figure(figure, folder / file, outline=outline)
    return files
