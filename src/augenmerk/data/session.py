"""Sentence pairs as people ask for them: `augenmerk data` in functions."""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from rich.console import RenderableType
from rich.markup import escape
from rich.progress import DownloadColumn, MofNCompleteColumn
from rich.table import Table

from augenmerk.base.console import Shown, count_items, make_table, out, show_progress, show_status
from augenmerk.base.device import Place, count_cores
from augenmerk.base.entries import DATASETS, DOWNLOADED, Option
from augenmerk.base.errors import AugenmerkError, check_choice, check_least
from augenmerk.base.frames import Outcome, Rows, as_list
from augenmerk.base.settings import Overrides, list_overrides
from augenmerk.cluster.blocks import ProcessPool, RayTasks
from augenmerk.cluster.ray import connect_if_asked
from augenmerk.data import BadLine, BadLineError, SentencePair, import_dataset, open_bitext
from augenmerk.data.exporting import Format, write_splits
from augenmerk.data.findings import CheckResult
from augenmerk.text.words import split_words


class Datasets(Rows):
    """The datasets that are known by name."""

    def show(self) -> Iterator[RenderableType]:
        for row in self:
            status = f"not on this machine: [dim]{escape(row.get('why', ''))}[/]"
            if row["available"]:
                status = f"{'-'.join(row['languages'])}  {', '.join(row['splits'])}"
            yield f"[bold]{row['name']}[/]  {row['summary']}\n    {status}"
        own = "a folder with train.de and train.en, or a .tsv, .jsonl or .parquet file"
        yield f"[dim]Your own pairs: {own}.[/]"


def list_datasets() -> Datasets:
    """Lists the datasets that are known by name, and whether they are on this machine."""
    rows = Datasets()
    for name, dataset in DATASETS.items():
        try:
            bitext = open_bitext(name)
            languages = [bitext.source_language, bitext.target_language]
            found = {"available": True, "languages": languages, "splits": list(bitext.splits)}
        except AugenmerkError as error:
            found = {"available": False, "why": str(error)}
        rows.append({"name": name, "summary": dataset.summary, **found})
    return rows


class ShownPairs(Shown, list[SentencePair]):
    """Sentence pairs with their tags and, where they are known, the links between their words."""

    def to_dict(self) -> list[dict[str, Any]]:
        return [asdict(pair) for pair in self]

    def show(self) -> Iterator[RenderableType]:
        for number, pair in enumerate(self, 1):
            indent = " " * len(str(number))
            yield f"[dim]{number}[/]  [bold]{escape(pair.source)}[/]\n{indent}  {escape(pair.target)}"
            if pair.tags:
                yield f"{indent}  [cyan]{escape(' · '.join(pair.tags))}[/]"
            if pair.alignment is not None:
                yield _draw_links(pair, out().width)
            yield ""


