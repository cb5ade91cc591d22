"""run.json: which version wrote a run, and the digests by which its settings and its code are recognised."""

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Self

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import check_format, explain_read_errors, read_object, write_object

FORMAT = 1
"""The format of run directories. It grows when earlier versions could no longer read them."""
_FILE = "run.json"


@dataclass(frozen=True)
class Metadata:
    """What is recorded about a run besides its settings; runs of 0.1.0 have none and are not checked."""

    settings: tuple[str, ...] = ()
    """The SHA-256 of config.toml, of each version of it that the run has had: weights name theirs."""
    code: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of the run's copy of a custom mechanism's file, by its name."""
    version: str | None = __version__
    """The version of augenmerk that wrote this."""
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads it; raises AugenmerkError if it is damaged or only another version can read the run."""
        path = folder / _FILE
        if not path.exists():
            return cls(version=None)
        tree = read_object(path)
        with explain_read_errors(path):
            metadata = cls(tuple(tree["settings"]), dict(tree["code"]), str(tree["version"]), tree["format"])
        check_format(folder, metadata.format, FORMAT, str(metadata.version))
        return metadata

    def knowing(self, *digests: str) -> Self:
        """Returns this with further digests of settings, unless there are none because nothing is checked."""
        known = dict.fromkeys((*self.settings, *digests)) if self.settings else ()
        return replace(self, settings=tuple(known))

    def write(self, folder: Path) -> None:
        write_object(folder / _FILE, {**asdict(self), "version": __version__}, indent=2)

    @property
    def is_newer(self) -> bool:
        """Whether a newer version than this one wrote the run."""
        return self.version is not None and _numbers(self.version) > _numbers(__version__)

    def explain_newer(self, folder: Path, error: AugenmerkError) -> AugenmerkError:
        """Returns the error about settings that this version does not know."""
        return AugenmerkError(
            f"{folder} was written by augenmerk {self.version}, which is newer than this version, "
            f"{__version__}, and has settings that it does not know ({str(error).removesuffix('.')}); update "
            f"it: pip install -U augenmerk."
        )


def digest_of(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


@cache
def warn_of_newer(folder: Path, version: str) -> None:
    """Warns once that a newer version wrote a run."""
    logging.getLogger(__name__).warning(
        "%s was written by augenmerk %s, which is newer than this version, %s: it can be used, but "
        "results may differ slightly.",
        *(folder, version, __version__),
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers of a version, such as (0, 1, 0)."""
    return tuple(int(number[:9]) for number in re.findall(r"\d+", version)[:3])
