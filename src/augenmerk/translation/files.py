"""Translates a large file in blocks of lines, each of which any process of any machine may translate.

The blocks are in a folder beside the output, see `augenmerk.cluster.blocks`. The output appears when all
of them are translated, and the folder is removed. A block is a chunk of `Translator.stream`, translated in
the same batches as there, so it has the same bits.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from augenmerk import __version__
from augenmerk.base.device import choose_translating_device, count_threads
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file, replacing
from augenmerk.cluster.blocks import BlockJob, MapBlocks, OnProgress
from augenmerk.data import BadLine, BadLineError
from augenmerk.data.lines import read_lines
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.translation.output import Doubts, LineFormat
from augenmerk.translation.translator import Translator


@dataclass(frozen=True)
class FileJob:
    """Everything that the translation of a line depends on, except the line."""

    runs: tuple[Path, ...]
    """The runs that translate together; none for the bundled one, which every machine has."""
    device: str
    options: Mapping[str, Any]
    """The changes to the first run's settings of the search, as for `Translator.stream`."""
    format: LineFormat
    heads: bool = False
    split_sentences: bool = False
    skip_bad: bool = False
    mechanisms: tuple[str, ...] = ()
    """Custom attention mechanisms, as the user named them: FILE.py:Class."""

    def describe(self, translator: Translator) -> dict[str, Any]:
        """Returns what all blocks of one output have in common."""
        apart = ("runs", "options", "mechanisms")
        return {
            "version": __version__,
            "models": [run.model_digest for run in translator.runs],
            "mechanisms": [digest_file(Path(name.rpartition(":")[0])) for name in self.mechanisms],
            "search": translator.search_settings(**self.options).model_dump(),
            "max_source_length": translator.max_source_length,
            **{key: value for key, value in asdict(self).items() if key not in apart},
        }


@dataclass(frozen=True)
class FileSummary:
    """What to report about the translation of a file."""

    lines: int
    truncated: list[int]
    """The numbers of the lines, from 1, of which only the beginning was translated."""
    doubts: Doubts
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
    """Translates the lines of a file, or resumes that.

    The `translator` is that of the job, on any device; it divides the lines, and translates none. Raises
    AugenmerkError if blocks of another input, model or setting are beside the output.
    """
    if not output.parent.is_dir():
        raise AugenmerkError(f"{output}: cannot be written: there is no folder {output.parent}.")
    folder = blocks_folder(output)
    blocks = BlockJob(root=folder, folder=folder, results=folder, suffix=".output")
    asked = {"input": digest_file(source), **job.describe(translator)}
    with blocks.lock(output):
        # Batches are made for as many threads as in the process that began.
        threads = int(blocks.begin(asked, batch_threads=count_threads())["batch_threads"])
        try:
            scan = _split(blocks, translator, job, source, on_progress)
        except BadLineError:  # nothing was translated
            blocks.remove()
            raise
        if digest_file(source) != asked["input"]:
            blocks.remove()
            raise AugenmerkError(f"{source} changed while it was read; run the same command again.")
        firsts = accumulate((block["size"] for block in scan["blocks"]), initial=0)
        entries = blocks.compute(
            scan,
            [(first, block["sha256"]) for first, block in zip(firsts, scan["blocks"], strict=False)],
            partial(BlockTranslator, blocks, job, threads, asked["models"]),
            map_blocks,
            lambda done: on_progress("translating", done, scan["size"]),
        )
        with replacing(output) as temporary, temporary.open("wb") as file:
            for number in range(len(entries)):
                with blocks.result(number).open("rb") as block:
                    shutil.copyfileobj(block, file, 1 << 20)
        blocks.remove()
    doubts = Doubts("line")
    for entry in entries:
        for reason, (count, first) in entry["unfamiliar"].items():
            doubts.add_unfamiliar(reason, count, first)
        if entry["uncovered"]:
            doubts.add_uncovered(*entry["uncovered"])
    return FileSummary(
        lines=scan["size"],
        truncated=[number for entry in entries for number in entry["truncated"]],
        doubts=doubts,
        bad_lines=Counter(scan["bad_lines"]),
        first_bad=scan["first_bad"],
    )


def blocks_folder(output: Path) -> Path:
    """Returns the folder of the blocks of an output."""
    return output.with_name(f"{output.name}.blocks")


def _split(
    blocks: BlockJob, translator: Translator, job: FileJob, source: Path, on_progress: OnProgress
) -> dict[str, Any]:
    """Copies the lines into blocks; returns the scan, which also tells which lines were bad."""
    bad_lines: list[BadLine] | None = [] if job.skip_bad else None
    settings = translator.search_settings(**job.options)

    def read() -> Iterator[tuple[bytes, int]]:
        total = 0
        for lines in translator.chunks(read_lines(source, bad_lines), settings):
            total += len(lines)
            yield "\n".join(lines).encode(), len(lines)
            on_progress("reading", total, None)

    def describe_bad_lines() -> dict[str, Any]:
        kinds = Counter(bad.kind for bad in bad_lines or ())
        return {"bad_lines": dict(sorted(kinds.items())), "first_bad": bad_lines[0].line if bad_lines else 0}

    return blocks.split(read(), describe_bad_lines)


class BlockTranslator:
    """Translates blocks, in the process of a worker."""

    def __init__(self, blocks: BlockJob, job: FileJob, batch_threads: int, models: Sequence[str]) -> None:
        """Raises AugenmerkError if the runs have other weights than those with these digests."""
        self._blocks = blocks
        self._job = job
        if job.mechanisms:
            from augenmerk.mechanisms.custom import load_mechanisms

            load_mechanisms(job.mechanisms)
        runs = [RunDirectory.open(path) for path in job.runs or (BUNDLED_MODEL,)]
        device = choose_translating_device(job.device)
        self._translator = Translator.from_runs(runs, device, threads=1, batch_threads=batch_threads)
        for run, digest in zip(runs, models, strict=True):
            if run.model_digest != digest:  # asked after the weights were loaded
                raise AugenmerkError(
                    f"{run.path} was trained further while its translations were computed; remove "
                    f"{blocks.root} and begin again."
                )

    def __call__(self, number: int, first: int, sha256: str) -> dict[str, Any]:
        """Translates a block whose first line has the number `first`, counted from 0; returns its entry."""
        lines = self._blocks.read(number, sha256).decode().split("\n")
        about: dict[str, Any] = {"truncated": [], "unfamiliar": {}, "uncovered": []}

        def translate() -> Iterator[bytes]:
            translations = self._translator.stream(
                lines,
                heads=self._job.heads,
                numbers=range(first, first + len(lines)),
                split_sentences=self._job.split_sentences,
                **self._job.options,
            )
            for line, one in enumerate(translations, first + 1):
                if one.truncated:
                    about["truncated"].append(line)
                if one.unfamiliar is not None:
                    about["unfamiliar"].setdefault(one.unfamiliar, [0, line])[0] += 1
                if one.uncovered is not None:
                    about["uncovered"] = about["uncovered"] or [0, line, one.uncovered]
                    about["uncovered"][0] += 1
                yield "".join(self._job.format.format(line, one)).encode()

        return self._blocks.finish(number, translate(), about)
