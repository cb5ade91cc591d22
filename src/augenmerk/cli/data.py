"""`augenmerk data`: lists, shows, checks, fetches, exports and prepares sentence pairs."""

import math
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

from augenmerk.base.entries import DATASETS, datasets_with
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli.inputs import describe_skipped
from augenmerk.cli.options import (
    MAX_SEED,
    RESUMABLE,
    Json,
    On,
    RayAddress,
    SkipBad,
    SourceLanguage,
    TargetLanguage,
    connect_if_asked,
)
from augenmerk.cli.terminal import (
    count_items,
    draw_links,
    err,
    make_table,
    out,
    print_json,
    print_written,
    show_progress,
    show_status,
)

if TYPE_CHECKING:
    from augenmerk.base.config import RunConfig
    from augenmerk.data.check import CheckResult

app = typer.Typer(help="Sentence pairs: list, show, check, fetch, export, prepare.", no_args_is_help=True)

Name = Annotated[str, Argument(help=f"{', '.join(DATASETS)}, or the folder or file of your own pairs.")]
Pairs = Annotated[
    int | None, Option(help=f"{datasets_with('pairs')}: how many training pairs.", min=1, max=2**31 - 1)
]
Seed = Annotated[
    int, Option(help=f"{datasets_with('seed')}: the seed of its sentences.", min=0, max=MAX_SEED)
]
Format = Literal["text", "tsv", "jsonl"]
Folder = Annotated[
    Path | None,
    Option(help=f"{datasets_with('folder')}: folder with its files. Default: where `data fetch` puts them."),
]


@app.command("list", epilog="Example:  augenmerk data list")
def list_(json: Json = False) -> None:
    """List the datasets that are known by name, and whether they are on this machine."""
    from augenmerk.data import open_bitext

    rows: list[dict[str, Any]] = []
    for name, dataset in DATASETS.items():
        row: dict[str, Any] = {"name": name, "summary": dataset.summary}
        try:
            bitext = open_bitext(name)
        except AugenmerkError as error:
            rows.append({**row, "available": False, "why": str(error)})
        else:
            languages = [bitext.source_language, bitext.target_language]
            rows.append({**row, "available": True, "languages": languages, "splits": list(bitext.splits)})
    if json:
        print_json(rows)
        return
    for row in rows:
        if row["available"]:
            status = f"{'-'.join(row['languages'])}  {', '.join(row['splits'])}"
        else:
            status = f"not on this machine: [dim]{row['why']}[/]"
        out().print(f"[bold]{row['name']}[/]  {row['summary']}\n    {status}")
    out().print(
        "[dim]Your own pairs: a folder with train.de and train.en, or a .tsv, .jsonl or .parquet file.[/]"
    )


@app.command(epilog="Example:  augenmerk data show bilderbuch --pairs 3 --tag passive")
def show(
    name: Name = "bilderbuch",
    split: Annotated[str, Option(help="Which split to read from.")] = "train",
    pairs: Annotated[int, Option(help="How many pairs to show.", min=1, max=100_000)] = 5,
    tag: Annotated[list[str] | None, Option(help="Only pairs with this tag; repeatable.")] = None,
    seed: Seed = 1,
    folder: Folder = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    json: Json = False,
) -> None:
    """Print sentence pairs, with their tags and, where they are known, the links between their words."""
    from augenmerk.data import open_bitext

    bitext = open_bitext(
        name, seed=seed, folder=folder, source_language=source_language, target_language=target_language
    )
    tags = set(tag or ())
    matching = (pair for pair in bitext[split] if tags <= set(pair.tags))
    chosen = list(islice(matching, pairs))
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


MAX_SHOWN = 8
"""The most lines of a kind that are printed; --json has all."""


