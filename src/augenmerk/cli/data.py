"""`augenmerk data`: lists, shows, checks, fetches, exports and prepares sentence pairs."""

import shlex
import sys
import time
from collections import Counter
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import DownloadColumn, MofNCompleteColumn
from typer import Argument, Option

from augenmerk.base.console import count_items, err, make_table, out, show_progress, show_status
from augenmerk.base.entries import DATASETS, datasets_with
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.inputs import describe_skipped
from augenmerk.cli.options import (
    GROUP,
    MAX_INDEX,
    MAX_SEED,
    RESUMABLE,
    Group,
    Json,
    On,
    RayAddress,
    SkipBad,
    SourceLanguage,
    TargetLanguage,
    connect_if_asked,
    grouped,
)
from augenmerk.cli.terminal import draw_links, print_json, print_written

if TYPE_CHECKING:
    from augenmerk.data import Bitext
    from augenmerk.data.check import CheckResult, SplitSummary

app = typer.Typer(help="Sentence pairs: list, show, check, fetch, export, prepare.", no_args_is_help=True)

DOWNLOADED = ", ".join(name for name, dataset in DATASETS.items() if dataset.downloaded)
MAX_SHOWN = 8
"""The most lines of a kind that are printed; --json has all."""

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

    def open(self, name: str, **options: Any) -> "Bitext":
        """Opens a dataset or your own pairs."""
        from augenmerk.data import open_bitext

        return open_bitext(name, **vars(self), **options)


@app.command("list", epilog="Example:  augenmerk data list")
def list_(json: Json = False) -> None:
    """List the datasets that are known by name, and whether they are on this machine."""
    from augenmerk.data import open_bitext

    rows: list[dict[str, Any]] = []
    for name, dataset in DATASETS.items():
        try:
            bitext = open_bitext(name)
            languages = [bitext.source_language, bitext.target_language]
            found = {"available": True, "languages": languages, "splits": list(bitext.splits)}
            status = f"{'-'.join(languages)}  {', '.join(bitext.splits)}"
        except AugenmerkError as error:
            found = {"available": False, "why": str(error)}
            status = f"not on this machine: [dim]{escape(str(error))}[/]"
        rows.append({"name": name, "summary": dataset.summary, **found})
        if not json:
            out().print(f"[bold]{name}[/]  {dataset.summary}\n    {status}")
    if json:
        print_json(rows)
    else:
        out().print(
            "[dim]Your own pairs: a folder with train.de and train.en, or a .tsv, .jsonl or .parquet file.[/]"
        )


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
    bitext, tags = opening.open(name), set(tag or ())
    chosen = list(islice((pair for pair in bitext[split] if tags <= set(pair.tags)), pairs))
    if not chosen:
        tagged = f" tagged {', '.join(sorted(tags))}" if tags else ""
        known = f"; its tags are {', '.join(sorted(bitext.tags))}" if tags and bitext.tags else ""
        raise AugenmerkError(f"{name} has no pair in '{split}'{tagged}{known}.")
    if json:
        print_json([asdict(pair) for pair in chosen])
        return
    for number, pair in enumerate(chosen, 1):
        indent = " " * len(str(number))
        out().print(f"[dim]{number}[/]  [bold]{escape(pair.source)}[/]")
        out().print(f"{indent}  {escape(pair.target)}")
        if pair.tags:
            out().print(f"{indent}  [cyan]{escape(' · '.join(pair.tags))}[/]")
        if pair.alignment is not None:
            out().print(draw_links(pair, out().width))
        out().print()


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
    from augenmerk.data.check import check_data

    with show_status(f"checking {name}"):
        result = check_data(name, source_language, target_language)
    if json:
        print_json({**asdict(result), "trainable": not result.problems})
    else:
        _print_check(result)
    if result.problems:
        sys.exit(1)


