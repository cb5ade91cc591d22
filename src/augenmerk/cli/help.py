"""What `--help` says of all commands: types in words, and each example on a line of its own."""

import re
import shutil
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from typer.core import TyperGroup

from augenmerk.base.errors import format_message

WIDTH = 78
"""The columns that a terminal of 80 has for examples."""

MIN_FRAMED = 70
"""The columns from which on help is printed in frames."""
MAX_SHOWN = 10_000
"""Help does not name larger limits: nobody meets them unless by mistake, and an error names them then."""

TYPES = {int: "a number", float: "a number", str: "text", Path: "a path"}
NAMES = (
    *("attention", "device", "format", "kind", "name", "source_language", "split", "tag"),
    *("target_language", "task", "theme", "view"),
)
"""Parameters whose text is a name out of several."""
TEXTS = {
    **dict.fromkeys(NAMES, "a name"),
    **dict.fromkeys(("data", "file", "preset"), "a name or path"),
    "settings": "KEY=VALUE",
}


class Commands(TyperGroup):
    """A group of commands whose help people can read, and whose errors of usage are safe to print."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        if (columns := shutil.get_terminal_size().columns) < MIN_FRAMED:
            options.setdefault("terminal_width", columns)
        return _with_readable_errors(super().make_context, *arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        return _with_readable_errors(super().invoke, ctx)

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for param in params:
            _say_type(param, "")  # a group has flags only
        if ctx.terminal_width is not None:
            _do_without_frames(self)
        return params

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None and not isinstance(command, Commands):
            annotations = typing.get_type_hints(command.callback)
            for param in command.get_params(ctx):
                _say_type(param, describe_type(annotations.get(param.name, bool), param))
        if command is not None and command.epilog and "\n" not in command.epilog:
            command.epilog = lay_out_examples(command.epilog)
        if command is not None and ctx.terminal_width is not None:
            _do_without_frames(command)
        return command


def _do_without_frames(command: Any) -> None:
    """Has typer print help as plain text, which fits a narrow terminal; in its tables, words would be cut."""
    command.rich_markup_mode = None
    if command.epilog and not command.epilog.startswith("\b"):
        command.epilog = f"\b\n{command.epilog}"  # keeps its lines as they are


def _with_readable_errors(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Calls the function; shortens what typer quotes in its errors, and removes control characters."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = format_message(error.message)  # type: ignore[attr-defined]
        raise


def _say_type(param: Any, words: str) -> None:
    """Replaces what typer shows as the type of a parameter, such as <int range> [x>=1].

    typer has no setting for this; tests/test_help.py notices if a new version asks elsewhere.
    """
    if param.metavar is None or param.param_type_name == "argument":
        shown = words if param.metavar is None else ""  # an argument's metavar stands for its name
        param.display_type_rich = lambda ctx: shown  # noqa: ARG005
    param._get_number_range_help_str = lambda: None


def describe_type(annotation: Any, param: Any) -> str:
    """Returns the type of an option or argument as a person says it; nothing for a flag."""
    kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) in (typing.Union, list):
        return describe_type(kinds[0], param)
    if typing.get_origin(annotation) is Literal:
        return " | ".join(kinds)
    if getattr(param, "count", False):  # a flag that may be repeated
        return ""
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if least is not None and most is not None and most <= MAX_SHOWN:
        return f"{least:,} to {most:,}"
    if least is not None:
        return f"{least:,} or more"
    return TEXTS.get(param.name, TYPES[str]) if annotation is str else TYPES.get(annotation, "")


def lay_out_examples(epilog: str) -> str:
    """Puts the parts of an epilog, between which there are two spaces or more, on lines of their own.

    A command that is too long for a terminal of 80 columns goes on in the next line after a backslash, so
    that it can be copied as it stands.
    """
    lines = []
    for part in re.split(r"\s{2,}", epilog):
        line = ""
        for piece in re.split(r" (?=--)", part) if part.startswith("augenmerk ") else [part]:
            if line and len(f"{line} {piece} \\") > WIDTH:
                lines.append(f"{line} \\")
                line = f"    {piece}"
            else:
                line = f"{line} {piece}" if line else piece
        lines.append(line)
    return "\n".join(lines)
