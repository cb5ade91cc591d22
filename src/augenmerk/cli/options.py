"""Options that several commands share, alone and in groups.

A command takes a group, such as all search settings, as one parameter; `grouped` replaces it by its options:

    @app.command()
    @grouped
    def draw(text: str, pictures: Pictures = GROUP) -> None: ...

The options of a search are the fields of `augenmerk.base.config.SearchConfig`: a setting that is added there
becomes an option.
"""

import ast
import inspect
import os
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from typer import Argument, Option

from augenmerk.base.entries import DATASETS
from augenmerk.base.errors import AugenmerkError

if TYPE_CHECKING:
    from augenmerk.drawing.figures import Style

MAX_SEED = 2**63 - 1
MAX_THREADS = 1024
MAX_INDEX = 2**31 - 1
MIN_FONT_SIZE, MAX_FONT_SIZE = 4.0, 72.0


# Single options


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
    Option(help=f"{', '.join(DATASETS)}, or a folder or file of your own pairs. Default: the preset's data."),
]
SourceLanguage = Annotated[str | None, Option(help="Language to translate from, e.g. de.")]
TargetLanguage = Annotated[str | None, Option(help="Language to translate into, e.g. en.")]
SkipBad = Annotated[
    bool, Option("--skip-bad", help="Leave out bad lines of your own files (empty, not UTF-8, ...).")
]
RunAndSentences = Annotated[
    list[str] | None,
    Argument(
        metavar="[RUN] SENTENCE",
        help="Run directory, by default the bundled model; and your own sentences, in quotation marks, "
        "instead of a split.",
        show_default=False,
    ),
]
Models = Annotated[list[Path] | None, Option(help="Run directory; repeatable. Default: the bundled model.")]
Split = Annotated[str | None, Option(help="Split of the run's data. Default: the validation split.")]
Reference = Annotated[
    bool, Option("--reference", help="Feed the reference translations to the model instead of translating.")
]
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
Place = Literal["local", "ray"]
On = Annotated[Place, Option(help="Compute on this machine (local), or over a Ray cluster (ray).")]
RayAddress = Annotated[
    str | None,
    Option(
        metavar="HOST:PORT",
        help="The Ray cluster; auto is that of this machine. Default: $RAY_ADDRESS, or one is started here.",
    ),
]
RESUMABLE = "What is finished is kept: run the same command again to resume."
"""What a command that computes in blocks prints when it is interrupted."""


def load_mechanisms(named: list[str] | None) -> None:
    """Loads attention mechanisms from files that the user named."""
    if named:
        from augenmerk.model.custom import load_mechanisms as load

        load(named)


@contextmanager
def connect_if_asked(on: Place, ray_address: str | None) -> Iterator[None]:
    """Connects the Ray cluster, if one was asked for; says how to resume if the command is interrupted."""
    if on == "local":
        if ray_address is not None:
            raise AugenmerkError("--ray-address is for a Ray cluster: add --on ray.")
        yield
        return
    from augenmerk.cluster.ray import connect

    try:
        with connect(ray_address):
            yield
    except KeyboardInterrupt as interrupt:
        interrupt.args = (RESUMABLE,)
        raise


# Groups


class Group:
    """The values of a group of options. Its fields are annotated as parameters of a command are."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def list_options(cls) -> dict[str, tuple[Any, Any]]:
        """Returns the annotation and the default of each option."""
        hints = typing.get_type_hints(cls, include_extras=True)
        return {name: (hint, getattr(cls, name)) for name, hint in hints.items()}


GROUP: Any = None
"""The default of a parameter that is a group: the options of the group have defaults instead."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces each parameter of a command that is a `Group` by the options of that group."""
    hints = typing.get_type_hints(command, include_extras=True)
    kinds = {name: kind for name, kind in hints.items() if isinstance(kind, type)}
    groups = {name: kind for name, kind in kinds.items() if issubclass(kind, Group)}
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


# Search settings


class SearchField(NamedTuple):
    """A field of `SearchConfig`."""

    type: Any
    keywords: dict[str, Any]
    """Those of its `Field`: its default and limits."""
    meaning: str