def _print_check(result: "CheckResult") -> None:
    if result.splits:
        source, target = (
            escape(side.language) for side in (result.splits[0].source, result.splits[0].target)
        )
        out().print(
            f"[bold]{escape(result.place)}[/]: {source} to {target}; words of a sentence: median, most"
        )
        words = [f"{source} words", f"{target} words"]
        headings = ["split", "pairs", "bad lines", "repeated", *words, "length ratio", "scripts"]
        out().print(make_table(headings, map(_list_cells, result.splits)))
        out().print()
    if result.problems:
        out().print("[bold red]What stops training[/]")
        seen: Counter[tuple[str, str]] = Counter()
        for problem in result.problems:  # they are in the order of the splits and of their lines
            seen[problem.split, problem.kind] += 1
            if seen[problem.split, problem.kind] <= MAX_SHOWN:
                where = f"{problem.file}, line {problem.line:,}: " if problem.line is not None else ""
                out().print(f"  {escape(where + problem.reason)}")
        for (split, kind), count in seen.items():
            if count > MAX_SHOWN:
                out().print(f"  [dim]and {count - MAX_SHOWN:,} more in '{escape(split)}' ({kind})[/]")
        if all(problem.line is not None for problem in result.problems):
            out().print("  [dim]Correct these lines, or train without them: augenmerk train --skip-bad[/]")
    else:
        out().print("[bold green]Nothing stops training.[/]")
    if result.findings:
        out().print("[bold]Worth a look[/]")
    for finding in result.findings:
        out().print(f"  [cyan]{escape(finding.split)}[/]  {escape(finding.message)}")
        if finding.lines and finding.kind != "shifted":
            more = f", and {len(finding.lines) - MAX_SHOWN:,} more" if len(finding.lines) > MAX_SHOWN else ""
            numbers = ", ".join(f"{line:,}" for line in finding.lines[:MAX_SHOWN])
            out().print(f"  {' ' * len(finding.split)}  [dim]line {numbers}{more}[/]")
    if result.place not in DATASETS and any(finding.lines for finding in result.findings):
        out().print("  [dim]To write the pairs without these lines: augenmerk data export --clean[/]")


def _list_cells(split: "SplitSummary") -> list[str]:
    counts = [f"{count:,}" for count in (split.pairs, split.bad_lines, split.repeated)]
    sides = split.source, split.target
    words = [f"{side.median_words:g}, {side.longest:,}" for side in sides]
    scripts = ["/".join(script.capitalize() for script in islice(side.scripts, 2)) for side in sides]
    return [escape(split.split), *counts, *words, f"{split.length_ratio:.2f}", "-".join(scripts)]


@app.command(epilog="Example:  augenmerk data fetch multi30k")
def fetch(
    name: Annotated[str, Argument(help=f"Which one: {DOWNLOADED}.")],
    out: Annotated[Path | None, Option(help="Folder for the files. Default: your cache folder.")] = None,
    url: Annotated[str | None, Option(help="Another address to fetch from, such as a mirror.")] = None,
    json: Json = False,
) -> None:
    """Download a dataset, verify it, and keep it where every command finds it."""
    from augenmerk.data import import_dataset

    if name not in DATASETS or not DATASETS[name].downloaded:
        raise AugenmerkError(f"'{name}' is not a dataset to download; those that are: {DOWNLOADED}.")
    dataset = import_dataset(name)
    with show_progress(DownloadColumn()) as on_progress:
        folder = dataset.fetch(out, url or dataset.BASE_URL, on_progress)
    if json:
        print_json({"name": name, "folder": str(folder), "files": sorted(dataset.SHA256)})
    else:
        err().print(f"{name} is complete and verified in {folder}")


