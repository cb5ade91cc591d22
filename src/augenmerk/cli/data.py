"""`augenmerk data`: lists, shows, checks, fetches, exports and prepares sentence pairs."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from augenmerk.base.console import err, print_shown
from augenmerk.base.entries import DATASETS, DOWNLOADED, datasets_with
from augenmerk.cli.options import (
    GROUP,
    MAX_INDEX,
    MAX_SEED,
    Group,
    Json,
    On,
    RayAddress,
    SkipBad,
    SourceLanguage,
    TargetLanguage,
    grouped,
)
from augenmerk.cli.terminal import print_json

app = typer.Typer(help="Sentence pairs: list, show, check, fetch, export, prepare.", no_args_is_help=True)


Name = Annotated[str, Argument(help=f"{', '.join(DATASETS)}, or the folder or file with your pairs.")]
PAIRS_HELP = f"{datasets_with('pairs')}: how many training pairs."
Pairs = Annotated[int | None, Option(help=PAIRS_HELP, min=1, max=MAX_INDEX)]
SEED_HELP = f"{datasets_with('seed')}: the seed of its sentences. Default: 1."
Seed = Annotated[int | None, Option(help=SEED_HELP, min=0, max=MAX_SEED)]
FOLDER_HELP = f"{datasets_with('folder')}: folder with its files. Default: where `data fetch` puts them."


class Opening(Group):
    """How a bitext is opened."""

    seed: Seed = None
    folder: Annotated[Path | None, Option(help=FOLDER_HELP)] = None
    source_language: SourceLanguage = None
    target_language: TargetLanguage = None


@app.command("list", epilog="Example:  augenmerk data list")
def list_(json: Json = False) -> None:
    """List the datasets that are known by name, and whether they are on this machine."""
    from augenmerk.data.session import list_datasets

    rows = list_datasets()
    print_json(rows) if json else print_shown(rows)


@app.command(epilog="Example:  augenmerk data show bilderbuch --pairs 3 --tag passive")
@grouped
def show(
    name: Name = "bilderbuch",
    split: Annotated[str, Option(help="Which split to read from.")] = "train",
    pairs: Annotated[int, Option(help="How many pairs to show.", min=1, max=100_000)] = 5,
    tag: Annotated[list[str] | None, Option(help="Only pairs with this tag; repeatable.")] = None,
    opening: Opening = GROUP,
    json: Json = False,
) -> None:
    """Print sentence pairs, with their tags and, where they are known, the links between their words."""
    from augenmerk.data.session import show

    found = show(name, split, pairs, tag=tag or (), **vars(opening))
    print_json(found.to_dict()) if json else print_shown(found)


@app.command(epilog="Example:  augenmerk data check bilderbuch")
def check(
    name: Name,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    json: Json = False,
) -> None:
    """List everything that is wrong in sentence pairs, at once.

    What stops training (exit code 1): lines that are empty, broken or far too long, unequal numbers of lines.
    What is worth a look: repeated pairs, odd lengths, other scripts, sides that look exchanged, lines that
    look shifted or are no translations, sentences of val and test that are in train too.
    """
    from augenmerk.data.session import check

    result = check(name, source_language, target_language)
    print_json(result.to_dict()) if json else print_shown(result)
    if result.problems:
        sys.exit(1)


@app.command(epilog="Example:  augenmerk data fetch multi30k")
def fetch(
    name: Annotated[str, Argument(help=f"Which one: {DOWNLOADED}.")],
    out: Annotated[Path | None, Option(help="Folder for the files. Default: your cache folder.")] = None,
    url: Annotated[str | None, Option(help="Another address to fetch from, such as a mirror.")] = None,
    json: Json = False,
) -> None:
    """Download a dataset, verify it, and keep it where every command finds it."""
    from augenmerk.data.session import fetch

    done = fetch(name, out, url)
    print_json(done) if json else print_shown(done, err())


class Writing(Group):
    """What is written of a bitext, and how."""

    split: Annotated[list[str] | None, Option(help="Only this split; repeatable.")] = None
    pairs: Pairs = None
    format: Literal["text", "tsv", "jsonl"] = "text"
    """Parallel text, TSV or JSON lines."""
    align: bool = False
    """Also write gold links as SPLIT.align (0-0 1-2)."""
    tokenized: bool = False
    """Put spaces between words, which the links count."""
    overwrite: bool = False
    """Replace existing files."""
    skip_bad: SkipBad = False
    clean: bool = False
    """Your own pairs: leave out bad lines and all lines that `data check` lists."""
    keep: Annotated[list[str] | None, Option(metavar="KIND")] = None
    """With --clean: keep lines of this kind, for example 'repeated'; repeatable."""
    unsplit: bool = False
    """Write your own file whole, not divided into train, val and test."""


@app.command(
    epilog="Examples:  augenmerk data export bilderbuch --pairs 1000 --align --out pairs    "
    "augenmerk data export pairs.tsv --clean --unsplit --format tsv --out clean"
)
@grouped
def export(
    name: Name,
    out: Annotated[Path, Option(help="The folder to write to.")],
    writing: Writing = GROUP,
    opening: Opening = GROUP,
    json: Json = False,
) -> None:
    """Write sentence pairs to files that other tools read, with gold links where there are any."""
    from augenmerk.data.session import export

    done = export(name, out, **vars(writing), **vars(opening))
    print_json(done) if json else print_shown(done, err())


SOURCES_HELP = f"{', '.join(DATASETS)}, or folders and files with your pairs; all become one corpus."


class Preparing(Group):
    """How a corpus is prepared, and where."""

    source_language: SourceLanguage = None
    target_language: TargetLanguage = None
    pairs: Pairs = None
    seed: Seed = None
    preset: str | None = None
    """Preset or TOML file with the vocabulary's settings (text.*)."""
    settings: Annotated[list[str] | None, Option("--set")] = None
    """A setting of text or data, e.g. text.vocabulary_size=16000; repeatable."""
    vocabulary_sample: Annotated[int, Option(min=1, max=MAX_INDEX)] = 100_000
    """Pairs to learn the vocabulary from."""
    max_length: Annotated[int | None, Option(min=1, max=10_000)] = None
    """Leave out pairs with more tokens on a side. Default: 200."""
    max_ratio: float = 9.0
    """Leave out pairs if one side has over this many times the tokens of the other; 0: none."""
    workers: Annotated[int | None, Option(min=1, max=1_000)] = None
    """Processes. Default: one for each core."""
    on: On = "local"
    ray_address: RayAddress = None