def show(
    name: str | Path = "bilderbuch",
    split: str = "train",
    pairs: int = 5,
    *,
    tag: str | Sequence[str] | None = None,
    seed: int | None = None,
    folder: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> ShownPairs:
    """Returns the first pairs of a split, only those with all of the tags if some are given."""
    check_least(1, pairs=pairs)
    given = {"seed": seed, "source_language": source_language, "target_language": target_language}
    bitext = open_bitext(name, folder=folder, **given)  # type: ignore[arg-type]
    tags = set(as_list(tag, str))
    chosen = ShownPairs(islice((pair for pair in bitext[split] if tags <= set(pair.tags)), pairs))
    if not chosen:
        tagged = f" tagged {', '.join(sorted(tags))}" if tags else ""
        known = f"; its tags are {', '.join(sorted(bitext.tags))}" if tags and bitext.tags else ""
        raise AugenmerkError(f"{name} has no pair in '{split}'{tagged}{known}.")
    return chosen


def _draw_links(pair: SentencePair, width: int) -> Table:
    """Draws the word links of a pair as a grid, or as a list if the grid is wider than `width`.

    In the grid, the source words are the columns and the target words the rows.
    """
    source, target = split_words(pair.source), split_words(pair.target)
    links = frozenset(pair.alignment or ())
    rows = [
        [escape(word), *("■" if (i, j) in links else "·" for i in range(len(source)))]
        for j, word in enumerate(target)
    ]
    grid = make_table(["", *map(escape, source)], rows)
    if (grid.width or 0) <= width:
        return grid
    linked = [" ".join(target[j] for j in range(len(target)) if (i, j) in links) for i in range(len(source))]
    listed = [[escape(word), escape(words) or "·"] for word, words in zip(source, linked, strict=True)]
    return make_table(("", ""), listed, left=2)


def check(
    name: str | Path, source_language: str | None = None, target_language: str | None = None
) -> CheckResult:
    """Lists everything that is wrong in sentence pairs, at once; `problems` are what stops training."""
    from augenmerk.data.checking import check_data

    with show_status(f"checking {name}"):
        return check_data(str(name), source_language, target_language)


def fetch(name: str, out: str | Path | None = None, url: str | None = None) -> Outcome:
    """Downloads a dataset, verifies it, and keeps it where `open_bitext` finds it, or in the folder `out`.

    `url` is another address to fetch from, such as a mirror.
    """
    if name not in DATASETS or not DATASETS[name].downloaded:
        raise AugenmerkError(f"'{name}' is not a dataset to download; those that are: {DOWNLOADED}.")
    dataset = import_dataset(name)
    with show_progress(DownloadColumn()) as on_progress:
        place = dataset.fetch(None if out is None else Path(out), url or dataset.BASE_URL, on_progress)
    done = f"{name} is complete and verified in {escape(str(place))}"
    return Outcome({"name": name, "folder": str(place), "files": sorted(dataset.SHA256)}, done)


def export(
    name: str | Path,
    out: str | Path,
    *,
    split: str | Sequence[str] | None = None,
    pairs: int | None = None,
    format: Format = "text",  # noqa: A002
    align: bool = False,
    tokenized: bool = False,
    overwrite: bool = False,
    skip_bad: bool = False,
    clean: bool = False,
    keep: str | Sequence[str] | None = None,
    unsplit: bool = False,
    seed: int | None = None,
    folder: str | Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Outcome:
    """Writes sentence pairs to files that other tools read, with gold links where there are any.

    With `clean`, your own pairs are written without bad lines and those that `check` lists, except for the
    kinds to `keep`. Your own file is divided into train, val and test unless `unsplit` is true.
    """
    from augenmerk.data.checking import open_clean

    name, kinds, languages = str(name), as_list(keep, str), (source_language, target_language)
    if name in DATASETS and (unsplit or clean):
        raise AugenmerkError(f"--{'clean' if clean else 'unsplit'} is for your own pairs, not for {name}.")
    if kinds and not clean:
        raise AugenmerkError("--keep names lines that --clean keeps: add --clean.")
    check_choice("format", format, get_args(Format))
    left_out: dict[str, dict[str, set[int]]] = {}
    if clean:
        with show_status(f"checking {name}"):
            bitext, left_out = open_clean(name, *languages, kinds, divide=not unsplit)
    else:
        options: dict[str, Any] = {"pairs": pairs, "seed": seed, "folder": folder, "skip_bad": skip_bad}
        options |= dict(zip(("source_language", "target_language"), languages, strict=True))
        bitext = open_bitext(name, divide=not unsplit, **options)
    try:
        with show_progress(MofNCompleteColumn()) as on_progress:
            written = write_splits(
                {
                    each: count_items(bitext[each], each, on_progress)
                    for each in as_list(split, str) or bitext.splits
                },
                Path(out),
                bitext.source_language,
                bitext.target_language,
                format=format,
                align=align,
                tokenized=tokenized,
                overwrite=overwrite,
            )
    except BadLineError as error:
        raise AugenmerkError(f"{error} --skip-bad leaves such lines out.") from None
    lines = [describe_skipped(bitext.skipped)] if bitext.skipped else []
    for each, by_kind in left_out.items():
        reasons = ", ".join(f"{len(found):,} {kind}" for kind, found in by_kind.items())
        count = len(set[int]().union(*by_kind.values()))
        lines.append(f"{count:,} lines of '{escape(each)}' left out: {reasons}")
    about = {
        "name": bitext.name,
        "files": [str(path) for path in written],
        "skipped": sorted(map(asdict, bitext.skipped), key=lambda bad: (bad["file"], bad["line"])),
        "left_out": {
            each: {kind: sorted(found) for kind, found in by.items()} for each, by in left_out.items()
        },
    }
    return Outcome(about, *lines, *(f"[dim]Written:[/] {escape(str(path))}" for path in written))


def describe_skipped(skipped: Collection[BadLine]) -> str:
    """Returns how many bad lines were skipped, and why, in a line for people."""
    kinds = sorted(Counter(bad.kind for bad in skipped).items())
    reasons = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    return f"{len(skipped):,} bad line{'s' if len(skipped) > 1 else ''} skipped: {reasons}"


def prepare(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    pairs: int | None = None,
    seed: int | None = None,
    preset: str | Path | None = None,
    settings: Overrides = None,
    vocabulary_sample: int = 100_000,
    max_length: int | None = None,
    max_ratio: float = 9.0,
    workers: int | None = None,
    on: Place = "local",
    ray_address: str | None = None,
) -> Outcome:
    """Prepares a large corpus for training: cleans it, learns its vocabulary, and keeps it as ids.

    Takes what `augenmerk data prepare` takes. Training on the folder starts at once, however many pairs there
    are, and needs no more memory for more of them. Call it again to resume it if it was stopped.
    """
    from augenmerk.data.preparing import make_request, prepare_corpus

    if on == "ray" and workers is not None:
        raise AugenmerkError("--workers are processes of this machine; a Ray cluster uses all its cores.")
    check_least(1, workers=workers, vocabulary_sample=vocabulary_sample, max_length=max_length)
    place = Path(out)
    given: dict[Option, int | None] = {"pairs": pairs, "seed": seed}
    named = [str(sources)] if isinstance(sources, str | Path) else [*map(str, sources)]
    if not named:
        raise AugenmerkError("There is nothing to prepare: name datasets, folders or files.")
    request = make_request(
        named,
        None if preset is None else str(preset),
        list_overrides(settings),
        source_language=source_language,
        target_language=target_language,
        max_length=max_length,
        options={name: value for name, value in given.items() if value is not None},
        vocabulary_sample=vocabulary_sample,
        max_ratio=max_ratio,
    )
    began = time.monotonic()
    with connect_if_asked(on, ray_address), show_progress(MofNCompleteColumn()) as on_progress:
        folder = place.absolute() if on == "ray" else place  # the processes of Ray are in other folders
        map_blocks = RayTasks(folder) if on == "ray" else ProcessPool(workers or count_cores())
        about = prepare_corpus(request, folder, map_blocks=map_blocks, on_progress=on_progress)
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in about["left_out"].items()) or "none"
    tokens, shards = about["source_tokens"] + about["target_tokens"], len(about["shards"])
    line = (
        f"[bold]{escape(str(out))}[/]: {about['pairs']:,} pairs of {about['pairs_read']:,}, {tokens:,} "
        f"tokens in {shards:,} shard{'' if shards == 1 else 's'}, {time.monotonic() - began:.0f} s; "
        f"left out: {left_out}"
    )
    return Outcome({"folder": str(out), **about}, line)