def _read_search_fields() -> Iterator[tuple[str, SearchField]]:
    """Reads the fields of `SearchConfig` from its source: importing pydantic would slow down `--help`."""
    source = files("augenmerk.base").joinpath("config.py").read_text(encoding="utf-8")
    classes = [part for part in ast.parse(source).body if isinstance(part, ast.ClassDef)]
    [definition] = [each for each in classes if each.name == "SearchConfig"]
    names = {"Literal": Literal, "Field": dict}  # what annotations and values are made of
    for field, text in pairwise(definition.body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(name), annotation=kind, value=ast.expr() as value),
                ast.Expr(ast.Constant(str(meaning))),
            ):
                found = eval(ast.unparse(value), names)
                keywords = found if isinstance(found, dict) else {"default": found}
                yield name, SearchField(eval(ast.unparse(kind), names), keywords, " ".join(meaning.split()))


SEARCH_FIELDS = dict(_read_search_fields())


def make_search_option(name: str) -> Any:
    """Returns the annotation of an option for a search setting; None leaves the setting as it is."""
    field, flag = SEARCH_FIELDS[name], f"--{name.replace('_', '-')}"
    if field.type is bool:
        if field.keywords["default"]:
            flag = f"{flag}/--no-{flag[2:]}"
        return Annotated[bool | None, Option(flag, help=field.meaning, show_default=False)]
    limits = {}
    if int in (field.type, *typing.get_args(field.type)):  # other limits are checked with the settings
        most = field.keywords["le"] if "le" in field.keywords else field.keywords["lt"] - 1
        limits = {"min": field.keywords["ge"], "max": most}
    return Annotated[field.type | None, Option(flag, help=field.meaning, **limits)]


class Search(Group):
    """Changes of a run's search settings: all options of `SEARCH_FIELDS`."""

    @classmethod
    def list_options(cls) -> dict[str, tuple[Any, Any]]:
        return {name: (make_search_option(name), None) for name in SEARCH_FIELDS}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


MAX_BEAM = SEARCH_FIELDS["beam"].keywords["le"]
if TYPE_CHECKING:
    Beam = int | None
    Mbr = bool | None
    Precision = Literal["fp32", "int8"] | None
else:
    Beam, Mbr, Precision = map(make_search_option, ("beam", "mbr", "precision"))


# Pictures

ThemeName = Annotated[str, Option("--theme", help="Colours of pictures: light, or dark.")]
Title = Annotated[str | None, Option(help="Title above the picture, or of the page.")]
Size = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Size of pictures: a shape such as 16:9, inches such as 8x4.5, or 20x10cm. Default: as needed.",
    ),
]
FontSize = Annotated[
    float | None, Option(help="Size of ordinary text in points, e.g. 14 for slides. Default: 10.")
]
Outline = Annotated[
    bool,
    Option("--outline", help="Draw letters in SVG files as paths, which look the same without the font."),
]


class Pictures(Group):
    """How pictures are to look."""

    theme: Annotated[
        str | None,
        Option(help="Colours: light or dark. Default: light; for drawings in the terminal, dark."),
    ] = None
    title: Title = None
    size: Size = None
    font_size: FontSize = None
    outline: Outline = False

    def make_style(self, theme: str = "light", title: str | None = None) -> "Style":
        """Returns the style, with this theme and title unless others were given."""
        return make_style(self.theme or theme, self.title or title, self.size, self.font_size, self.outline)


def make_style(
    theme: str, title: str | None, size: str | None, font_size: float | None, outline: bool
) -> "Style":
    """Returns how pictures are to look; raises AugenmerkError for what cannot be drawn."""
    from augenmerk.drawing.figures import PictureSize, Style, get_theme

    if font_size is not None and not MIN_FONT_SIZE <= font_size <= MAX_FONT_SIZE:
        raise AugenmerkError(
            f"--font-size {font_size:g} is impossible: it is {MIN_FONT_SIZE:g} to {MAX_FONT_SIZE:g} points."
        )
    sides = None if size is None else PictureSize.parse(size)
    return Style(get_theme(theme), title, sides, font_size, outline)
