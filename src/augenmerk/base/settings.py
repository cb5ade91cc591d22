"""Describes every setting of a run, from the fields in `config`: name, type, default, meaning, choices."""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import annotated_types
import tomli_w
from pydantic.fields import FieldInfo

from augenmerk.base.config import RunConfig, Settings

WORDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}
MAX_SHOWN = 1_000_000_000
"""Larger limits are not named: they only keep numbers within what a computer counts with."""


@dataclass(frozen=True)
class Setting:
    """One setting of a run."""

    name: str
    """Its whole key, such as train.lr."""
    type: str
    """What may be written, in words."""
    choices: tuple[str, ...]
    """The values to choose from, if there are only some."""
    default: Any
    """None if it may be absent, and is unless it is given."""
    meaning: str

    @property
    def group(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def description(self) -> str:
        """Type, choices and default in a line."""
        choices = ", ".join(self.choices)
        kind = f"one of {choices}" if self.type == "choice" else self.type
        kind += f", such as {choices}" if choices and self.type != "choice" else ""
        return f"{kind}; default: {'absent' if self.default is None else format_value(self.default)}"


def list_settings(settings: Settings | None = None, group: str = "") -> list[Setting]:
    """Returns all settings, those of a group within a group after the group's own, as TOML has it."""
    found, within = [], []
    settings = settings or RunConfig()
    meanings = _read_meanings(type(settings))
    for key, field in type(settings).model_fields.items():
        name = f"{group}.{key}" if group else key
        value = getattr(settings, key)
        if isinstance(value, Settings):
            within += list_settings(value, name)
        else:
            kind, choices = _describe_type(field)
            found.append(Setting(name, kind, choices, field.default, meanings[key]))
    return found + within


def _read_meanings(group: type[Settings]) -> dict[str, str]:
    """Returns the text under each field of a class.

    pydantic could read it too, but would do so whenever the class is imported, which takes a while.
    """
    [definition] = ast.parse(inspect.getsource(group)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for field, text in pairwise(definition.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                meanings[name] = " ".join(meaning.split())
    return meanings


def get_value(config: RunConfig, name: str) -> Any:
    """Returns the value of the setting with this name."""
    value: Any = config
    for key in name.split("."):
        value = getattr(value, key)
    return value


def format_value(value: Any) -> str:
    """Returns a value as TOML writes it."""
    return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()


def describe_as_toml(config: RunConfig, width: int = 100) -> Iterator[str]:
    """Yields the lines of a TOML file with all settings of a run, explained in comments.

    It can be read again: it is the same run. A setting that is absent stands in a comment.
    """
    group = None
    for setting in list_settings():
        if setting.group != group:
            group = setting.group
            yield from ("", f"[{group}]")
        yield ""
        comment = f"{setting.meaning} [{setting.description}]"
        yield from (f"# {line}" for line in textwrap.wrap(comment, width - 2))
        value, key = get_value(config, setting.name), setting.name.rpartition(".")[2]
        yield f"# {key} is absent" if value is None else f"{key} = {format_value(value)}"


def _describe_type(field: FieldInfo) -> tuple[str, tuple[str, ...]]:
    """Returns the type of a field in words, and the values to choose from."""
    kind: Any = field.annotation
    if isinstance(kind, types.UnionType):
        [kind] = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) is Literal:
        return "choice", get_args(kind)
    limits = []
    for limit in field.metadata:
        match limit:
            case annotated_types.Ge(ge=int() | float() as least):
                limits.append(f"at least {least:,g}")
            case annotated_types.Gt(gt=int() | float() as least):
                limits.append(f"above {least:,g}")
            case annotated_types.Le(le=int() | float() as most) if most <= MAX_SHOWN:
                limits.append(f"at most {most:,.0f}")
            case annotated_types.Lt(lt=int() | float() as most) if most <= MAX_SHOWN:
                limits.append(f"below {most:,.0f}")
    return ", ".join([WORDS[kind], *limits]), tuple(field.examples or ())
