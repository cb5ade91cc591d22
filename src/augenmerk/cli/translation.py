"""`augenmerk translate`: sentences, lines or a file through a trained run."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from augenmerk.bitext.files import decode_lines, read_lines
from augenmerk.checkpoint import SHIPPED
from augenmerk.cli.terminal import err
from augenmerk.cli.training import choose_device
from augenmerk.durable import replace_file
from augenmerk.errors import AugenmerkError
from augenmerk.translate import Options, TextTranslator, Translation, load


def run(
    texts: list[str],
    models: Sequence[Path],
    source: Path | None,
    output: Path | None,
    options: Options,
    device: str,
    as_json: bool,
    subwords: bool,
) -> None:
    """Translates what is given, in its order; the output file appears when all of it is done."""
    if texts and source:
        raise AugenmerkError("There are sentences and an --input file; give one or the other.")
    if subwords and not as_json:
        raise AugenmerkError(
            "--subwords says more about the attention, which only --json prints: add --json."
        )
    if options["sample"] and options["beam"] is not None:
        raise AugenmerkError("A sample is drawn without a beam; give --sample or --beam.")
    if options.get("candidates") is not None and not options.get("mbr"):
        raise AugenmerkError("--candidates are what --mbr chooses from: add --mbr, or say --n-best.")
    if output is not None and output.exists() and not output.is_file():
        raise AugenmerkError(f"{output} is not a file that could be replaced; give --output another name.")
    translator = load(models or SHIPPED, choose_device(device))
    translations = _translated(translator, texts, source, options)
    lines = (
        line
        for number, translation in enumerate(translations, 1)
        for line in _lines(number, translation, options["n_best"], as_json, subwords)
    )
    if output is None:
        for line in lines:
            sys.stdout.write(line)
            sys.stdout.flush()  # who reads need not wait until a buffer is full
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} lines"), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        replace_file(output.resolve(), (line.encode() for line in bar.track(lines, total=None)))


def _translated(
    translator: TextTranslator, texts: list[str], source: Path | None, options: Options
) -> Iterator[Translation]:
    if not texts and not source and sys.stdin.isatty():
        err().print("[dim]A sentence on each line, please; Ctrl-D ends.[/]")
        lines = decode_lines(sys.stdin.buffer, "stdin")
        translations: Iterator[Translation] = (translator.translate(line, **options) for line in lines)
    else:
        translations = translator.stream(_given(texts, source), **options)
    for number, translation in enumerate(translations, 1):
        if translation.truncated:
            typer.echo(
                f"augenmerk: {'sentence' if texts else 'line'} {number} has more than "
                f"{translator.longest_source} tokens, the most this model reads: only its beginning was "
                f"translated.",
                err=True,
            )
        yield translation


def _given(texts: list[str], source: Path | None) -> Iterable[str]:
    for number, text in enumerate(texts, 1):
        if not text.strip():  # an empty line of a file stays one, but nobody types nothing
            raise AugenmerkError(f"Sentence {number} is empty; give a sentence, in quotation marks.")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise AugenmerkError(f"Sentence {number} is not UTF-8; convert it to UTF-8.")
    if texts:
        return texts
    return decode_lines(sys.stdin.buffer, "stdin") if source is None else read_lines(source)


def _lines(
    number: int, translation: Translation, n_best: int, as_json: bool, subwords: bool
) -> Iterator[str]:
    if as_json:
        yield json.dumps(translation.to_dict(subwords=subwords), ensure_ascii=False) + "\n"
    elif n_best == 1:
        yield translation.text + "\n"
    else:
        for each in (translation, *translation.alternatives):
            worth = each.score if each.expected_chrf is None else each.expected_chrf
            yield f"{number}\t{worth:.4f}\t{each.text}\n"
