"""A group of settings: immutable, checked, and described field by field from its own source.

`augenmerk.base.config` has the groups of a run.
"""

import ast
import html
import inspect
import re
import sys
import textwrap
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from pathlib import PurePath
from typing import Any, Literal, Self, get_args, get_origin

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from augenmerk.base.errors import AugenmerkError, shorten

WORDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}
LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
MAX_SETTINGS_BYTES = 1_000_000
"""The size of the largest file of settings, or of a study, that is read."""
MAX_SHOWN = 1_000_000_000
"""Larger limits are not named: they only keep numbers within what a computer counts with."""


Overrides = Mapping[str, Any] | Iterable[str] | None
"""Single settings: {"train.lr": 0.002}, also in nested groups; or ["train.lr=0.002"]."""


class Settings(BaseModel):
    """A group of settings, which is immutable and refuses unknown keys.

    Types are strict: TOML distinguishes numbers from texts, so true is not 1 and "10" is not 10.
    The text under a field says what it means: `list_settings` reads it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    @classmethod
    def checked(cls, tree: dict[str, Any], source: str) -> Self:
        """Validates settings; raises AugenmerkError, which names `source`, if something is wrong."""
        for text in _texts(tree):
            if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
                raise AugenmerkError(
                    f"{source}: {shorten(ascii(text))} is not text: it must be UTF-8 without NUL."
                )
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            raise AugenmerkError(f"{source}: {_complaint(cls, error)}.") from None


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


def list_settings(settings: Settings, group: str = "") -> list[Setting]:
    """Returns all settings, those of a group within a group after the group's own, as TOML has it."""
    found, within = [], []
    meanings = read_meanings(type(settings))
    for key, field in type(settings).model_fields.items():
        name = f"{group}.{key}" if group else key
        value = getattr(settings, key)
        if isinstance(value, Settings):
            within += list_settings(value, name)
        else:
            kind, choices = _describe_type(field)
            found.append(Setting(name, kind, choices, field.default, meanings[key]))
    return found + within


def read_meanings(group: type[Any]) -> dict[str, str]:
    """Returns the text under each field of a class.

    pydantic could read it too, but would do so whenever the class is imported, which takes a while.
    """
    # Parsing a class takes a fraction of the time that its module would, and every command waits for it.
    source = inspect.getsource(sys.modules[group.__module__])
    definition = re.search(rf"^class {group.__name__}\b.*\n(?:[ \t].*\n|\n)*", source, re.MULTILINE)
    assert definition
    [parsed] = ast.parse(definition[0]).body
    assert isinstance(parsed, ast.ClassDef)
    meanings = {}
    for field, text in pairwise(parsed.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                meanings[name] = " ".join(meaning.split())
    return meanings


def format_value(value: Any) -> str:
    """Returns a value as TOML writes it."""
    return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()


def describe_as_toml(config: Settings, width: int = 100) -> Iterator[str]:
    """Yields the lines of a TOML file with all settings of a run, explained in comments.

    It can be read again: it is the same run. An absent setting is a comment.
    """
    group = None
    for setting in list_settings(config):
        if setting.group != group:
            group = setting.group
            yield from ("", f"[{group}]")
        yield ""
        comment = f"{setting.meaning} [{setting.description}]"
        yield from (f"# {line}" for line in textwrap.wrap(comment, width - 2))
        value, key = attrgetter(setting.name)(config), setting.name.rpartition(".")[2]
        yield f"# {key} is absent" if value is None else f"{key} = {format_value(value)}"


def _describe_type(field: FieldInfo) -> tuple[str, tuple[str, ...]]:
    """Returns the type of a field in words, and the values to choose from."""
    kind: Any = field.annotation
    if isinstance(kind, types.UnionType):
        [kind] = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) is Literal:
        return "choice", get_args(kind)
    limits = [
        f"{words} {bound:,.10g}"
        for limit in field.metadata
        for name, words in LIMITS.items()
        if (bound := getattr(limit, name, None)) is not None and bound <= MAX_SHOWN
    ]
    return ", ".join([WORDS[kind], *limits]), tuple(field.examples or ())