Splits = Annotated[list[str] | None, Option(help="Only this split; repeatable.")]
Format = Annotated[Literal["text", "tsv", "jsonl"], Option(help="Parallel text, TSV or JSON lines.")]
Align = Annotated[bool, Option("--align", help="Also write gold links as SPLIT.align (0-0 1-2).")]
Tokenized = Annotated[bool, Option("--tokenized", help="Put spaces between words, which the links count.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace existing files.")]
CLEAN_HELP = "Your own pairs: leave out bad lines and all lines that `data check` lists."
Clean = Annotated[bool, Option("--clean", help=CLEAN_HELP)]
KEEP_HELP = "With --clean: keep lines of this kind, for example 'repeated'; repeatable."
Keep = Annotated[list[str] | None, Option(metavar="KIND", help=KEEP_HELP)]
UNSPLIT_HELP = "Write your own file whole, not divided into train, val and test."
Unsplit = Annotated[bool, Option("--unsplit", help=UNSPLIT_HELP)]


@app.command(
    epilog="Examples:  augenmerk data export bilderbuch --pairs 1000 --align --out pairs    "
    "augenmerk data export pairs.tsv --clean --unsplit --format tsv --out clean"
)
@grouped
def export(
    name: Name,
    out: Annotated[Path, Option(help="The folder to write to.")],
    split: Splits = None,
    pairs: Pairs = None,
    format: Format = "text",  # noqa: A002
    align: Align = False,
    tokenized: Tokenized = False,
    overwrite: Overwrite = False,
    skip_bad: SkipBad = False,
    clean: Clean = False,
    keep: Keep = None,
    unsplit: Unsplit = False,
    opening: Opening = GROUP,
    json: Json = False,
) -> None:
    """Write sentence pairs to files that other tools read, with gold links where there are any."""
    from augenmerk.data import BadLineError
    from augenmerk.data.check import open_clean
    from augenmerk.data.export import export as write_splits

    if name in DATASETS and (unsplit or clean):
        raise AugenmerkError(f"--{'clean' if clean else 'unsplit'} is for your own pairs, not for {name}.")
    if keep and not clean:
        raise AugenmerkError("--keep names lines that --clean keeps: add --clean.")
    left_out: dict[str, dict[str, set[int]]] = {}
    if clean:
        with show_status(f"checking {name}"):
            languages = opening.source_language, opening.target_language
            bitext, left_out = open_clean(name, *languages, keep or [], divide=not unsplit)
    else:
        bitext = opening.open(name, pairs=pairs, skip_bad=skip_bad, divide=not unsplit)
    try:
        with show_progress(MofNCompleteColumn()) as on_progress:
            written = write_splits(
                {each: count_items(bitext[each], each, on_progress) for each in split or bitext.splits},
                out,
                bitext.source_language,
                bitext.target_language,
                format=format,
                align=align,
                tokenized=tokenized,
                overwrite=overwrite,
            )
    except BadLineError as error:
        raise AugenmerkError(f"{error} --skip-bad leaves such lines out.") from None
    if json:
        skipped = sorted(map(asdict, bitext.skipped), key=lambda bad: (bad["file"], bad["line"]))
        found = {each: {kind: sorted(lines) for kind, lines in by.items()} for each, by in left_out.items()}
        files = [str(path) for path in written]
        print_json({"name": bitext.name, "files": files, "skipped": skipped, "left_out": found})
        return
    if bitext.skipped:
        err().print(describe_skipped(bitext.skipped))
    for each, by_kind in left_out.items():
        lines = set[int]().union(*by_kind.values())
        reasons = ", ".join(f"{len(found):,} {kind}" for kind, found in by_kind.items())
        err().print(f"{len(lines):,} lines of '{escape(each)}' left out: {reasons}")
    for path in written:
        print_written(path)


