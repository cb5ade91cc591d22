"""Multi30k: finding, reading and fetching it, on files of our own and on the real ones."""

import gzip
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from augenmerk.base.errors import AugenmerkError
from augenmerk.data import SentencePair, multi30k
from tests.unit.test_bitext_download import nowhere, serve, sha256

LINES = {"de": ["Ein Haus.", "", "  zwei  Bäume\u2028\t"], "en": ["A house.", "nothing", "two trees "]}


def gz(lines: list[str]) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


FILES = {name: gz([*LINES[name.split(".")[1]], f"not {name}"]) for name in multi30k.SHA256}
SUMS = {name: sha256(body) for name, body in FILES.items()}
REQUIRED = ["train.de.gz", "train.en.gz", "val.de.gz", "val.en.gz"]


def place(folder: Path, names: list[str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES if names is None else names:
        (folder / name).write_bytes(FILES[name])
    return folder


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data from this machine, a cache of our own, and no proxy between us and our server."""
    monkeypatch.delenv("AUGENMERK_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("no_proxy", "*")


def cache() -> Path:
    return user_cache_path("augenmerk") / "multi30k"


def test_every_split_has_a_file_for_each_language(tmp_path: Path) -> None:
    names = [f"{split}.{language}.gz" for split in multi30k.SPLITS for language in multi30k.LANGUAGES]
    assert list(multi30k.SHA256) == names
    assert len({*multi30k.SHA256.values()}) == 12
    assert all(len(bytes.fromhex(value)) == 32 for value in multi30k.SHA256.values())
    bitext = multi30k.load(place(tmp_path, [*REQUIRED, "test_2016_flickr.de.gz"]))
    assert list(bitext.splits) == ["train", "val"]
    with pytest.raises(AugenmerkError, match="no split called 'test_2016_flickr'"):
        bitext["test_2016_flickr"]


# Finding


def test_the_environment_comes_before_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(cache(), REQUIRED)
    monkeypatch.setenv("AUGENMERK_DATA", "")
    assert multi30k.find() == cache()
    monkeypatch.setenv("AUGENMERK_DATA", str(tmp_path))
    assert multi30k.find() == cache()
    place(tmp_path / "multi30k", REQUIRED)
    assert multi30k.find() == tmp_path / "multi30k"


def test_the_message_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGENMERK_DATA", str(tmp_path))
    place(tmp_path / "multi30k", REQUIRED[:3])
    with pytest.raises(AugenmerkError) as caught:
        multi30k.load()
    assert str(caught.value) == (
        f"Multi30k was not found: looked in {tmp_path / 'multi30k'} (lacks val.en.gz) and {cache()} "
        f"(lacks train.de.gz, train.en.gz, val.de.gz, val.en.gz); run `augenmerk data fetch multi30k`, or "
        f"place the files there by hand, or set AUGENMERK_DATA to the folder that holds multi30k/."
    )


def test_a_given_folder_is_the_one_or_holds_it_and_the_only_place(tmp_path: Path) -> None:
    place(cache())
    with pytest.raises(AugenmerkError) as caught:
        multi30k.find(tmp_path)
    place(tmp_path / "multi30k", REQUIRED)
    assert multi30k.find(tmp_path) == multi30k.find(tmp_path / "multi30k") == tmp_path / "multi30k"
    assert f"{tmp_path} (lacks train.de.gz, train.en.gz, val.de.gz, val.en.gz)" in str(caught.value)
    assert str(cache()) not in str(caught.value)


# Reading


def test_sentences_are_left_as_they_are_and_can_be_read_again(tmp_path: Path) -> None:
    bitext = multi30k.load(place(tmp_path))
    assert (bitext.name, bitext.source_language, bitext.target_language) == ("multi30k", "de", "en")
    assert tuple(bitext.splits) == multi30k.SPLITS
    pairs = zip([*LINES["de"], "not val.de.gz"], [*LINES["en"], "not val.en.gz"], strict=True)
    expected = [SentencePair(*pair) for pair in pairs]
    assert list(bitext["val"]) == expected
    assert list(bitext["val"]) == expected


# Fetching


def test_everything_is_fetched_to_the_cache_and_then_found() -> None:
    reports: list[tuple[str, int, int | None]] = []
    with serve(FILES) as server:
        folder = multi30k.fetch(None, server.url, lambda *report: reports.append(report), files=SUMS)
    assert folder == multi30k.find() == cache()
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == FILES
    complete = [report for report in reports if report[1] == report[2]]
    assert list(dict.fromkeys(complete)) == [(name, len(body), len(body)) for name, body in FILES.items()]


def test_only_what_is_missing_or_damaged_is_fetched(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int | None]] = []
    place(tmp_path)
    multi30k.fetch(tmp_path, nowhere(), lambda *report: reports.append(report), files=SUMS)
    assert reports == [(name, len(body), len(body)) for name, body in FILES.items()]
    (tmp_path / "val.de.gz").unlink()
    (tmp_path / "test_2018_flickr.en.gz").write_bytes(b"damaged")
    with serve(FILES) as server:
        server.failures = ["cut"]
        multi30k.fetch(tmp_path, server.url, files=SUMS)
    assert server.requests == ["/val.de.gz", "/val.de.gz", "/test_2018_flickr.en.gz"]
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == FILES


def test_no_network_says_what_to_do_by_hand(tmp_path: Path) -> None:
    place(tmp_path)
    for name in ("val.de.gz", "val.en.gz"):
        (tmp_path / name).unlink()
    url = nowhere()
    with pytest.raises(AugenmerkError) as caught:
        multi30k.fetch(tmp_path, url, files=SUMS, retries=0)
    assert str(caught.value) == (
        f"{url}/val.de.gz could not be downloaded (Connection refused): check the address and the network "
        f"and try again, or place the files by hand in {tmp_path}, or set AUGENMERK_DATA "
        f"to a folder that holds a complete multi30k/."
    )


# The real files


def test_the_real_files_have_the_sums_and_the_splits_their_sizes(multi30k_folder: Path) -> None:
    names = [name for name in multi30k.SHA256 if (multi30k_folder / name).exists()]
    assert set(REQUIRED) <= set(names)
    assert {name: sha256((multi30k_folder / name).read_bytes()) for name in names} == {
        name: multi30k.SHA256[name] for name in names
    }
    bitext, sizes = multi30k.load(multi30k_folder), {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
    assert {split: sum(1 for _ in bitext[split]) for split in sizes} == sizes


@pytest.mark.parametrize("url", ["", "example.org", "file:///etc/passwd", "http://[::1", "http://x:port"])
def test_what_is_no_address_is_a_sentence(tmp_path: Path, url: str) -> None:
    said = "could not be downloaded" if url.startswith("http") else "^'.*' is not an address to fetch from; "
    with pytest.raises(AugenmerkError, match=said):
        multi30k.fetch(tmp_path, url, retries=0)
    assert list(tmp_path.iterdir()) == []
