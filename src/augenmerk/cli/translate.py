"""`augenmerk translate`: translates sentences, lines on stdin or a file with a trained run."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from augenmerk.base.errors import AugenmerkError, format_message, remove_control_characters
from augenmerk.cli.options import (
    MAX_SEED,
    Beam,
    Device,
    Mbr,
    Mechanisms,
    Models,
    On,
    Precision,
    RayAddress,
    Threads,
    check_sentences,
    connect_if_asked,
    load_mechanisms,
)
from augenmerk.cli.stdin import read_stdin
from augenmerk.cli.terminal import FittingProgress, err, is_utf8, show_progress
from augenmerk.cli.unfamiliar import Uncovered, Unfamiliar

if TYPE_CHECKING:
    from augenmerk.translation import Translation, Translator
    from augenmerk.translation.file_blocks import FileJob

app = typer.Typer()


@app.command(
    epilog="Examples:  augenmerk translate 'Ein Mann fährt mit dem Fahrrad durch den Park.'    "
    "augenmerk translate --model runs/mine --beam 5 'Der kleine Hund schläft.'    "
    "augenmerk translate --model runs/mine --input de.txt --output en.txt    "
    "augenmerk translate --model runs/a --model runs/b --beam 10 --mbr < de.txt    "
    "With more than one translation of each sentence (--n-best), a line has three columns with tabs between "
    "them: the number of the text, from 1, or 1.1, 1.2, ... if it has several sentences; the score (the "
    "log-probability, divided by the length to the power of search.length_penalty; with --mbr the expected "
    "chrF), higher is better, none for an empty line or a bad one; the translation.    "
    "A large file over a cluster: --on ray --ray-address head:6379, with files that all its machines see; if "
    "it is killed, the same command goes on with what is finished."
)
def translate(
    text: Annotated[
        list[str] | None,
        Argument(help="Texts, or one file with a sentence on each line. Default: stdin.", show_default=False),
    ] = None,
    model: Models = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None,
        Option(
            help="Translations of each sentence, as lines of number, score and text. Default: 1.",
            min=1,
            max=1000,
        ),
    ] = None,
    input: Annotated[Path | None, Option(help="File with a sentence on each line.")] = None,  # noqa: A002
    output: Annotated[Path | None, Option(help="File to write to instead of stdout.")] = None,
    replace_unknown: Annotated[
        bool, Option("--replace-unknown", help="Replace unknown words by the source words they attend to.")
    ] = False,
    sample: Annotated[bool, Option("--sample", help="Sample at random instead of searching.")] = False,
    temperature: Annotated[
        float | None, Option(help="Temperature of --sample; lower is less random.")
    ] = None,
    top_k: Annotated[
        int | None, Option(help="Sample from the k most probable tokens; 0 for all.", min=0, max=1_000_000)
    ] = None,
    seed: Annotated[
        int | None, Option(help="Random seed for --sample. Default: 1.", min=0, max=MAX_SEED)
    ] = None,
    mbr: Mbr = False,
    candidates: Annotated[
        int | None,
        Option(help="Candidates of each model for --mbr. Default: the beam, or 50 samples.", min=2, max=1000),
    ] = None,
    split_sentences: Annotated[
        bool | None,
        Option(
            "--split-sentences/--no-split-sentences",
            help="Translate the sentences of each text one by one, and keep its paragraphs. Default: "
            "arguments and what you type are texts; a line of a file or of a pipe is one sentence.",
            show_default=False,
        ),
    ] = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad", help="Leave lines empty that are not UTF-8 or far too long, and go on.")
    ] = False,
    attention: Mechanisms = None,
    device: Device = "auto",
    precision: Precision = None,
    threads: Threads = None,  # noqa: ARG001 (its callback uses it)
    subwords: Annotated[bool, Option("--subwords", help="With --json: include subwords.")] = False,
    heads: Annotated[
        bool, Option("--heads", help="With --json: include the attention of each head.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print a line of JSON for each text.")] = False,
    on: On = "local",
    ray_address: RayAddress = None,
) -> None:
    """Translate texts, lines on stdin, or a file."""
    from augenmerk.base.device import CPU, choose_translating_device
    from augenmerk.run.bundled import BUNDLED_MODEL
    from augenmerk.translation import load
    from augenmerk.translation.lines import LineFormat

    load_mechanisms(attention)
    sentences = text or []
    if len(sentences) == 1 and input is None and os.path.isfile(sentences[0]):  # noqa: PTH113 (any length)
        typer.echo(
            f"augenmerk: {format_message(sentences[0])} is a file, whose lines are translated.", err=True
        )
        input, sentences = Path(sentences[0]), []  # noqa: A001
    if sentences and input is not None:
        raise AugenmerkError("There are sentences and an --input file; give one or the other.")
    if subwords and not json:
        raise AugenmerkError("--subwords adds to what --json prints: add --json.")
    if heads and not json:
        raise AugenmerkError("--heads adds to what --json prints: add --json.")
    for name, given in (("--temperature", temperature), ("--top-k", top_k)):
        if given is not None and not sample:
            raise AugenmerkError(f"{name} says how to sample: add --sample.")
    if sample and beam is not None:
        raise AugenmerkError("A sample is drawn without a beam; give --sample or --beam.")
    if candidates is not None and not mbr:
        raise AugenmerkError("--candidates are what --mbr chooses from: add --mbr, or say --n-best.")
    if output is not None and output.is_dir():
        raise AugenmerkError(f"{output} is a folder; give --output the name of a file.")
    check_sentences(sentences)
    _warn_of_no_sentences(sentences)
    options = {  # None leaves a setting as it is in the run
        "beam": beam,
        "n_best": n_best,
        "replace_unknown": replace_unknown or None,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "seed": seed,
        "mbr": mbr or None,
        "candidates": candidates,
        "precision": precision,
    }
    if on == "ray":
        _check_for_ray(input, output, device)
    with connect_if_asked(on, ray_address):
        translator = load(model or BUNDLED_MODEL, CPU if on == "ray" else choose_translating_device(device))
        several = translator.search_settings(**options).n_best > 1
        line_format = LineFormat(several, json, subwords, escape=not is_utf8(), one_line=not sentences)
        typed = not sentences and input is None and sys.stdin.isatty()
        split = bool(sentences) or typed if split_sentences is None else split_sentences
        if on == "ray" and input is not None and output is not None:
            from augenmerk.translation.file_blocks import FileJob

            job = FileJob(
                runs=tuple(path.absolute() for path in model or ()),
                device=CPU if device == "auto" else device,
                options=options,
                format=line_format,
                heads=heads,
                split_sentences=split,
                skip_bad=skip_bad,
                mechanisms=tuple(str(Path(place).absolute()) for place in attention or ()),
            )
            _translate_on_ray(job, translator, input, output)
        else:
            how = {**options, "heads": heads, "split_sentences": split}
            translations = _translate(translator, sentences, input, how, skip_bad=skip_bad)
            numbered = enumerate(translations, 1)
            _write((line for number, one in numbered for line in line_format.format(number, one)), output)


def _check_for_ray(source: Path | None, output: Path | None, device: str) -> None:
    """Raises AugenmerkError for what cannot be translated in blocks over a cluster."""
    from augenmerk.base.files import is_stream

    if source is None or output is None:
        raise AugenmerkError("Ray translates one file into another: give it an --input and an --output.")
    for name, path in (("--input", source), ("--output", output)):
        if is_stream(path):
            raise AugenmerkError(f"{name} {path} is not a file, which --on ray needs.")
    if device not in ("auto", "cpu", "cuda"):
        raise AugenmerkError(
            f"--device {device}: with --on ray say cpu, or cuda for a GPU of whichever machine has one free."
        )


def _translate_on_ray(job: "FileJob", translator: "Translator", source: Path, output: Path) -> None:
    """Translates a file in blocks over the cluster that is connected, with the warnings of `_translate`."""
    from augenmerk.cluster.blocks import RayTasks
    from augenmerk.data import BadLineError
    from augenmerk.translation.file_blocks import blocks_folder, translate_file

    output = Path(os.path.realpath(output))  # a symbolic link stays
    map_blocks = RayTasks(blocks_folder(output), gpus=1 if job.device == "cuda" else 0)
    try:
        with show_progress(MofNCompleteColumn()) as on_progress:
            found = translate_file(
                job, translator, source, output, map_blocks=map_blocks, on_progress=on_progress
            )
    except BadLineError as error:
        raise AugenmerkError(f"{error} --skip-bad leaves such lines empty and goes on.") from None
    for number in found.truncated:
        _warn_of_truncation("line", number, translator)
    unfamiliar, uncovered = Unfamiliar("line"), Uncovered("line")
    for reason, count, first in found.unfamiliar:
        unfamiliar.add(first, reason, count)
    for count, first, text in found.uncovered:
        uncovered.add(first, text, count)
    split = job.split_sentences
    _warn_at_the_end(found.bad_lines, found.first_bad, unfamiliar, uncovered, found.lines, split=split)


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
    from augenmerk.data import BadLine, BadLineError

    lines: Iterable[str | None] = sentences
    bad_lines: list[BadLine] | None = [] if skip_bad else None
    if file is not None:
        from augenmerk.data.files import read_lines

        lines = read_lines(file, bad_lines)
    elif not sentences:
        lines = read_stdin(bad_lines)
        if sys.stdin.isatty():
            err().print("[dim]Type one sentence on each line; Ctrl-D ends.[/]")
    number, unit = 0, "sentence" if sentences else "line"
    unfamiliar, uncovered = Unfamiliar(unit), Uncovered(unit)
    try:
        for number, translation in enumerate(translator.stream(lines, **how), 1):
            if translation.unfamiliar is not None:
                unfamiliar.add(number, translation.unfamiliar)
            if translation.uncovered is not None:
                uncovered.add(number, translation.uncovered)
            if translation.truncated:
                _warn_of_truncation(unit, number, translator)
            yield translation
    except BadLineError as error:
        raise AugenmerkError(f"{error} --skip-bad leaves such lines empty and goes on.") from None
    kinds = Counter[str](bad.kind for bad in bad_lines or ())
    first_bad = bad_lines[0].line if bad_lines else 0
    _warn_at_the_end(kinds, first_bad, unfamiliar, uncovered, number, split=how["split_sentences"])


def _warn_of_truncation(unit: str, number: int, translator: "Translator") -> None:
    typer.echo(
        f"augenmerk: {unit} {number} has more than {translator.max_source_length} tokens, the most this "
        f"model reads: only its beginning was translated.",
        err=True,
    )


def _warn_at_the_end(
    bad_lines: Counter[str],
    first_bad: int,
    unfamiliar: Unfamiliar,
    uncovered: Uncovered,
    total: int,
    *,
    split: bool,
) -> None:
    if bad_lines:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in sorted(bad_lines.items()))
        typer.echo(
            f"augenmerk: Bad lines, whose translation is empty: {reasons}; the first is line {first_bad:,}.",
            err=True,
        )
    if unfamiliar.reasons:
        typer.echo(f"augenmerk: {unfamiliar.describe(total)}", err=True)
    if uncovered.count:
        hint = "" if split else " If there are several sentences, --split-sentences translates them all."
        typer.echo(f"augenmerk: {uncovered.describe(total)}{hint}", err=True)


def _warn_of_no_sentences(sentences: Sequence[str]) -> None:
    """Says on stderr that an argument looks like a file that is not there, or like a part of a sentence."""
    first = sentences[0] if sentences else ""
    if re.fullmatch(r"\S+\.[A-Za-z]\w{0,4}", first):
        typer.echo(
            f"augenmerk: There is no file {format_message(first)}; it is translated as a sentence.", err=True
        )
    elif len(sentences) > 1 and not any(" " in sentence.strip() for sentence in sentences):
        typer.echo(
            "augenmerk: Every argument is a sentence of its own; put a whole sentence in quotation marks.",
            err=True,
        )


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
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} lines"), TimeElapsedColumn())
    if is_stream(output):
        atomic_write(output, (line.encode() for line in lines))
        return
    path, count = Path(os.path.realpath(output)), 0
    partial = path.with_name(f"{path.name}.partial")
    with replacing(path) as temporary:
        try:
            with temporary.open("wb") as file, FittingProgress(*columns) as bar:
                for line in bar.track(lines, total=None):
                    file.write(line.encode())
                    count += 1
        except KeyboardInterrupt as interrupt:
            if count:
                temporary.replace(partial)
                interrupt.args = (f"{partial} has the first {count:,} lines.",)
            raise
