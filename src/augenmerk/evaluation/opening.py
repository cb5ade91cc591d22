"""Opens what is evaluated: a run with its own sentence pairs, wherever they are now, or with others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from augenmerk.base.config import DataConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import DATASETS, GIVE_DATA, Bitext, open_bitext, open_data, path_exists, resolve_data_name
from augenmerk.run.bundled import BUNDLED_MODEL, copy_bundled_model
from augenmerk.run.directory import RunDirectory


@dataclass(frozen=True)
class OtherData:
    """The sentence pairs of --data; a run may have been trained on others or on the same."""

    path: str
    source_language: str | None
    target_language: str | None
    divided: bool
    """Whether a single file is divided into splits, instead of being one with all of its pairs."""
    skip_bad: bool

    def replaces(self, own: str) -> bool:
        """Returns whether the data of a run is here: the same, or a copy of data that was moved.

        A file must have kept its name: another file is more likely to be another test set.
        """
        moved = own not in DATASETS and not path_exists(Path(own)) and self.path not in DATASETS
        return self.path == own or (
            moved and (Path(self.path).is_dir() or Path(self.path).name == Path(own).name)
        )

    def open(self, own: DataConfig) -> Bitext:
        """Opens the pairs; they are in the languages of the run's own, unless others were given."""
        return open_bitext(
            self.path,
            source_language=self.source_language or own.source_language,
            target_language=self.target_language or own.target_language,
            skip_bad=self.skip_bad,
            divide=self.divided,
        )


def find_other_data(
    data: str | Path | None,
    source_language: str | None = None,
    target_language: str | None = None,
    *,
    divided: bool,
    skip_bad: bool = False,
) -> OtherData | None:
    """Returns the sentence pairs of --data, if there are any."""
    if data is None:
        if source_language or target_language:
            raise AugenmerkError("The languages are those of --data: add --data.")
        return None
    path = resolve_data_name(str(data), Path.cwd())
    return OtherData(path, source_language, target_language, divided, skip_bad)


def open_run(
    path: Path | None, other: OtherData | None, splits: Sequence[str], remark: Callable[[str], None]
) -> tuple[RunDirectory, Bitext | None]:
    """Opens a run, and the other sentence pairs unless they are the run's own.

    Without a path it is the bundled model, which is copied to the folder runs, where its scores can be kept;
    nothing is copied if its data or one of the splits is absent. Raises AugenmerkError if data cannot be
    found; calls `remark` with a sentence if the data of the run was moved to the place of the others.
    """
    run, bitext = RunDirectory.open(path or BUNDLED_MODEL), None
    own = run.config.data
    if other is not None and not other.replaces(own.bitext):
        bitext = other.open(own)
    else:
        if other is not None:
            if other.path != own.bitext:
                remark(f"{own.bitext} is not there; {other.path} is taken for it.")
            own = own.model_copy(update={"bitext": other.path})
            run.config = run.config.model_copy(update={"data": own})
        open_data(own, if_moved=GIVE_DATA)
    if path is None:
        opened = bitext or open_data(own)
        for split in splits:
            opened[split]
        run = copy_bundled_model(Path("runs"))
    return run, bitext