@app.command(
    epilog="Examples:  augenmerk data prepare bilderbuch --pairs 2000 --out corpus    "
    "augenmerk data prepare bilderbuch --out small --preset quick --set text.vocabulary_size=2000    "
    "augenmerk train quick --data corpus --epochs 1    "
    "If it is killed, run the same command again to resume. The files do not depend on the number "
    "of workers, nor on the cluster: --on ray --ray-address head:6379, with an --out that all its machines "
    "see."
)
@grouped
def prepare(
    sources: Annotated[list[str], Argument(metavar="SOURCE", help=SOURCES_HELP)],
    out: Annotated[Path, Option(help="The folder of the prepared corpus.")],
    how: Preparing = GROUP,
    json: Json = False,
) -> None:
    """Prepare a large corpus for training: clean it, learn its vocabulary, and keep it as ids.

    It leaves out lines without a pair, repeated pairs, and pairs with too many tokens or very unequal numbers
    of them. `train --data` on the folder starts at once, however many pairs there are, and needs no more
    memory for more of them.
    """
    from augenmerk.data.session import prepare

    done = prepare(sources, out, **vars(how))
    if json:
        print_json(done)
        return
    print_shown(done)
    err().print(f"Train on it with:  augenmerk train quick --data {shlex.quote(str(out))}", markup=False)
