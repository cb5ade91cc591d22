"""`augenmerk data`: sentence pairs to list, look at, fetch and export."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from augenmerk.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from augenmerk.bitext import SentencePair

app = typer.Typer(help="Sentence pairs: list, show, fetch, export.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="bilderbuch, multi30k, or the folder or file of your own pairs.")]
Seed = Annotated[int, typer.Option(help="bilderbuch: which book to write.", min=0)]
Folder = Annotated[
    Path | None,
    typer.Option(help="multi30k: where its files lie, if not in $AUGENMERK_DATA/multi30k or the cache."),
]
Source = Annotated[
    str | None, typer.Option("--source-language", help="Translate from this language, e.g. de.")
]
Target = Annotated[
    str | None, typer.Option("--target-language", help="Translate into this language, e.g. en.")
]


@app.command("list", epilog="Example:  augenmerk data list")
def list_(json: Json = False) -> None:
    """The bitexts known by name, and whether they are on this machine."""
    from augenmerk.bitext import NAMES, open_bitext
    from augenmerk.cli.terminal import out, print_json
    from augenmerk.errors import AugenmerkError

    rows: list[dict[str, Any]] = []
    for name in NAMES:
        try:
            bitext = open_bitext(name)
        except AugenmerkError as error:
            rows.append({"name": name, "available": False, "why": str(error)})
        else:
            languages = [bitext.source_language, bitext.target_language]
            rows.append(
                {"name": name, "available": True, "languages": languages, "splits": list(bitext.splits)}
            )
    if json:
        print_json(rows)
        return
    for row in rows:
        if row["available"]:
            out().print(f"[bold]{row['name']}[/]  {'-'.join(row['languages'])}  {', '.join(row['splits'])}")
        else:
            out().print(f"[bold]{row['name']}[/]  not on this machine: [dim]{row['why']}[/]", soft_wrap=True)
    out().print("[dim]Your own pairs: a folder with train.de and train.en, or a .tsv or .jsonl file.[/]")


@app.command(
    epilog="Example:  augenmerk data show bilderbuch --pairs 3 --tag passive",
)
def show(
    name: Name = "bilderbuch",
    split: Annotated[str, typer.Option(help="Which split to read from.")] = "train",
    pairs: Annotated[int, typer.Option(help="How many pairs to show.", min=1)] = 5,
    tag: Annotated[list[str] | None, typer.Option(help="Only pairs with this tag; repeatable.")] = None,
    seed: Seed = 1,
    folder: Folder = None,
    source_language: Source = None,
    target_language: Target = None,
    json: Json = False,
) -> None:
    """Print sentence pairs, with their tags and, where they are known, the links between their words."""
    from augenmerk.bitext import open_bitext
    from augenmerk.cli.terminal import draw_links, out, print_json
    from augenmerk.errors import AugenmerkError

    bitext = open_bitext(
        name, seed=seed, folder=folder, source_language=source_language, target_language=target_language
    )
    tags = set(tag or ())
    matching = (pair for pair in bitext[split] if tags <= set(pair.tags))
    chosen = list(islice(matching, pairs))
    if not chosen:
        raise AugenmerkError(
            f"{name} has no pair in '{split}'" + (f" tagged {', '.join(sorted(tags))}." if tags else ".")
        )
    if json:
        print_json([_as_dict(pair) for pair in chosen])
        return
    for number, pair in enumerate(chosen, 1):
        out().print(f"[dim]{number}[/]  [bold]{_escaped(pair.source)}[/]")
        out().print(f"{' ' * len(str(number))}  {_escaped(pair.target)}")
        if pair.tags:
            out().print(f"{' ' * len(str(number))}  [cyan]{_escaped(' · '.join(pair.tags))}[/]")
        if pair.alignment is not None:
            out().print(draw_links(pair, out().width), soft_wrap=True)
        out().print()


@app.command(epilog="Example:  augenmerk data fetch multi30k")
def fetch(
    name: Annotated[str, typer.Argument(help="multi30k is the one that has to be fetched.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to put the files, if not in the user's cache.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Another address to fetch from, a mirror of yours.")] = None,
    json: Json = False,
) -> None:
    """Download a bitext, verify it, and keep it where every command finds it."""
    from augenmerk.bitext import multi30k
    from augenmerk.cli.terminal import err, print_json
    from augenmerk.errors import AugenmerkError

    if name != "multi30k":
        raise AugenmerkError(f"Only multi30k can be fetched, not '{name}'; bilderbuch is built in.")
    with _byte_progress() as progress:
        place = multi30k.fetch(out, url or multi30k.BASE_URL, progress)
    if json:
        print_json({"name": name, "folder": str(place), "files": sorted(multi30k.SHA256)})
    else:
        err().print(f"Multi30k is complete and verified in {place}", soft_wrap=True)


@app.command(epilog="Example:  augenmerk data export bilderbuch --pairs 1000 --align --out pairs")
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="The folder to write to.")],
    split: Annotated[list[str] | None, typer.Option(help="Only this split; repeatable.")] = None,
    pairs: Annotated[
        int | None, typer.Option(help="bilderbuch: how many training pairs to write.", min=1)
    ] = None,
    seed: Seed = 1,
    format: Annotated[  # noqa: A002 (the flag is called --format)
        Literal["text", "tsv", "jsonl"], typer.Option(help="Parallel text, TSV or JSON lines.")
    ] = "text",
    align: Annotated[
        bool, typer.Option("--align", help="Also write gold links as SPLIT.align (Pharaoh: 0-0 1-2).")
    ] = False,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Words separated by spaces, as the links count them.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
    folder: Folder = None,
    source_language: Source = None,
    target_language: Target = None,
    json: Json = False,
) -> None:
    """Write a bitext to files that other tools read: raw sentences, and gold links where there are any."""
    from augenmerk.bitext import export as writer
    from augenmerk.bitext import open_bitext
    from augenmerk.cli.terminal import err, print_json

    bitext = open_bitext(
        name,
        pairs=pairs,
        seed=seed,
        folder=folder,
        source_language=source_language,
        target_language=target_language,
    )
    written: list[Path] = []
    with _pair_progress() as watched:
        for each in split or bitext.splits:
            written += writer.export(
                watched(bitext[each], each),
                out,
                each,
                bitext.source_language,
                bitext.target_language,
                format=format,
                align=align,
                tokenized=tokenized,
                overwrite=overwrite,
            )
    if json:
        print_json({"name": bitext.name, "files": [str(path) for path in written]})
    else:
        for path in written:
            err().print(f"wrote {path}", soft_wrap=True)


@contextmanager
def _byte_progress() -> "Iterator[Callable[[str, int, int | None], None]]":
    """A bar for each file that is downloaded."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    from augenmerk.cli.terminal import err

    columns = (TextColumn("{task.description:>22}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=err()) as bars:

        def report(name: str, received: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name)
            bars.update(tasks[name], completed=received, total=total)

        yield report


@contextmanager
def _pair_progress() -> "Iterator[Callable[[Iterable[SentencePair], str], Iterable[SentencePair]]]":
    """A bar for each split that is read."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from augenmerk.cli.terminal import err

    columns = (TextColumn("{task.description:>22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True) as bars:

        def watched(pairs: "Iterable[SentencePair]", split: str) -> "Iterable[SentencePair]":
            total = len(pairs) if isinstance(pairs, Sized) else None
            return bars.track(pairs, total=total, description=split)

        yield watched


def _as_dict(pair: "SentencePair") -> dict[str, Any]:
    return {
        "source": pair.source,
        "target": pair.target,
        "alignment": None if pair.alignment is None else [list(link) for link in pair.alignment],
        "tags": list(pair.tags),
    }


def _escaped(text: str) -> str:
    """So that square brackets in a sentence stay brackets."""
    from rich.markup import escape

    return escape(text)
