"""Translates a large file in blocks of lines, each of which any process of any machine may translate.

Beside the output, a folder keeps what a killed process need not repeat:

    request.json          digests of the input and the models, and all settings
    scan.json             the blocks with their checksums, and the bad lines that were skipped
    000000.source, ...    the lines of a block
    000000.output, ...    what they become
    000000.json, ...      the checksum of that, and what there is to warn of; it is written last

The output appears when all blocks are there, and the folder is removed. A block is a chunk of
`Translator.stream`, and is translated in the same batches as it would be there, so it has the same bits.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from augenmerk import __version__
from augenmerk.base.device import choose_translating_device, count_threads
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import (
    atomic_write,
    digest_file,
    error_reason,
    read_bytes,
    read_object,
    replacing,
    write_object,
)
from augenmerk.base.locks import hold_lock, remove_files, remove_locked_folder
from augenmerk.cluster.blocks import MapBlocks, map_missing
from augenmerk.data import BadLine, BadLineError
from augenmerk.data.files import read_lines
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.familiarity import Reason
from augenmerk.translation.lines import LineFormat
from augenmerk.translation.translator import Translator

_REQUEST, _SCAN, _LOCK = "request.json", "scan.json", ".lock"

OnProgress = Callable[[str, int, int | None], None]
"""Is called with what is done, for how many lines it was done, and how many there are if that is known."""


@dataclass(frozen=True)
class FileJob:
    """All that decides about the translation of a line, but for the line."""

    runs: tuple[Path, ...]
    """The runs that translate together; none for the one that ships, which every machine has."""
    device: str
    options: Mapping[str, Any]
    """The changes to the first run's settings of the search, as for `Translator.stream`."""
    format: LineFormat
    heads: bool = False
    split_sentences: bool = False
    skip_bad: bool = False
    mechanisms: tuple[str, ...] = ()
    """Attention mechanisms in a person's own files, which the user named."""

    def describe(self, translator: Translator) -> dict[str, Any]:
        """Returns what all blocks of one output have in common."""
        return {
            "version": __version__,
            "models": [run.model_digest for run in translator.runs],
            "mechanisms": [digest_file(Path(place.rpartition(":")[0])) for place in self.mechanisms],
            "search": translator.search_settings(**self.options).model_dump(),
            "max_source_length": translator.max_source_length,
            "device": self.device,
            "format": asdict(self.format),
            "heads": self.heads,
            "split_sentences": self.split_sentences,
            "skip_bad": self.skip_bad,
        }


@dataclass(frozen=True)
class FileSummary:
    """What there is to say about the translation of a file."""

    lines: int
    truncated: list[int]
    """The numbers of the lines, from 1, of which only the beginning was translated."""
    unfamiliar: list[tuple[Reason, int, int]]
    """For each block why lines are unlike what the model learnt from, how many, and the first of them."""
    uncovered: list[tuple[int, int, str]]
    """For each block how many translations lack something, the first of their lines, and what it lacks."""
    bad_lines: Counter[str]
    """How many lines of each kind were bad, and so have an empty translation."""
    first_bad: int


def translate_file(
    job: FileJob,
    translator: Translator,
    source: Path,
    output: Path,
    *,
    map_blocks: MapBlocks,
    on_progress: OnProgress,
) -> FileSummary:
    """Translates the lines of a file, or goes on where that was left.

    The `translator` is that of the job, on any device; it divides the lines, and translates none. Raises
    AugenmerkError if blocks of another input, model or setting are beside the output.
    """
    folder = blocks_folder(output)
    if not output.parent.is_dir():
        raise AugenmerkError(f"{output}: cannot be written, for there is no folder {output.parent}.")
    asked = {"input": digest_file(source), **job.describe(translator)}
    try:
        with hold_lock(folder / _LOCK, timeout=0.5):
            threads = _begin(folder, asked)
            try:
                scan = _scan(translator, job, source, folder, on_progress)
            except BadLineError:  # nothing was translated
                _remove(folder)
                raise
            if digest_file(source) != asked["input"]:
                _remove(folder)
                raise AugenmerkError(f"{source} changed while it was read; run the same command again.")
            start = partial(BlockTranslator, folder, job, threads, asked["models"])
            entries = _translate_blocks(start, folder, scan, map_blocks, on_progress)
            with replacing(output) as temporary, temporary.open("wb") as file:
                for number in range(len(entries)):
                    with (folder / f"{_name(number)}.output").open("rb") as block:
                        shutil.copyfileobj(block, file, 1 << 20)
            _remove(folder)
    except TimeoutError:
        raise AugenmerkError(
            f"{output} is being written by another process; wait for it or stop it."
        ) from None
    except OSError as error:
        raise AugenmerkError(
            f"{folder}: cannot be written ({error_reason(error)}); what is finished is kept."
        ) from None
    return FileSummary(
        lines=scan["lines"],
        truncated=[number for entry in entries for number in entry["truncated"]],
        unfamiliar=[(reason, *found) for entry in entries for reason, found in entry["unfamiliar"].items()],
        uncovered=[tuple(entry["uncovered"]) for entry in entries if entry["uncovered"]],
        bad_lines=Counter(scan["bad_lines"]),
        first_bad=scan["first_bad"],
    )


def blocks_folder(output: Path) -> Path:
    """Returns the folder of the blocks of an output."""
    return output.with_name(f"{output.name}.blocks")


def _remove(folder: Path) -> None:
    (folder / _SCAN).unlink(missing_ok=True)  # first, for without it `_begin` trusts nothing that is left
    remove_locked_folder(folder, _LOCK)