def _texts(tree: Any) -> list[str]:
    """Returns every text in nested tables and lists, the keys of tables included."""
    parts = [*tree, *tree.values()] if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [tree] if isinstance(tree, str) else [text for part in parts for text in _texts(part)]


def _complaint(model: type[BaseModel], error: ValidationError) -> str:
    """Returns a sentence about the first error that names the key and says what would be right."""
    first = error.errors(include_url=False)[0]
    key = shorten(".".join(str(part) for part in first["loc"]))
    if first["type"] == "extra_forbidden":
        group = model
        for part in first["loc"][:-1]:
            if isinstance(part, str):  # and not the number of an entry in a list
                group = _group_in(group.model_fields[part].annotation)
        return f"unknown key '{key}'; known here are {', '.join(sorted(group.model_fields))}"
    if first["type"] == "model_type":
        return f"'{key}' is a group of settings; write [{key}] and its settings below"
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:] if not first["type"].startswith("value_error") else message
    given = "" if isinstance(first["input"], dict) else f" (it is {shorten(repr(first['input']))})"
    return f"'{key}': {message}{given}" if key else message


def _group_in(annotation: Any) -> type[BaseModel]:
    """Returns the group of settings in an annotation such as Group, Group | None or list[Group]."""
    kinds = (annotation, *get_args(annotation))
    return next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))


def list_keys(settings: Iterable[str]) -> set[str]:
    """Returns the names of settings such as "train.lr=0.002"."""
    keys = (setting.partition("=")[0].split(".") for setting in settings)
    return {".".join(part.strip() for part in parts) for parts in keys}


def list_overrides(settings: Overrides) -> list[str]:
    """Returns single settings as KEY=VALUE, where a mapping may have them in nested groups."""
    if not isinstance(settings, Mapping):
        return [settings] if isinstance(settings, str) else list(settings or ())
    given = []
    for key, value in (pair for group, each in settings.items() for pair in flatten_settings(group, each)):
        plain = (
            value.item() if hasattr(value, "item") else str(value) if isinstance(value, PurePath) else value
        )
        try:
            given.append(f"{key}={format_value(plain)}")
        except TypeError:
            raise AugenmerkError(f"'{key}' cannot be {shorten(repr(value))}.") from None
    return given


def parse_toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))  # as some editors begin their files
    except (ValueError, RecursionError) as error:  # a number of over 4,300 digits is a ValueError
        raise AugenmerkError(f"{source}: not valid TOML ({error}).") from None


def set_key(tree: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key, such as data.bilderbuch.seed, in nested tables.

    Raises ValueError if the key names no group, or one that is there already and is not a table.
    """
    *groups, name = key.split(".")
    if not groups:
        raise ValueError(f"'{key}' is not in a group of settings")
    for group in groups:
        tree = tree.setdefault(group, {})
        if not isinstance(tree, dict):
            raise ValueError(f"'{group}' is not a group of settings")
    tree[name] = value


def override(tree: dict[str, Any], setting: str) -> None:
    """Sets a setting such as "train.lr=0.002" in nested tables; raises AugenmerkError if it is none."""
    key, equals, value = setting.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not (equals and len(parts) > 1 and all(parts)):
        raise AugenmerkError(
            f"'{shorten(setting)}' is not a setting: expected something like train.lr=0.002."
        )
    try:
        parsed = tomllib.loads(f"value = {value.strip()}")
    except (ValueError, RecursionError):
        parsed = {}
    try:
        # What is not one TOML value is a bare word, such as model.attention=mean.
        set_key(tree, ".".join(parts), parsed["value"] if parsed.keys() == {"value"} else value.strip())
    except ValueError as error:
        raise AugenmerkError(f"'{shorten(setting)}': {error}.") from None


def flatten_settings(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the settings in nested tables, each with its full name, such as data.bilderbuch.seed."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten_settings(f"{name}.{key}", inner)
    else:
        yield name, value


def format_setting(value: object) -> str:
    """Returns a value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
