"""Reading lines: only a line feed ends one, and whatever is wrong is said with file and line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augenmerk.bitext.lines import read_lines, read_parallel
from augenmerk.errors import AugenmerkError

lines_of_text = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")).filter(
        lambda line: not line.endswith("\r")
    )
)


@given(lines=lines_of_text, end=st.sampled_from(["\n", "\r\n"]), compressed=st.booleans())
def test_lines_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, compressed: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / ("lines.gz" if compressed else "lines")
    # The mark in front keeps a line that itself begins with one from losing it.
    content = ("\ufeff" + "".join(line + end for line in lines)).encode() if lines else b""
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert list(read_lines(path)) == lines


def test_last_line_may_lack_its_end(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo")
    assert list(read_lines(path)) == ["one", "two"]


@pytest.mark.parametrize("rare", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_no_other_character_ends_a_line(tmp_path: Path, rare: str) -> None:
    path = tmp_path / "lines"
    path.write_bytes(f"before{rare}after\n".encode())
    assert list(read_lines(path)) == [f"before{rare}after"]


def test_broken_utf8_names_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin1.de"
    path.write_bytes(b"gut\nsch\xf6n\n")
    with pytest.raises(AugenmerkError, match=r"latin1\.de, line 2: not UTF-8 \(byte 4 of the line is 0xf6\)"):
        list(read_lines(path))


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(AugenmerkError, match=r"nowhere\.de: there is no such file"):
        list(read_lines(tmp_path / "nowhere.de"))


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(AugenmerkError, match="cannot be read"):
        list(read_lines(tmp_path))


def test_truncated_and_false_gzip(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n" * 1000)[:-20])
    with pytest.raises(AugenmerkError, match=r"cut\.gz, after line \d+: damaged gzip"):
        list(read_lines(path))
    path.write_bytes(b"plain text\n")
    with pytest.raises(AugenmerkError, match=r"cut\.gz, after line 0: damaged gzip"):
        list(read_lines(path))


@pytest.mark.parametrize(("source", "target", "short"), [(3, 5, "source"), (4, 2, "target")])
def test_unequal_line_counts_name_the_shorter_file(
    tmp_path: Path, source: int, target: int, short: str
) -> None:
    (tmp_path / "source").write_text("a\n" * source)
    (tmp_path / "target").write_text("b\n" * target)
    with pytest.raises(AugenmerkError, match=rf"{short} ends after line {min(source, target)}, but"):
        list(read_parallel(tmp_path / "source", tmp_path / "target"))
