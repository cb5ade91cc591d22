"""Options that several commands share, alone and in groups.

A command takes a group, such as all search settings, as one parameter; `grouped` replaces it by its options:

    @app.command()
    @grouped
    def draw(text: str, pictures: Pictures = GROUP) -> None: ...

The options of a search are the fields of `augenmerk.base.config.SearchConfig`: a setting that is added there
becomes an option.
"""

import inspect
import os
import typing
from collections.abc import Callable
from copy import copy
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from augenmerk.base.config import SearchConfig
from augenmerk.base.device import Place
from augenmerk.base.entries import DATASETS
from augenmerk.base.settings import read_meanings

if TYPE_CHECKING:
    from augenmerk.drawing.figures import Style

MAX_SEED = 2**63 - 1
MAX_THREADS = 1024
MAX_INDEX = 2**31 - 1


def _use_threads(number: int | None) -> int | None:
    """Sets the number of threads, before the libraries that read it from the environment are imported."""
    if number is not None:
        os.environ.update(OMP_NUM_THREADS=str(number), MKL_NUM_THREADS=str(number))
    return number


Json = Annotated[bool, Option("--json", help="Print the result as one JSON document.")]
Device = Annotated[str, Option(help="Device to compute on: auto, cpu or cuda.")]
Threads = Annotated[
    int | None,
    Option(
        help="CPU threads to compute with. Default: $OMP_NUM_THREADS, or one for each core that this process "
        "may use.",
        min=1,
        max=MAX_THREADS,
        callback=_use_threads,
    ),
]
Data = Annotated[
    str | None,
    Option(help=f"{', '.join(DATASETS)}, or your own folder or file of pairs. Default: the preset's data."),
]
SourceLanguage = Annotated[str | None, Option(help="Language to translate from, e.g. de.")]
TargetLanguage = Annotated[str | None, Option(help="Language to translate into, e.g. en.")]
SkipBad = Annotated[
    bool, Option("--skip-bad", help="Leave out bad lines of your files (empty, not UTF-8, ...).")
]
Models = Annotated[list[Path] | None, Option(help="Run directory; repeatable. Default: the bundled model.")]
Layer = Annotated[
    int | None,
    Option(help="In a Transformer: only this layer, counted from 1. Default: all.", min=1, max=8),
]
Mechanisms = Annotated[
    list[str] | None,
    Option(
        "--attention",
        metavar="FILE.py:CLASS",
        help="Your own attention mechanism in a file, which a run was trained with; repeatable. The file is "
        "code, so it is executed only if you name it here.",
    ),
]
On = Annotated[Place, Option(help="Compute on this machine (local), or over a Ray cluster (ray).")]
RayAddress = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="The Ray cluster; auto is that of this machine. Default: $RAY_ADDRESS, or one is started here.",
    ),
]


def load_mechanisms(named: list[str] | None) -> None:
    """Loads attention mechanisms from files that the user named."""
    if named:
        from augenmerk.mechanisms.custom import load_mechanisms as load

        load(named)


class Group:
    """The values of a group of options.

    Its fields are annotated as parameters of a command are. The text below a field is the help of its option,
    unless the annotation has one.
    """

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def list_options(cls) -> dict[str, tuple[Any, Any]]:
        """Returns the annotation and the default of each option."""
        meanings = read_meanings(cls)
        options = {}
        for name, hint in typing.get_type_hints(cls, include_extras=True).items():
            kind, *given = typing.get_args(hint) if typing.get_origin(hint) is Annotated else (hint,)
            option, default = copy(given[0]) if given else Option(), getattr(cls, name, None)
            if kind is bool and default is False and option.default is ...:
                option.param_decls = (f"--{name.replace('_', '-')}",)
            option.help = option.help or meanings.get(name)
            options[name] = Annotated[kind, option], default
        return options


GROUP: Any = None
"""The default of a parameter that is a group: the options of the group have defaults instead."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces each parameter of a command that is a `Group` by the options of that group."""
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if inspect.isclass(kind) and issubclass(kind, Group)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        options = groups[name].list_options() if name in groups else {name: (hints[name], parameter.default)}
        parameters += [
            inspect.Parameter(option, parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, (annotation, default) in options.items()
        ]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{option: values.pop(option) for option in group.list_options()})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


_MEANINGS = read_meanings(SearchConfig)


def make_search_option(name: str) -> Any:
    """Returns the annotation of an option for a search setting; None leaves the setting as it is."""
    field, flag = SearchConfig.model_fields[name], f"--{name.replace('_', '-')}"
    kind: Any = field.annotation
    if kind is bool and field.default:
        flag = f"{flag}/--no-{flag[2:]}"
    limits = {}
    if int in (kind, *typing.get_args(kind)):  # other limits are checked with the settings
        given = {key: value for limit in field.metadata for key, value in asdict(limit).items()}
        limits = {"min": given["ge"], "max": given["le"] if "le" in given else given["lt"] - 1}
    return Annotated[kind | None, Option(flag, help=_MEANINGS[name], show_default=False, **limits)]


class Search(Group):
    """Changes of a run's search settings: an option for each field of `SearchConfig`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


Search.__annotations__ = {name: make_search_option(name) for name in SearchConfig.model_fields}
if TYPE_CHECKING:
    Beam = int | None
    Mbr = bool | None
    Precision = Literal["fp32", "int8"] | None
else:
    Beam, Mbr, Precision = (Search.__annotations__[name] for name in ("beam", "mbr", "precision"))


class Pictures(Group):
    """How pictures are to look."""

    theme: str | None = None
    """Colours: light or dark. Default: light; for drawings in the terminal, dark."""
    title: str | None = None
    """Title above the picture, or of the page."""
    size: Annotated[str | None, Option(metavar="SIZE")] = None
    """Size of pictures: a shape such as 16:9, inches such as 8x4.5, or 20x10cm. Default: as needed."""
    font_size: Annotated[float | None, Option(min=4.0, max=72.0)] = None
    """Size of ordinary text in points, e.g. 14 for slides. Default: 10."""
    outline: bool = False
    """Draw letters in SVG files as paths, which look the same without the font."""

    @property
    def chosen(self) -> dict[str, Any]:
        """What was given, as keywords of `augenmerk.drawing.figures.make_style`."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def make_style(self, theme: str = "light", title: str | None = None) -> "Style":
        """Returns the style, with this theme and title unless the options name others."""
        from augenmerk.drawing.figures import make_style

        return make_style(**{**vars(self), "theme": self.theme or theme, "title": self.title or title})
