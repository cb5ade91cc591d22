"""A run as an object: what it was trained with, what it learnt, and all that can be done with it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, overload

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.config import RunConfig
from augenmerk.base.console import Shown
from augenmerk.base.frames import Outcome, as_list, make_frame
from augenmerk.drawing.charts import Curves, RunCurves
from augenmerk.evaluation.evaluate import Scores, evaluate
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import Translation, Translator, load


class Run(Shown):
    """A run: a directory with settings, a vocabulary and weights. Made by `train` and `open_run`."""

    def __init__(self, directory: RunDirectory, result: Mapping[str, Any] | None = None) -> None:
        """`result` is what training has returned, if it was done in this process."""
        self.path = directory.path
        self._directory = directory
        self._result = result

    def __fspath__(self) -> str:
        """Makes a run a path: whatever takes the path of a run takes the run."""
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def settings(self) -> RunConfig:
        """All settings, such as `run.settings.train.lr`."""
        return self._directory.config

    @property
    def result(self) -> dict[str, Any] | None:
        """The summary that `augenmerk train --json` prints; None while the run is not finished."""
        return self._directory.result if self._result is None else dict(self._result)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The losses and scores of each epoch so far."""
        return self._directory.read_metrics()

    @property
    def scores(self) -> Scores:
        """What `evaluate` has measured of this run alone so far."""
        return Scores(self._directory, self._directory.read_scores())

    @cached_property
    def translator(self) -> Translator:
        """The trained model, loaded when it is first needed."""
        return load(self.path)

    @overload
    def translate(self, text: str, **options: Any) -> Translation: ...
    @overload
    def translate(self, text: list[str] | tuple[str, ...], **options: Any) -> list[Translation]: ...
    def translate(self, text: Any, **options: Any) -> Any:
        """Translates a text, or a list of texts; see `Translator.translate`."""
        return self.translator.translate(text, **options)

    def translate_file(self, source: str | Path, output: str | Path, **options: Any) -> Path:
        """Translates a file, line by line, into another; see `Translator.translate_file`."""
        return self.translator.translate_file(source, output, **options)

    def score(self, source: str, target: str, *, heads: bool = False) -> Translation:
        """Scores a given translation; see `Translator.score`."""
        return self.translator.score(source, target, heads=heads)

    def evaluate(self, split: str | Sequence[str] = (), **options: Any) -> Scores:
        """Measures the run on splits of its data, or on other data; see `augenmerk.evaluate`."""
        return evaluate(self.path, split, **options)

    def curves(self, curve: str | Sequence[str] = (), *, by: str = "epoch") -> Curves:
        """Returns the curves of training, as far as it has come; see `augenmerk.curves`."""
        return curves(self, curve=curve, by=by)

    def resume(self, epochs: int | None = None, **options: Any) -> "Run":
        """Continues training, with more `epochs` in all if they are given; see `augenmerk.train`."""
        from augenmerk.api.train import train

        return train(out=self.path, resume=True, epochs=epochs, **options)

    def export(self, out: str | Path, **options: Any) -> Outcome:
        """Writes the run as a page that needs no server; see `augenmerk.export`."""
        from augenmerk.web.export import export

        return export(out, self, **options)

    def to_pandas(self) -> Any:
        """Returns the metrics of each epoch as a data frame."""
        return make_frame(self.metrics)

    def show(self) -> Iterator[RenderableType]:
        from augenmerk.training.display import describe_result

        model, data = self.settings.model, self.settings.data
        if (result := self.result) is not None:
            yield describe_result({**result, "run": str(self.path)})
        else:
            done = f"{len(self.metrics)} of {self.settings.train.epochs} epochs"
            yield f"[bold]{escape(str(self.path))}[/]: not finished, {done}"
        yield escape(f"{model.entry.title}, attention {model.attention}, trained on {data.bitext}")


def open_run(run: str | PathLike[str]) -> Run:
    """Opens a run, also while it is being trained."""
    return Run(RunDirectory.open(Path(run)))


def curves(*runs: str | PathLike[str], curve: str | Sequence[str] = (), by: str = "epoch") -> Curves:
    """Returns the curves of runs, finished or still being trained: loss, bleu, perplexity, ...

    `by` is what to draw them against: epoch, step or seconds.
    """
    opened = [run if isinstance(run, Run) else open_run(run) for run in runs]
    paths = [run.path.resolve() for run in opened]
    names = [path.name for path in paths]
    if len(set(names)) < len(names):  # as in a study: mean/seed-1, scaled-dot/seed-1
        common = os.path.commonpath([path.parent for path in paths])
        names = [str(path.relative_to(common)) for path in paths]
    drawn = [RunCurves(name, run.metrics) for name, run in zip(names, opened, strict=True)]
    about = [{"run": str(run.path), "finished": run.result is not None} for run in opened]
    return Curves(drawn, as_list(curve, str), by, about)
