"""`augenmerk translate`: translates sentences, lines on stdin or a file with a trained run."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import MofNCompleteColumn
from typer import Argument, Option

from augenmerk.base.console import count_items, err, show_progress, warn
from augenmerk.base.errors import AugenmerkError, format_message, remove_control_characters
from augenmerk.cli import options
from augenmerk.cli.options import GROUP, Group, Search, grouped
from augenmerk.cli.terminal import is_utf8
from augenmerk.text.words import check_sentences

if TYPE_CHECKING:
    from augenmerk.translation import Translation, Translator
    from augenmerk.translation.files import FileJob

SPLITTING = " If there are several sentences, --split-sentences translates them all."

app = typer.Typer()


class Translating(Group):
    """What to translate, with which runs, and what to write."""

    text: Annotated[list[str] | None, Argument(show_default=False)] = None
    """Texts, or one file with a sentence on each line. Default: stdin."""
    model: options.Models = None
    input: Path | None = None
    """File with a sentence on each line."""
    output: Path | None = None
    """File to write to instead of stdout."""
    split_sentences: Annotated[
        bool | None, Option("--split-sentences/--no-split-sentences", show_default=False)
    ] = None
    """Translate the sentences of each text one by one, and keep its paragraphs. Default: arguments and what
    you type are texts; a line of a file or of a pipe is one sentence."""
    skip_bad: bool = False
    """Leave lines empty that are not UTF-8 or far too long, and continue."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    threads: options.Threads = None
    subwords: bool = False
    """With --json: include subwords."""
    heads: bool = False
    """With --json: include the attention of each head."""
    json: bool = False
    """Print a line of JSON for each text."""
    on: options.On = "local"
    ray_address: options.RayAddress = None

    def check(self) -> None:
        """Raises AugenmerkError if the options do not belong together."""
        from augenmerk.base.files import is_stream

        for name, given in (("--subwords", self.subwords), ("--heads", self.heads)):
            if given and not self.json:
                raise AugenmerkError(f"{name} adds to what --json prints: add --json.")
        if self.output is not None and self.output.is_dir():
            raise AugenmerkError(f"{self.output} is a folder; give --output the name of a file.")
        if self.on == "local":
            return
        for name, path in (("--input", self.input), ("--output", self.output)):
            if path is None or is_stream(path):
                raise AugenmerkError(f"Ray translates one file into another: {name} must be a file.")
        if self.device not in ("auto", "cpu", "cuda"):
            raise AugenmerkError(
                f"--device {self.device}: with --on ray it is cpu, or cuda for a GPU of any machine that has "
                f"one free."
            )


@app.command(
    epilog="Examples:  augenmerk translate 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk translate --model runs/mine --beam 5 'Der kleine Hund schläft.'    "
    "augenmerk translate --model runs/mine --input de.txt --output en.txt    "
    "augenmerk translate --model runs/a --model runs/b --beam 10 --mbr < de.txt    "
    "Search settings that you leave out are those of the run.    "
    "With more than one translation of each sentence (--n-best), a line has three columns with tabs between "
    "them: the number of the text, from 1, or 1.1, 1.2, ... if it has several sentences; the score (the "
    "log-probability, divided by the length to the power of the length penalty; with --mbr the expected "
    "chrF), higher is better, none for an empty line or a bad one; the translation.    "
    "A large file over a cluster: --on ray --ray-address head:6379, with files that all its machines see; if "
    "it is killed, run the same command again to resume."
)
@grouped
def translate(given: Translating = GROUP, search: Search = GROUP) -> None:
    """Translate texts, lines on stdin, or a file."""
    from augenmerk.base.device import CPU, choose_translating_device
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.translation import load
    from augenmerk.translation.output import LineFormat

    options.load_mechanisms(given.attention)
    given.input, sentences = _choose_input(given.text or [], given.input)
    given.check()
    _check_search(search)
    on_ray = given.on == "ray"
    with options.connect_if_asked(given.on, given.ray_address):
        device = CPU if on_ray else choose_translating_device(given.device)
        translator = load(given.model or BUNDLED_MODEL, device)
        if search.candidates is not None and not (search.mbr or translator.config.search.mbr):
            raise AugenmerkError("--candidates are what --mbr chooses from: add --mbr, or use --n-best.")
        several = translator.search_settings(**vars(search)).n_best > 1
        line_format = LineFormat(
            several, given.json, given.subwords, escape=not is_utf8(), one_line=not sentences
        )
        split = given.split_sentences
        if split is None:
            split = bool(sentences) or (given.input is None and sys.stdin.isatty())
        if on_ray and given.input is not None and given.output is not None:
            from augenmerk.translation.files import FileJob

            job = FileJob(
                runs=tuple(path.absolute() for path in given.model or ()),
                device=CPU if given.device == "auto" else given.device,
                options=vars(search),
                format=line_format,
                heads=given.heads,
                split_sentences=split,
                skip_bad=given.skip_bad,
                mechanisms=tuple(str(Path(named).absolute()) for named in given.attention or ()),
            )
            _translate_on_ray(job, translator, given.input, given.output)
            return
        how = {**vars(search), "heads": given.heads, "split_sentences": split}
        translations = _translate(translator, sentences, given.input, how, skip_bad=given.skip_bad)
        numbered = enumerate(translations, 1)
        _write((line for number, one in numbered for line in line_format.format(number, one)), given.output)


