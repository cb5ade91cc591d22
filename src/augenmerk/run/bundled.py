"""The model that comes with the package."""

import shutil
from pathlib import Path

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import digest_file, error_reason, temp_path
from augenmerk.run.directory import MODEL, RunDirectory

BUNDLED_MODEL = Path(__file__).parents[1] / "models" / "multi30k-de-en"
"""Its run; its MODEL_CARD.md describes it."""


def copy_bundled_model(folder: Path) -> RunDirectory:
    """Copies the bundled model into a folder, where scores can be kept, and opens it.

    A copy that is already there is opened as it is.
    """
    path = folder / BUNDLED_MODEL.name
    new = temp_path(path.resolve())
    try:
        if not path.exists():
            shutil.copytree(BUNDLED_MODEL, new)
            new.rename(path)
    except OSError as error:
        if not path.exists():  # else another process was faster
            raise AugenmerkError(f"{path}: cannot be created ({error_reason(error)}).") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    run = RunDirectory.open(path)
    if run.model_digest != digest_file(BUNDLED_MODEL / MODEL):
        raise AugenmerkError(f"{path} is not the bundled model but another run; move it away.")
    return run
