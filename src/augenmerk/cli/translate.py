"""`augenmerk translate`: translates sentences, lines on stdin or a file with a trained run."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from augenmerk.base.console import warn
from augenmerk.base.errors import AugenmerkError, format_message
from augenmerk.cli import options
from augenmerk.cli.options import GROUP, Group, Search, grouped
from augenmerk.cli.terminal import is_utf8
from augenmerk.text.words import check_sentences

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
    from augenmerk.translation.session import translate_source

    options.load_mechanisms(given.attention)
    file, sentences = _choose_input(given.text or [], given.input)
    for name, asked in (("--subwords", given.subwords), ("--heads", given.heads)):
        if asked and not given.json:
            raise AugenmerkError(f"{name} adds to what --json prints: add --json.")
    _check_search(search)
    device = CPU if given.on == "ray" else choose_translating_device(given.device)
    split = given.split_sentences
    if split is None:
        split = bool(sentences) or (file is None and sys.stdin.isatty())
    passed = ("json", "subwords", "heads", "skip_bad", "on", "ray_address", "device", "attention")
    translate_source(
        load(given.model or BUNDLED_MODEL, device),
        sentences or file,
        given.output,
        escape=not is_utf8(),
        split_sentences=split,
        **{name: getattr(given, name) for name in passed},
        **vars(search),
    )


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