SOURCES_HELP = f"{', '.join(DATASETS)}, or folders and files with your pairs; all become one corpus."
Sources = Annotated[list[str], Argument(metavar="SOURCE", help=SOURCES_HELP)]
Preset = Annotated[str | None, Option(help="Preset or TOML file with the vocabulary's settings (text.*).")]
SET_HELP = "A setting of text or data, e.g. text.vocabulary_size=16000; repeatable."
Set = Annotated[list[str] | None, Option("--set", help=SET_HELP)]
VocabularySample = Annotated[int, Option(help="Pairs to learn the vocabulary from.", min=1, max=MAX_INDEX)]
LENGTH_HELP = "Leave out pairs with more tokens on a side. Default: 200."
MaxLength = Annotated[int | None, Option(help=LENGTH_HELP, min=1, max=10_000)]
RATIO_HELP = "Leave out pairs if one side has over this many times the tokens of the other; 0: none."
MaxRatio = Annotated[float, Option(help=RATIO_HELP)]
Workers = Annotated[int | None, Option(help="Processes. Default: one for each core.", min=1, max=1_000)]


@app.command(
    epilog="Examples:  augenmerk data prepare bilderbuch --pairs 2000 --out corpus    "
    "augenmerk data prepare bilderbuch --out small --preset quick --set text.vocabulary_size=2000    "
    "augenmerk train quick --data corpus --epochs 1    "
    "If it is killed, run the same command again to resume. The files do not depend on the number "
    "of workers, nor on the cluster: --on ray --ray-address head:6379, with an --out that all its machines "
    "see."
)
def prepare(
    sources: Sources,
    out: Annotated[Path, Option(help="The folder of the prepared corpus.")],
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    pairs: Pairs = None,
    seed: Seed = None,
    preset: Preset = None,
    settings: Set = None,
    vocabulary_sample: VocabularySample = 100_000,
    max_length: MaxLength = None,
    max_ratio: MaxRatio = 9.0,
    workers: Workers = None,
    on: On = "local",
    ray_address: RayAddress = None,
    json: Json = False,
) -> None:
    """Prepare a large corpus for training: clean it, learn its vocabulary, and keep it as ids.

    It leaves out lines without a pair, repeated pairs, and pairs with too many tokens or very unequal numbers
    of them. `train --data` on the folder starts at once, however many pairs there are, and needs no more
    memory for more of them.
    """
    from augenmerk.base.device import count_cores
    from augenmerk.cluster.blocks import ProcessPool, RayTasks
    from augenmerk.data.prepare import make_request
    from augenmerk.data.prepare import prepare as prepare_corpus

    if on == "ray" and workers is not None:
        raise AugenmerkError("--workers are processes of this machine; a Ray cluster uses all its cores.")
    options: dict[Any, Any] = {"pairs": pairs, "seed": seed}
    request = make_request(
        sources,
        preset,
        settings or (),
        source_language=source_language,
        target_language=target_language,
        max_length=max_length,
        options={name: value for name, value in options.items() if value is not None},
        vocabulary_sample=vocabulary_sample,
        max_ratio=max_ratio,
    )
    began = time.monotonic()
    try:
        with connect_if_asked(on, ray_address), show_progress(MofNCompleteColumn()) as on_progress:
            folder = out.absolute() if on == "ray" else out  # the processes of Ray are in other folders
            map_blocks = RayTasks(folder) if on == "ray" else ProcessPool(workers or count_cores())
            about = prepare_corpus(request, folder, map_blocks=map_blocks, on_progress=on_progress)
    except KeyboardInterrupt as interrupt:
        interrupt.args = (RESUMABLE,)
        raise
    if json:
        print_json({"folder": str(out), **about})
    else:
        _print_prepared(out, about, time.monotonic() - began)


def _print_prepared(folder: Path, about: dict[str, Any], seconds: float) -> None:
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in about["left_out"].items()) or "none"
    tokens, shards = about["source_tokens"] + about["target_tokens"], len(about["shards"])
    out().print(
        f"[bold]{escape(str(folder))}[/]: {about['pairs']:,} pairs of {about['pairs_read']:,}, {tokens:,} "
        f"tokens in {shards:,} shard{'' if shards == 1 else 's'}, {seconds:.0f} s; left out: {left_out}"
    )
    err().print(f"Train on it with:  augenmerk train quick --data {shlex.quote(str(folder))}", markup=False)