def _choose_input(sentences: list[str], file: Path | None) -> tuple[Path | None, list[str]]:
    """Returns the file or the sentences to translate; neither if they come from stdin."""
    if len(sentences) == 1 and file is None and os.path.isfile(sentences[0]):  # noqa: PTH113 (any length)
        warn(f"{format_message(sentences[0])} is a file, whose lines are translated.")
        return Path(sentences[0]), []
    if sentences and file is not None:
        raise AugenmerkError("There are sentences and an --input file; give one or the other.")
    check_sentences(sentences)
    first = sentences[0] if sentences else ""
    if re.fullmatch(r"\S+\.[A-Za-z]\w{0,4}", first):
        warn(f"There is no file {format_message(first)}; it is translated as a sentence.")
    elif len(sentences) > 1 and not any(" " in sentence.strip() for sentence in sentences):
        warn("Each argument is translated as one sentence; put a whole sentence in quotation marks.")
    return file, sentences


def _check_search(search: Search) -> None:
    """Raises AugenmerkError if an option modifies a search that was not asked for."""
    for name, given in (("--temperature", search.temperature), ("--top-k", search.top_k)):
        if given is not None and not search.sample:
            raise AugenmerkError(f"{name} is for sampling: add --sample.")
    if search.sample and search.beam is not None:
        raise AugenmerkError("A sample is drawn without a beam; give --sample or --beam.")


def _translate_on_ray(job: "FileJob", translator: "Translator", source: Path, output: Path) -> None:
    """Translates a file in blocks over the cluster that is connected, with the warnings of `_translate`."""
    from augenmerk.cluster.blocks import RayTasks
    from augenmerk.data import BadLineError
    from augenmerk.translation.files import blocks_folder, translate_file

    output = Path(os.path.realpath(output))  # a symbolic link stays
    map_blocks = RayTasks(blocks_folder(output), gpus=1 if job.device == "cuda" else 0)
    try:
        with show_progress(MofNCompleteColumn()) as on_progress:
            found = translate_file(
                job, translator, source, output, map_blocks=map_blocks, on_progress=on_progress
            )
    except BadLineError as error:
        raise _explain_bad_line(error) from None
    for number in found.truncated:
        _warn_of_truncation("line", number, translator)
    _warn_of_bad_lines(found.bad_lines, found.first_bad)
    for sentence in found.doubts.describe(found.lines, "" if job.split_sentences else SPLITTING):
        warn(sentence)


def _translate(
    translator: "Translator",
    sentences: list[str],
    file: Path | None,
    how: Mapping[str, Any],
    *,
    skip_bad: bool,
) -> "Iterator[Translation]":
    """Translates the sentences, or the lines of the file or on stdin; `how` has keywords of
    `Translator.stream`.

    Warns where one was too long and, at the end, of bad lines that were skipped, whose translation is empty,
    of those that are unlike what the model learnt from, and of translations that leave something out.
    """
    from augenmerk.text.pairs import BadLine, BadLineError
    from augenmerk.translation.output import Doubts

    lines: Iterable[str | None] = sentences
    bad_lines: list[BadLine] | None = [] if skip_bad else None
    if file is not None:
        from augenmerk.data.lines import read_lines

        lines = read_lines(file, bad_lines)
    elif not sentences:
        from augenmerk.data.lines import read_stdin

        lines = read_stdin(bad_lines)
        if sys.stdin.isatty():
            err().print("[dim]Type one sentence on each line; Ctrl-D ends.[/]")
    number, unit = 0, "sentence" if sentences else "line"
    doubts = Doubts(unit)
    try:
        for number, translation in enumerate(translator.stream(lines, **how), 1):
            doubts.add(number, translation)
            if translation.truncated:
                _warn_of_truncation(unit, number, translator)
            yield translation
    except BadLineError as error:
        raise _explain_bad_line(error) from None
    if bad_lines:
        _warn_of_bad_lines(Counter[str](bad.kind for bad in bad_lines), bad_lines[0].line)
    for sentence in doubts.describe(number, "" if how["split_sentences"] else SPLITTING):
        warn(sentence)


def _explain_bad_line(error: Exception) -> AugenmerkError:
    return AugenmerkError(f"{error} --skip-bad leaves such lines empty and continues.")


def _warn_of_truncation(unit: str, number: int, translator: "Translator") -> None:
    warn(
        f"{unit} {number} has more than {translator.max_source_length} tokens, the most this model reads: "
        f"only its beginning was translated."
    )


def _warn_of_bad_lines(kinds: Counter[str], first: int) -> None:
    if kinds:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        warn(f"Bad lines, whose translation is empty: {reasons}; the first is line {first:,}.")


def _write(lines: Iterable[str], output: Path | None) -> None:
    """Writes the lines to stdout, each at once, or to a file that appears when all are written.

    If that is interrupted, the lines that there are already are kept beside the file, in FILE.partial.
    """
    from augenmerk.base.files import atomic_write, is_stream, replacing

    if output is None:
        for line in lines:
            sys.stdout.write(remove_control_characters(line) if sys.stdout.isatty() else line)
            sys.stdout.flush()  # a reader of a pipe need not wait until a buffer is full
        return
    if is_stream(output):
        atomic_write(output, (line.encode() for line in lines))
        return
    path, count = Path(os.path.realpath(output)), 0
    partial = path.with_name(f"{path.name}.partial")
    with replacing(path) as temporary:
        try:
            with temporary.open("wb") as file, show_progress(MofNCompleteColumn()) as on_progress:
                for line in count_items(lines, "lines", on_progress):
                    file.write(line.encode())
                    count += 1
        except KeyboardInterrupt as interrupt:
            if count:
                temporary.replace(partial)
                interrupt.args = (f"{partial} has the first {count:,} lines.",)
            raise
