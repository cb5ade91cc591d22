"""The config.toml of a run: its settings, after comments that say what wrote them and what they belong to.

    # sha256: 5e88... of the rest; remove this line if you change it on purpose
    # written by augenmerk 0.1.0, run format 1
    # mine.py: sha256 9f86...

The last line is only in runs with a custom attention mechanism: the digest of the run's copy of its file.
"""

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from augenmerk import __version__
from augenmerk.base.config import MAX_SETTINGS_BYTES, RunConfig, parse_toml
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import check_format, read_text

FORMAT = 1
"""The format of run directories. It grows when earlier versions could no longer read them."""
_DIGEST = "# sha256: "
_WRITTEN_BY = re.compile(r"^# written by augenmerk (\S+), run format (\d{1,9})$", re.MULTILINE)
_CODE_DIGEST = re.compile(r"^# (.+\.py): sha256 ([0-9a-f]{64})$", re.MULTILINE)
_WARNED: set[str] = set()
"""The newer versions about which this process has warned."""


@dataclass(frozen=True)
class SettingsFile:
    """What config.toml holds."""

    config: RunConfig
    tree: dict[str, Any]
    """The settings as they are in the file, for checksums: a later version may have further settings."""
    digest: str
    edited: bool
    """Whether it was edited on purpose, so that its checksum was removed."""
    version: str | None
    """The version of augenmerk that wrote it; None if none was recorded."""
    code_digests: dict[str, str]
    """The SHA-256 of each file of code in the run."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads the file, and warns once in the life of a process if a newer version wrote it.

        Raises AugenmerkError if it is damaged, or if only a newer version can read it.
        """
        text, edited = _read(path)
        written_by = _WRITTEN_BY.search(text)
        version = written_by[1] if written_by else None
        if written_by:
            check_format(path.parent, int(written_by[2]), FORMAT, written_by[1])
        config = _parse(text, path, version)
        tree = parse_toml(text, str(path))
        return cls(config, tree, digest_of(text), edited, version, dict(_CODE_DIGEST.findall(text)))


def add_comments(settings: str, code_digests: Mapping[str, str]) -> str:
    """Returns the content of config.toml without its first line: what wrote it, then the settings."""
    comments = [f"# written by augenmerk {__version__}, run format {FORMAT}"]
    comments += [f"# {name}: sha256 {digest}" for name, digest in code_digests.items()]
    return "".join(f"{comment}\n" for comment in comments) + settings


def with_digest(settings: str) -> str:
    """Returns the content of config.toml: the settings after a line with their checksum."""
    line = f"{_DIGEST}{digest_of(settings)} of the rest; remove this line if you change it on purpose"
    return f"{line}\n{settings}"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> tuple[str, bool]:
    """Reads config.toml without its checksum, and returns whether it was edited on purpose.

    Raises AugenmerkError if it was changed by accident, which is if its checksum is still there.
    """
    text = read_text(path, MAX_SETTINGS_BYTES).removeprefix("\ufeff")  # as some editors begin their files
    first, _, rest = text.partition("\n")
    if not first.startswith(_DIGEST):
        return text, True
    if first.removeprefix(_DIGEST).partition(" ")[0] != digest_of(rest):
        raise AugenmerkError(
            f"{path}: its settings were changed after the run was created, or are damaged; "
            f"if you changed them on purpose, remove the first line, which holds their checksum."
        )
    return rest, False


def _parse(text: str, path: Path, version: str | None) -> RunConfig:
    newer = version is not None and _release(version) > _release(__version__)
    try:
        config = RunConfig.from_toml(text, str(path))
    except AugenmerkError as error:
        if not newer:
            raise
        raise AugenmerkError(
            f"{path.parent} was written by augenmerk {version}, which is newer than this version, "
            f"{__version__}, and has settings that it does not know ({str(error).removesuffix('.')}); update "
            f"it: pip install -U augenmerk."
        ) from None
    if newer and version not in _WARNED:
        _WARNED.add(str(version))
        logging.getLogger(__name__).warning(
            "%s was written by augenmerk %s, which is newer than this version, %s: it can be used, but "
            "results may differ slightly.",
            *(path.parent, version, __version__),
        )
    return config


def _release(version: str) -> tuple[int, ...]:
    """Returns the numbers of a version, such as (0, 1, 0)."""
    return tuple(int(number[:9]) for number in re.findall(r"\d+", version)[:3])
