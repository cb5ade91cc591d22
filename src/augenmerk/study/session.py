"""A whole study as people ask for it: `augenmerk study` and `augenmerk report` in functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from rich.console import RenderableType
from rich.markup import escape

from augenmerk.base.console import Shown, err, make_table
from augenmerk.base.device import choose_device
from augenmerk.base.errors import AugenmerkError, check_choice, check_least
from augenmerk.base.files import atomic_write, make_folder
from augenmerk.base.frames import Rows, as_list, make_frame
from augenmerk.base.process import explain_interrupt
from augenmerk.drawing.figures import Picture, make_style
from augenmerk.mechanisms import Mechanism
from augenmerk.mechanisms.custom import find_name, load_mechanisms
from augenmerk.study.charts import list_charts
from augenmerk.study.clusters import choose_cluster
from augenmerk.study.collect import compare_pair
from augenmerk.study.display import StudyDisplay
from augenmerk.study.plan import BUNDLED_STUDIES, Study, find_study, plan_study, read_study
from augenmerk.study.report import COLUMNS, FORMATS, TableStyle, build_columns, render_report
from augenmerk.study.result import MEASURES, ComparisonResult, StudyResult
from augenmerk.study.runner import default_jobs, run_study, threads_each
from augenmerk.training.loggers import load_logger

CLUSTER_JOBS = 100
"""The default of `jobs` on a cluster."""
LEFT_OUT = ("word_loss", "word_perplexity")
"""Columns of the report that are not shown, so that the others fit into 80 columns."""


def study(
    file: str | Path | None = None,
    *,
    jobs: int | None = None,
    out: str | Path | None = None,
    attention: str | type[Mechanism] | Sequence[str | type[Mechanism]] = (),
    loggers: str | Sequence[str] = (),
    device: str = "auto",
    threads: int | None = None,
    on: str = "local",
    cpus_per_job: int | None = None,
    gpus_per_job: float | None = None,
    ray_address: str | None = None,
    slurm: Sequence[str] = (),
    factors: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] | None = None,
    data: str | Path | None = None,
    name: str | None = None,
    continue_with: str = "the same call of augenmerk.study",
    **declared: Any,
) -> "StudyResults":
    """Trains variants over several seeds and compares them; finished runs are not trained again.

    A study is a file, or the name of a bundled one, as `augenmerk study` takes them. Or it is declared here:
    `factors` are settings with the values that are combined, such as {"model.attention": ["none", "mean"]};
    a value may be a class that derives from `augenmerk.Mechanism`. `seeds` are how many (default: 3), or
    which, and `data` is what all runs learn from. Further keywords are the keys of a study file: base,
    settings, settings_for, question, splits, beams, baseline, contrasts, sentences.
    Ctrl-C raises StudyInterrupted, a KeyboardInterrupt, when all runs are saved; `continue_with` is the
    command in its text.
    """
    cluster = _choose_cluster(on, device, threads, cpus_per_job, gpus_per_job, ray_address, slurm)
    check_least(1, jobs=jobs, threads=threads)
    load_mechanisms([attention] if isinstance(attention, str | type) else attention)
    named = as_list(loggers, str)
    for each in named:
        if not isinstance(each, str):
            raise AugenmerkError(
                "The runs of a study are trained by other processes: name its loggers, FILE.py:Class."
            )
        load_logger(each)  # a mistake is found before anything is trained
    if file is not None:
        if declared or any(each is not None for each in (factors, seeds, data, name)):
            raise AugenmerkError("A study is declared either in a file or by keywords; give one of them.")
        plan = read_study(find_study(str(file)))
    else:
        if data is not None:
            declared["settings"] = {**declared.get("settings", {}), "data.bitext": str(data)}
        plan = _declare(name, factors, 3 if seeds is None else seeds, declared)
    folder = Path("runs") / f"study-{plan.name}" if out is None else Path(out)
    variants = (
        f"{escape(str(folder))}: {_count(len(plan.variants), 'variant')} x {_count(len(plan.seeds), 'seed')}"
    )
    if cluster is not None:
        gpus = f" and {cluster.gpus:g} GPU" if cluster.gpus else ""
        err().print(f"{variants} on {cluster.name}, each run on {_count(cluster.cpus, 'core')}{gpus}")
        where, most = "cuda" if cluster.gpus else "cpu", jobs or CLUSTER_JOBS
    else:
        where = str(choose_device(device))
        most = jobs or default_jobs(where, torch.cuda.device_count())
        each_has = _count(threads or threads_each(min(most, len(plan.runs))), "CPU thread")
        err().print(f"{variants} on {where}, {most} at a time with {each_has} each")
    saved = "Saved: finished runs are kept, and the others resume where they are."
    with (
        explain_interrupt(continue_with, "Finished runs are kept.", saved),
        StudyDisplay(show_hosts=cluster is not None) as display,
    ):
        result = run_study(
            plan,
            folder,
            jobs=most,
            device=where,
            on_progress=display.show,
            cluster=cluster,
            threads=threads,
            loggers=[_make_absolute(each) for each in named],
        )
    return StudyResults(folder, result)


def _declare(
    name: str | None,
    factors: Mapping[str, Sequence[Any]] | None,
    seeds: int | Sequence[int],
    declared: Mapping[str, Any],
) -> Study:
    """Plans a study that was declared by keywords."""
    if factors is None:
        raise AugenmerkError("Name a study: one that `augenmerk study --list` shows, or a TOML file.")
    varied = {
        key: values if isinstance(values, str) else [_name_value(each) for each in values]
        for key, values in factors.items()
    }
    names = " and ".join(key.rpartition(".")[2] for key in varied)
    tree = {
        "question": f"What difference does {names} make?",
        "factors": varied,
        "seeds": [*range(1, seeds + 1)] if isinstance(seeds, int) else list(seeds),
        **declared,
    }
    return plan_study(tree, Path("study"), name or names.replace(" ", "-"))


def _name_value(value: Any) -> Any:
    """Returns the value of a factor as settings have it; a class is a mechanism."""
    return find_name(value) if isinstance(value, type) else value.item() if hasattr(value, "item") else value


def _make_absolute(logger: str) -> str:
    """Returns the name of a logger for a process in any folder."""
    source, _, name = logger.rpartition(":")
    return f"{Path(source).absolute()}:{name}" if source.endswith(".py") else logger


def _choose_cluster(
    on: str,
    device: str,
    threads: int | None,
    cpus: int | None,
    gpus: float | None,
    address: str | None,
    options: Sequence[str],
) -> Any:
    """Returns the cluster, None for this machine; raises AugenmerkError for contradictions."""
    for option, given, backends in (
        ("--threads", threads is not None, ("local",)),
        ("--ray-address", address is not None, ("ray",)),
        ("--slurm", bool(options), ("slurm",)),
        ("--cpus-per-job and --gpus-per-job", cpus is not None or gpus is not None, ("ray", "slurm")),
    ):
        if given and on not in backends:
            raise AugenmerkError(f"{option} cannot be used with --on {on}; use --on {' or '.join(backends)}.")
    check_choice("on", on, ("local", "ray", "slurm"))
    if on == "local":
        return None
    return choose_cluster(on, device, cpus=cpus or 1, gpus=gpus, address=address, options=options)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class StudyList(Rows):
    """What the bundled studies ask, and how large they are."""

    def show(self) -> Iterator[RenderableType]:
        for row in self:
            yield f"[bold]{row['name']}[/]  {escape(row['question'])}"
            beams = ", ".join(map(str, row["beams"]))
            size = f"{row['variants']} x {row['seeds']} runs on {row['data']}, beam {beams}"
            yield f"[dim]    {size}; {escape(row['file'])}[/]"


def list_studies() -> StudyList:
    """Returns what the bundled studies ask, and how large they are."""
    rows = StudyList()
    for name, path in BUNDLED_STUDIES.items():
        plan = read_study(path)
        numbers = {"variants": len(plan.variants), "seeds": len(plan.seeds), "beams": list(plan.beams)}
        data = {"data": plan.runs[0].config.data.bitext, "splits": list(plan.splits)}
        rows.append({"name": name, "question": plan.question, **numbers, **data, "file": str(path)})
    return rows


class StudyResults(Shown):
    """What a study has found, complete or not; its JSON is `to_dict()`."""

    def __init__(self, path: str | Path, result: StudyResult | None = None) -> None:
        """`path` is the folder of the study, or its study.json."""
        self.path = Path(path)
        self.result = StudyResult.load(self.path) if result is None else result

    @property
    def runs(self) -> dict[tuple[str, int], Path]:
        """The directory of each run by its variant and seed."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return {(each.name, run.seed): folder / run.run for each in self.result.variants for run in each.runs}

    def to_dict(self) -> dict[str, Any]:
        return self.result.to_dict()

    def to_pandas(self) -> Any:
        """Returns a data frame: a row for each finished run, split and beam, a column for each measure."""
        result, rows = self.result, []
        for variant, seed, split, beam in product(result.variants, result.seeds, result.splits, result.beams):
            measured = {
                each.measure: each.values[seed]
                for each in variant.summaries
                if each.split in (None, split) and each.beam in (None, beam) and seed in each.values
            }
            about = {"variant": variant.name, **variant.settings, "seed": seed, "split": split, "beam": beam}
            rows += [about | measured] if measured else []
        return make_frame(rows)

    def compare(
        self, variant: str, against: str, measure: str = "bleu", split: str | None = None
    ) -> ComparisonResult:
        """Compares two variants by BLEU, or by "word_loss", on a split; by default on the first.

        A comparison that the study has not declared is computed now, and its p is not corrected for others.
        """
        where = split or self.result.splits[0]
        for found in self.result.comparisons:
            if (found.variant, found.against, found.measure, found.split) == (
                variant,
                against,
                measure,
                where,
            ):
                return found
        return compare_pair(self.path, variant, against, measure, where)

    def plot(self, chart: str | None = None) -> Picture:
        """Returns a chart of the report, by default the first; `charts` are their names."""
        charts = list_charts(self.result)
        if chart is not None and chart not in charts:
            raise AugenmerkError(f"There is no chart '{chart}'; the charts are {', '.join(charts)}.")
        chosen = charts[chart or next(iter(charts))]
        return Picture(chosen.draw, chosen.heading)

    @property
    def charts(self) -> list[str]:
        """The names of the charts."""
        return list(list_charts(self.result))

    def report(
        self,
        out: str | Path | None = None,
        format: str = "html",  # noqa: A002
        *,
        columns: str | Sequence[str] | None = None,
        spread: str = "deviation",
        published: bool = True,
        bold: bool = True,
        figures: str | Path | None = None,
        figure_format: str = "pdf",
        **style: Any,
    ) -> dict[str, Any]:
        """Writes the study as a page (html), or its table (markdown, latex, csv); see `augenmerk report`.

        Returns what `augenmerk report --json` prints: a table is in "text" if no file is named.
        """
        if format not in ("html", *FORMATS):
            raise AugenmerkError(
                f"There is no format '{format}'; the formats are html, {', '.join(FORMATS)}."
            )
        if format == "csv" and columns is not None:
            raise AugenmerkError("CSV has every number; leave out --columns, or choose another --format.")
        pictures, shown = (
            make_style(**style),
            TableStyle(spread=spread, published=published, bold=bold),
        )
        if columns is not None:
            names = columns.split(",") if isinstance(columns, str) else columns
            shown = replace(shown, columns=tuple(name.strip() for name in names))
        text = (
            render_report(self.result, shown, pictures)
            if format == "html"
            else FORMATS[format](self.result, shown)
        )
        document: dict[str, Any] = {
            "study": self.result.name,
            "format": format,
            "complete": self.result.complete,
        }
        drawn = []
        if figures is not None:
            make_folder(Path(figures))
            for name, chart in list_charts(self.result).items():
                drawn.append(str(Path(figures) / f"{name}.{figure_format}"))
                Picture(chart.draw).save(drawn[-1], **style)
        file = None if out is None else Path(out)
        if format == "html" and file is None:
            file = (self.path if self.path.is_dir() else self.path.parent) / "report.html"
        if file is not None:
            atomic_write(file, [text.encode("utf-8", "backslashreplace")])
        document |= {"file": str(file)} if file is not None else {"text": text}
        return document if figures is None else {**document, "figures": drawn}

    def show(self) -> Iterator[RenderableType]:
        result = self.result
        shown = (name for name in COLUMNS if name not in LEFT_OUT)
        columns = build_columns(result, TableStyle(("runs", *shown), published=False))
        rows = [
            [escape(variant.name), *(f"{cell.mean} {cell.spread}".strip() for cell in cells)]
            for variant, *cells in zip(result.variants, *(column.cells for column in columns), strict=True)
        ]
        names = (MEASURES[each.measure].heading if each.measure in MEASURES else "runs" for each in columns)
        headings = (name.replace(" ", "\n") for name in ("variant", *names))
        yield make_table(headings, rows, gap=1)
        yield "[dim]mean ± standard deviation over the runs[/]"
        for verdict in result.verdicts:
            yield f"\n{escape(verdict.question)}"
            if verdict.answer:
                yield f"[bold]{escape(verdict.answer)}[/]"
            for detail in verdict.details:
                yield f"- {escape(detail)}"
        further = len(result.comparisons) + len(result.beam_repairs)
        further -= sum(len(verdict.details) for verdict in result.verdicts)
        if further:
            yield f"[dim]{_count(further, 'further comparison')}: see the report.[/]"
        for remark in result.remarks:
            yield f"[dim]{escape(remark)}[/]"
