"""Sentences, files and stdin as people have them translated: `augenmerk translate` in functions."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rich.progress import MofNCompleteColumn

from augenmerk.base.console import count_items, err, show_progress, warn
from augenmerk.base.device import CPU, Place
from augenmerk.base.errors import AugenmerkError, check_choice, remove_control_characters
from augenmerk.base.files import atomic_write, follow_links, is_stream, replacing
from augenmerk.base.frames import as_list
from augenmerk.data.lines import read_lines, read_stdin
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.text.pairs import BadLine, BadLineError
from augenmerk.translation.output import Doubts, LineFormat
from augenmerk.translation.translation import Translation
from augenmerk.translation.translator import Translator

if TYPE_CHECKING:
    from augenmerk.translation.files import FileJob

SPLITTING = " If there are several sentences, --split-sentences translates them all."

Source = Sequence[str] | Path | None
"""Sentences, a file with a sentence on each line, or stdin."""


def translate_source(
    translator: Translator,
    source: Source,
    output: Path | None,
    *,
    json: bool = False,
    subwords: bool = False,
    escape: bool = False,
    heads: bool = False,
    split_sentences: bool = False,
    skip_bad: bool = False,
    on: Place = "local",
    ray_address: str | None = None,
    device: str = "auto",
    attention: str | Sequence[str] | None = None,
    **search: Any,
) -> None:
    """Translates sentences, a file or stdin, and writes the translations to a file or to stdout.

    `json`, `subwords` and `escape` are those of `LineFormat`; `search` changes the run's search.
    Over a Ray cluster, a file is translated into another; `device` is theirs, and `attention` names the
    custom mechanisms that they need, FILE.py:Class.
    """
    if output is not None:
        if output.is_dir():
            raise AugenmerkError(f"{output} is a folder; give --output the name of a file.")
        follow_links(output)  # a mistake is found before anything is translated
    several = translator.search_settings(**search).n_best > 1
    one_line = source is None or isinstance(source, Path)
    line_format = LineFormat(several, json, subwords, escape, one_line)
    how = {"heads": heads, "split_sentences": split_sentences}
    check_choice("on", on, get_args(Place))
    if on == "local":
        if ray_address is not None:
            raise AugenmerkError("--ray-address is for a Ray cluster: add --on ray.")
        translations = _translate(translator, source, {**search, **how}, skip_bad=skip_bad)
        numbered = enumerate(translations, 1)
        _write((line for number, one in numbered for line in line_format.format(number, one)), output)
        return
    from augenmerk.translation.files import FileJob

    for name, path in (("--input", source), ("--output", output)):
        if not isinstance(path, Path) or is_stream(path):
            raise AugenmerkError(f"Ray translates one file into another: {name} must be a file.")
    if device not in ("auto", CPU, "cuda"):
        raise AugenmerkError(
            f"--device {device}: with --on ray it is cpu, or cuda for a GPU of any machine that has one free."
        )
    assert isinstance(source, Path)
    assert output is not None
    job = FileJob(
        runs=tuple(run.path.absolute() for run in translator.runs if run.path != BUNDLED_MODEL),
        device=CPU if device == "auto" else device,
        options=search,
        format=line_format,
        **how,
        skip_bad=skip_bad,
        mechanisms=tuple(str(Path(named).absolute()) for named in as_list(attention, str)),
    )
    # Absolute, because the processes of Ray are in other folders.
    _translate_on_ray(job, translator, source, follow_links(output).absolute(), ray_address)


def _translate_on_ray(
    job: "FileJob", translator: Translator, source: Path, output: Path, address: str | None
) -> None:
    """Translates a file in blocks over a cluster, with the warnings of `_translate`."""
    from augenmerk.cluster.blocks import RayTasks
    from augenmerk.cluster.ray import connect_if_asked
    from augenmerk.translation.files import blocks_folder, translate_file

    map_blocks = RayTasks(blocks_folder(output), gpus=1 if job.device == "cuda" else 0)
    try:
        with connect_if_asked("ray", address), show_progress(MofNCompleteColumn()) as on_progress:
            found = translate_file(
                job, translator, source, output, map_blocks=map_blocks, on_progress=on_progress
            )
    except BadLineError as error:
        raise _explain_bad_line(error) from None
    for number in found.truncated:
        _warn_of_truncation("line", number, translator)
    _warn_of_bad_lines(found.bad_lines, found.first_bad)
    for sentence in found.doubts.describe(found.lines, "" if job.split_sentences else SPLITTING):
        warn(sentence)


def _translate(
    translator: Translator, source: Source, how: Mapping[str, Any], *, skip_bad: bool
) -> Iterator[Translation]:
    """Translates the sentences, or the lines of the file or on stdin; `how` has keywords of
    `Translator.stream`.

    Warns where one was too long and, at the end, of bad lines that were skipped, whose translation is empty,
    of those that are unlike what the model learnt from, and of translations that leave something out.
    """
    bad_lines: list[BadLine] | None = [] if skip_bad else None
    lines: Iterable[str | None]
    if source is None:
        lines = read_stdin(bad_lines)
        if sys.stdin.isatty():
            err().print("[dim]Type one sentence on each line; Ctrl-D ends.[/]")
    else:
        lines = read_lines(source, bad_lines) if isinstance(source, Path) else source
    number, unit = 0, "line" if source is None or isinstance(source, Path) else "sentence"
    doubts = Doubts(unit)
    try:
        for number, translation in enumerate(translator.stream(lines, **how), 1):
            doubts.add(number, translation)
            if translation.truncated:
                _warn_of_truncation(unit, number, translator)
            yield translation
    except BadLineError as error:
        raise _explain_bad_line(error) from None
    if bad_lines:
        _warn_of_bad_lines(Counter[str](bad.kind for bad in bad_lines), bad_lines[0].line)
    for sentence in doubts.describe(number, "" if how["split_sentences"] else SPLITTING):
        warn(sentence)


def _explain_bad_line(error: Exception) -> AugenmerkError:
    return AugenmerkError(f"{error} --skip-bad leaves such lines empty and continues.")


def _warn_of_truncation(unit: str, number: int, translator: Translator) -> None:
    warn(
        f"{unit} {number} has more than {translator.max_source_length} tokens, the most this model reads: "
        f"only its beginning was translated."
    )


def _warn_of_bad_lines(kinds: Counter[str], first: int) -> None:
    if kinds:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        warn(f"Bad lines, whose translation is empty: {reasons}; the first is line {first:,}.")


def _write(lines: Iterable[str], output: Path | None) -> None:
    """Writes the lines to stdout, each at once, or to a file that appears when all are written.

    If that is interrupted, the lines that there are already are kept beside the file, in FILE.partial.
    """
    if output is None:
        for line in lines:
            sys.stdout.write(remove_control_characters(line) if sys.stdout.isatty() else line)
            sys.stdout.flush()  # a reader of a pipe need not wait until a buffer is full
        return
    if is_stream(output):
        atomic_write(output, (line.encode() for line in lines))
        return
    path, count = follow_links(output), 0
    partial = path.with_name(f"{path.name}.partial")
    with replacing(path) as temporary:
        try:
            with temporary.open("wb") as file, show_progress(MofNCompleteColumn()) as on_progress:
                for line in count_items(lines, "lines", on_progress):
                    file.write(line.encode())
                    count += 1
        except KeyboardInterrupt as interrupt:
            if count:
                temporary.replace(partial)
                interrupt.args = (f"{partial} has the first {count:,} lines.",)
            raise