def _begin(folder: Path, asked: dict[str, Any]) -> int:
    """Returns for how many threads batches are made, which is what it was when the work was begun."""
    asked = json.loads(json.dumps(asked))
    path = folder / _REQUEST
    if not (folder / _SCAN).exists():  # nothing was translated, or the folder was being removed
        remove_files(folder, keep=_LOCK)
        write_object(path, {**asked, "batch_threads": count_threads()})
    before = read_object(path)
    if other := [key for key, value in asked.items() if before.get(key) != value]:
        raise AugenmerkError(
            f"{folder} has blocks of another translation (its {other[0].replace('_', ' ')} differs); remove "
            f"it, or choose another --output."
        )
    return int(before["batch_threads"])


def _scan(
    translator: Translator, job: FileJob, source: Path, folder: Path, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the lines into blocks; returns their numbers and checksums, and which lines were bad."""
    if (folder / _SCAN).exists():
        return read_object(folder / _SCAN)
    bad_lines: list[BadLine] | None = [] if job.skip_bad else None
    settings = translator.search_settings(**job.options)
    blocks: list[dict[str, Any]] = []
    total = 0
    for lines in translator.chunks(read_lines(source, bad_lines), settings):
        content = "\n".join(lines).encode()
        (folder / f"{_name(len(blocks))}.source").write_bytes(content)
        blocks.append({"lines": len(lines), "sha256": hashlib.sha256(content).hexdigest()})
        total += len(lines)
        on_progress("reading", total, None)
    kinds = Counter(bad.kind for bad in bad_lines or ())
    first = bad_lines[0].line if bad_lines else 0
    scan = {"lines": total, "blocks": blocks, "bad_lines": dict(sorted(kinds.items())), "first_bad": first}
    write_object(folder / _SCAN, scan)
    return scan


def _translate_blocks(
    start: Callable[[], "BlockTranslator"],
    folder: Path,
    scan: Mapping[str, Any],
    map_blocks: MapBlocks,
    on_progress: OnProgress,
) -> list[dict[str, Any]]:
    """Translates all blocks that are not there yet; returns the entries of all."""
    sizes = [block["lines"] for block in scan["blocks"]]
    firsts = accumulate(sizes, initial=0)  # the number of the first line of each block
    blocks = [
        (size, (first, block["sha256"]))
        for size, first, block in zip(sizes, firsts, scan["blocks"], strict=False)
    ]
    return map_missing(
        map_blocks,
        start,
        blocks,
        partial(_find_finished, folder),
        lambda done: on_progress("translating", done, scan["lines"]),
    )


def _find_finished(folder: Path, number: int) -> dict[str, Any] | None:
    """Returns the entry of a block that was translated before and is undamaged, or None."""
    with suppress(AugenmerkError):
        entry = read_object(folder / f"{_name(number)}.json")
        if digest_file(folder / f"{_name(number)}.output") == entry["sha256"]:
            return entry
    return None


class BlockTranslator:
    """Translates blocks, in the process of a worker."""

    def __init__(self, folder: Path, job: FileJob, batch_threads: int, models: Sequence[str]) -> None:
        """Raises AugenmerkError if the runs have other weights than those with these digests."""
        self._folder = folder
        self._job = job
        if job.mechanisms:
            from augenmerk.model.custom import load_mechanisms

            load_mechanisms(job.mechanisms)
        runs = [RunDirectory.open(path) for path in job.runs or (BUNDLED_MODEL,)]
        device = choose_translating_device(job.device)
        self._translator = Translator.from_runs(runs, device, threads=1, batch_threads=batch_threads)
        for run, digest in zip(runs, models, strict=True):
            if run.model_digest != digest:  # asked after the weights were loaded
                raise AugenmerkError(
                    f"{run.path} was trained further while its translations were computed; remove {folder} "
                    f"and begin again."
                )

    def __call__(self, number: int, first: int, sha256: str) -> dict[str, Any]:
        """Translates a block whose first line has the number `first`, counted from 0; returns its entry."""
        content = read_bytes(self._folder / f"{_name(number)}.source")
        if hashlib.sha256(content).hexdigest() != sha256:
            raise AugenmerkError(
                f"{self._folder} is damaged, for block {number} is; remove it and begin again."
            )
        lines = content.decode().split("\n")
        truncated: list[int] = []
        unfamiliar: dict[Reason, list[int]] = {}
        uncovered: list[tuple[int, str]] = []

        def translate() -> Iterator[str]:
            translations = self._translator.stream(
                lines,
                heads=self._job.heads,
                numbers=range(first, first + len(lines)),
                split_sentences=self._job.split_sentences,
                **self._job.options,
            )
            for place, translation in enumerate(translations, first + 1):
                if translation.unfamiliar is not None:
                    unfamiliar.setdefault(translation.unfamiliar, [0, place])[0] += 1
                if translation.truncated:
                    truncated.append(place)
                if translation.uncovered is not None:
                    uncovered.append((place, translation.uncovered))
                yield from self._job.format.format(place, translation)

        digest = hashlib.sha256()
        atomic_write(self._folder / f"{_name(number)}.output", _encode(translate(), digest.update))
        entry = {
            "sha256": digest.hexdigest(),
            "truncated": truncated,
            "unfamiliar": unfamiliar,
            "uncovered": [len(uncovered), *uncovered[0]] if uncovered else [],
        }
        write_object(self._folder / f"{_name(number)}.json", entry)
        return entry


def _encode(lines: Iterable[str], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for line in lines:
        content = line.encode()
        update(content)
        yield content


def _name(number: int) -> str:
    return f"{number:06d}"