@app.command(epilog="Example:  augenmerk data check bilderbuch")
def check(
    name: Name,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    json: Json = False,
) -> None:
    """Look for everything that is wrong in sentence pairs, at once.

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
    rows = []
    for split in result.splits:
        sides = split.source, split.target
        words = [f"{side.median_words:g}, {side.longest:,}" for side in sides]
        scripts = ["/".join(script.capitalize() for script in list(side.scripts)[:2]) for side in sides]
        counts = [f"{count:,}" for count in (split.pairs, split.bad_lines, split.repeated)]
        rows.append([escape(split.split), *counts, *words, f"{split.length_ratio:.2f}", "-".join(scripts)])
    if result.splits:
        source, target = result.splits[0].source.language, result.splits[0].target.language
        out().print(
            f"[bold]{escape(result.place)}[/]: {escape(source)} to {escape(target)}; "
            f"words of a sentence: median, most"
        )
        headings = ["split", "pairs", "bad lines", "repeated", "words", "words", "length ratio", "scripts"]
        headings[4:6] = [f"{escape(source)} words", f"{escape(target)} words"]
        out().print(make_table(headings, rows))
        out().print()
    if result.problems:
        out().print("[bold red]What stops training[/]")
        seen: Counter[tuple[str, str]] = Counter()
        for problem in result.problems:  # they are in the order of the splits and of their lines
            seen[problem.split, problem.kind] += 1
            if seen[problem.split, problem.kind] <= MAX_SHOWN:
                where = f"{problem.file}, line {problem.line:,}: " if problem.line is not None else ""
                out().print(f"  {escape(where + problem.reason)}")
        for (split_name, kind), count in seen.items():
            if count > MAX_SHOWN:
                out().print(f"  [dim]and {count - MAX_SHOWN:,} more in '{escape(split_name)}' ({kind})[/]")
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


@app.command(epilog="Example:  augenmerk data fetch multi30k")
def fetch(
    name: Annotated[
        str, Argument(help=f"Which one: {', '.join(n for n, each in DATASETS.items() if each.downloaded)}.")
    ],
    out: Annotated[Path | None, Option(help="Where to put the files, if not in the user's cache.")] = None,
    url: Annotated[str | None, Option(help="Another address to fetch from, a mirror of yours.")] = None,
    json: Json = False,
) -> None:
    """Download a dataset, verify it, and keep it where every command finds it."""
    from augenmerk.data import import_dataset

    if name not in DATASETS or not DATASETS[name].downloaded:
        names = ", ".join(name for name, dataset in DATASETS.items() if dataset.downloaded)
        raise AugenmerkError(f"'{name}' is not a dataset to download; those that are: {names}.")
    dataset = import_dataset(name)
    with show_progress(DownloadColumn()) as on_progress:
        folder = dataset.fetch(out, url or dataset.BASE_URL, on_progress)
    if json:
        print_json({"name": name, "folder": str(folder), "files": sorted(dataset.SHA256)})
    else:
        err().print(f"{name} is complete and verified in {folder}")


@app.command(
    epilog="Examples:  augenmerk data export bilderbuch --pairs 1000 --align --out pairs    "
    "augenmerk data export pairs.tsv --clean --unsplit --format tsv --out clean"
)
def export(
    name: Name,
    out: Annotated[Path, Option(help="The folder to write to.")],
    split: Annotated[list[str] | None, Option(help="Only this split; repeatable.")] = None,
    pairs: Pairs = None,
    seed: Seed = 1,
    format: Annotated[Format, Option(help="Parallel text, TSV or JSON lines.")] = "text",  # noqa: A002
    align: Annotated[bool, Option("--align", help="Also write gold links as SPLIT.align (0-0 1-2).")] = False,
    tokenized: Annotated[
        bool, Option("--tokenized", help="Put spaces between words, which the links count.")
    ] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing files.")] = False,
    skip_bad: SkipBad = False,
    clean: Annotated[
        bool,
        Option("--clean", help="Your own pairs: leave out bad lines and all lines that `data check` lists."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        Option(metavar="KIND", help="With --clean: keep lines of this kind, 'repeated' say; repeatable."),
    ] = None,
    unsplit: Annotated[
        bool,
        Option("--unsplit", help="Write your own file whole, not divided into train, val and test."),
    ] = False,
    folder: Folder = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    json: Json = False,
) -> None:
    """Write sentence pairs to files that other tools read, with gold links where there are any."""
    from augenmerk.data import BadLineError, check_own, open_bitext
    from augenmerk.data.check import open_clean
    from augenmerk.data.export import export as write_splits

    if name in DATASETS and (unsplit or clean):
        raise AugenmerkError(f"--{'clean' if clean else 'unsplit'} is for your own pairs, not for {name}.")
    if keep and not clean:
        raise AugenmerkError("--keep says which lines --clean keeps: add --clean.")
    left_out: dict[str, dict[str, set[int]]] = {}
    if clean:
        check_own(name)
        with show_status(f"checking {name}"):
            bitext, left_out = open_clean(
                name, source_language, target_language, keep or [], divide=not unsplit
            )
    else:
        bitext = open_bitext(
            name,
            pairs=pairs,
            seed=seed,
            folder=folder,
            source_language=source_language,
            target_language=target_language,
            skip_bad=skip_bad,
            divide=not unsplit,
        )
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
        found = {
            each: {kind: sorted(lines) for kind, lines in kinds.items()} for each, kinds in left_out.items()
        }
        files = [str(path) for path in written]
        print_json({"name": bitext.name, "files": files, "skipped": skipped, "left_out": found})
    else:
        if bitext.skipped:
            err().print(describe_skipped(bitext.skipped))
        for each, kinds_of_split in left_out.items():
            lines = set[int]().union(*kinds_of_split.values())
            reasons = ", ".join(f"{len(found):,} {kind}" for kind, found in kinds_of_split.items())
            err().print(f"{len(lines):,} lines of '{escape(each)}' left out: {reasons}")
        for path in written:
            print_written(path)


@app.command(
    epilog="Examples:  augenmerk data prepare bilderbuch --pairs 2000 --out corpus    "
    "augenmerk data prepare bilderbuch --out small --preset quick --set text.vocabulary_size=2000    "
    "augenmerk train quick --data corpus --epochs 1    "
    "If it is killed, run the same command again to resume. The files do not depend on the number "
    "of workers, nor on the cluster: --on ray --ray-address head:6379, with an --out that all its machines "
    "see."
)
def prepare(
    sources: Annotated[
        list[str],
        Argument(
            metavar="SOURCE",
            help=f"{', '.join(DATASETS)}, or folders and files of your own pairs; all become one corpus.",
        ),
    ],
    out: Annotated[Path, Option(help="The folder of the prepared corpus.")],
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    pairs: Pairs = None,
    seed: Seed = 1,
    preset: Annotated[
        str | None,
        Option(help="Take the settings of the vocabulary (text.*) from this preset or TOML file."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A setting of text or data, e.g. text.vocabulary_size=16000; repeatable."),
    ] = None,
    vocabulary_sample: Annotated[
        int, Option(help="Number of pairs that the vocabulary is learnt from.", min=1, max=2**31 - 1)
    ] = 100_000,
    max_length: Annotated[
        int | None,
        Option(help="Leave out pairs with more tokens on a side. Default: 200.", min=1, max=10_000),
    ] = None,
    max_ratio: Annotated[
        float,
        Option(help="Leave out pairs if one side has over this many times the tokens of the other; 0: none."),
    ] = 9.0,
    workers: Annotated[
        int | None, Option(help="Processes. Default: one for each core.", min=1, max=1_000)
    ] = None,
    on: On = "local",
    ray_address: RayAddress = None,
    json: Json = False,
) -> None:
    """Prepare a large corpus for training: clean it, learn its vocabulary, and keep it as ids.

    Left out are lines without a pair, repeated pairs, and pairs with too many tokens or very unequal numbers
    of them. `train --data` on the folder starts at once, however many pairs there are, and needs no more
    memory for more of them.
    """
    from augenmerk.base.process import count_cores
    from augenmerk.cluster.blocks import ProcessPool, RayTasks
    from augenmerk.data.prepare import Request
    from augenmerk.data.prepare import prepare as prepare_corpus

    if not math.isfinite(max_ratio) or (max_ratio < 1 and max_ratio):
        raise AugenmerkError(f"--max-ratio {max_ratio:g} is impossible: it is 1 or more, or 0 for no limit.")
    if on == "ray" and workers is not None:
        raise AugenmerkError("--workers are processes of this machine; a Ray cluster uses all its cores.")
    config = _load_text_settings(sources[0], preset, settings or [], max_length)
    data = config.data.model_copy(
        update={
            "bitext": sources[0],
            "bilderbuch": config.data.bilderbuch.model_copy(
                update={"seed": seed} | ({} if pairs is None else {"pairs": pairs})
            ),
            "source_language": source_language or config.data.source_language,
            "target_language": target_language or config.data.target_language,
        }
    )
    request = Request(tuple(sources), data, config.text, vocabulary_sample, max_ratio)
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


def _load_text_settings(
    source: str, preset: str | None, settings: list[str], max_length: int | None
) -> "RunConfig":
    """Returns the settings of a run, of which those of data and text count."""
    from augenmerk.base.config import RunConfig, load_config

    for setting in settings:
        if setting.partition(".")[0].strip() not in ("text", "data"):
            raise AugenmerkError(f"--set {setting}: only settings of [text] and [data] are used here.")
    if max_length is not None:
        settings = [*settings, f"data.max_length={max_length}"]
    if preset is None:
        return RunConfig.from_toml("", "--set", settings)
    return load_config(preset, [f"data.bitext={source}", *settings])


def _print_prepared(folder: Path, about: dict[str, Any], seconds: float) -> None:
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in about["left_out"].items()) or "none"
    tokens = about["source_tokens"] + about["target_tokens"]
    out().print(
        f"[bold]{escape(str(folder))}[/]: {about['pairs']:,} pairs of {about['pairs_read']:,}, {tokens:,} "
        f"tokens in {len(about['shards']):,} shards, {seconds:.0f} s; left out: {left_out}"
    )
    err().print(f"Train on it with:  augenmerk train quick --data {shlex.quote(str(folder))}", markup=False)
