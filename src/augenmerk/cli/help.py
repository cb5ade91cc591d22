"""What `--help` prints: options with their types in words, and examples to copy."""

import inspect
import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from augenmerk.base.errors import format_message
from augenmerk.cli.terminal import out

WIDTH = 78
"""The columns that a terminal of 80 has for examples."""
MAX_WIDTH = 100
"""Help is not wider than this many columns."""
MIN_TABLE = 70
"""Columns from which on options are a table; in a narrower terminal their descriptions are below them."""
MAX_SHOWN = 10_000
"""Help does not name larger limits; errors do."""

TYPES = {int: "a number", float: "a number", str: "text", Path: "a path"}
NAMES = (
    *("attention", "device", "format", "kind", "name", "source_language", "split", "tag"),
    *("target_language", "task", "theme", "view"),
)
"""Parameters whose text is one of several names."""
TEXTS = {
    **dict.fromkeys(NAMES, "a name"),
    **dict.fromkeys(("data", "file", "preset"), "a name or path"),
    "settings": "KEY=VALUE",
}


class Command(TyperCommand):
    """A command whose help `print_help` prints."""

    def __init__(self, name: str | None, *, epilog: str | None = None, **options: Any) -> None:
        super().__init__(name, epilog=lay_out_examples(epilog or ""), **options)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        print_help(self, ctx, {})


class Commands(TyperGroup):
    """A group of commands whose help `print_help` prints, and whose errors of usage are safe to print."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return _with_readable_errors(super().make_context, *arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        return _with_readable_errors(super().invoke, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        print_help(self, ctx, {name: command.help or "" for name, command in found.items() if command})


def _with_readable_errors(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Calls the function; shortens what typer quotes in its errors, and removes control characters."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = format_message(error.message)  # type: ignore[attr-defined]
        raise


def print_help(command: Any, ctx: Any, commands: dict[str, str]) -> None:
    """Prints the help of a command or, with the descriptions of its commands, of a group."""
    annotations = typing.get_type_hints(command.callback) if command.callback else {}
    sections: dict[str, list[tuple[str, str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(ctx):
        kind = describe_type(annotations.get(param.name, bool), param)
        if param.param_type_name == "argument":
            sections["Arguments"].append((param.metavar or param.name, kind, _describe(param)))
        elif not param.hidden:
            names = ", ".join(sorted((*param.opts, *param.secondary_opts), key=len, reverse=True))
            sections["Options"].append((names, param.metavar or kind, _describe(param)))
    sections["Commands"] = [(name, "", _join_lines(text.split("\n\n")[0])) for name, text in commands.items()]
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    console, width = out(), min(out().width, MAX_WIDTH)
    console.print(Text.assemble(("Usage: ", "bold yellow"), usage), width=width, soft_wrap=False)
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        console.print(f"\n{_join_lines(paragraph)}", width=width, soft_wrap=False)
    for heading, rows in sections.items():
        if rows:
            console.print(f"\n[bold]{heading}[/]")
            console.print(_make_table(rows, width), width=width, soft_wrap=False)
    if command.epilog:
        console.print(f"\n{command.epilog}", markup=False)


def _make_table(rows: list[tuple[str, str, str]], width: int) -> Table:
    """Returns names, types and descriptions side by side, or below each other in a narrow terminal."""
    has_types = any(kind for _, kind, _ in rows)
    table = Table.grid(padding=(0, 2), pad_edge=False)
    if width >= MIN_TABLE:
        table.add_column(style="bold cyan", no_wrap=True)
        if has_types:
            table.add_column(style="yellow", max_width=width // 4)
        table.add_column(ratio=1)
        for name, kind, text in rows:
            table.add_row(name, *([kind] if has_types else []), text)
        return table
    for name, kind, text in rows:
        table.add_row(Text.assemble((name, "bold cyan"), "  ", (kind, "yellow")))
        table.add_row(Padding(text, (0, 0, 0, 2)))
    return table


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _describe(param: Any) -> str:
    """Returns the help of a parameter, with its default."""
    default = param.default
    if default is True and param.secondary_opts:
        default = param.opts[0].lstrip("-")
    shown = param.show_default and not callable(default) and default not in (None, False, True, "")
    notes = [f"default: {default}"] * shown + ["required"] * param.required
    return " ".join([param.help or "", *(f"[dim]\\[{note}][/]" for note in notes)])


def describe_type(annotation: Any, param: Any) -> str:
    """Returns the type of an option or argument in words; nothing for a flag."""
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
    """Puts the parts of an epilog, between which there are two spaces or more, on separate lines.

    A command that is too long for a terminal of 80 columns continues in the next line after a backslash, so
    that it can be copied as it is.
    """
    lines = []
    for part in re.split(r"\s{2,}|\n", epilog):
        line = ""
        for piece in re.split(r" (?=--)", part) if part.startswith("augenmerk ") else [part]:
            if line and len(f"{line} {piece} \\") > WIDTH:
                lines.append(f"{line} \\")
                line = f"    {piece}"
            else:
                line = f"{line} {piece}" if line else piece
        lines.append(line)
    return "\n".join(lines)
