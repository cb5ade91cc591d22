"""Writes what reference pages take from the declared code, as Markdown.

A page has a block such as ```{generated} settings```; the function of that name writes what replaces it when
the site is built.
"""

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

import augenmerk
from augenmerk.base.config import PRESETS, RunConfig, load_config
from augenmerk.base.entries import MECHANISMS
from augenmerk.base.settings import Setting, Settings, format_value, list_settings, read_meanings
from augenmerk.cli import app
from augenmerk.lab.exercises import COMMON, EXERCISES
from augenmerk.study import plan

BLOCK = re.compile(r"^```\{generated\} (\w+)\n```$", re.MULTILINE)
DOCS = Path(__file__).parent
Lines = Iterator[str]


def fill_in(page: str) -> str:
    """Returns a page with its generated blocks replaced."""
    return BLOCK.sub(lambda block: "\n".join(WRITERS[block[1]]()), page)


@cache
def find_pages(docs: Path) -> frozenset[str]:
    """Returns the names of the pages with generated blocks."""
    pages = {path: path.read_text(encoding="utf-8") for path in docs.rglob("*.md")}
    return frozenset(
        path.relative_to(docs).with_suffix("").as_posix()
        for path, text in pages.items()
        if BLOCK.search(text)
    )


def write_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Lines:
    """Yields a Markdown table with empty lines around it."""
    head = list(head)
    yield from ("", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}")
    yield from (f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows)
    yield ""


def escape(text: str) -> str:
    """Returns plain text as Markdown that shows it unchanged; text in backticks is code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part.replace("|", r"\|") if part.startswith("`") else re.sub(r"([\\*_<>|$\[\]])", r"\\\1", part)
        for part in parts
    )


def code(text: object) -> str:
    return f"`{text}`".replace("|", r"\|")


# The command line


def walk(command: Any, context: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields every command below this one: its name, such as `data show`, the command and its context."""
    for each in command.list_commands(context):
        below = command.get_command(context, each)
        inner = typer.Context(below, parent=context, info_name=each)
        if hasattr(below, "list_commands"):
            yield from walk(below, inner, f"{name}{each} ")
        else:
            yield f"{name}{each}", below, inner


def write_cli() -> Lines:
    root: Any = typer.main.get_command(app)
    commands = list(walk(root, root.make_context("augenmerk", [], resilient_parsing=True)))
    yield from write_table(
        ("command", "what it does"),
        (
            (f"[`augenmerk {name}`](#{_slug(name)})", escape(command.help.split("\n")[0]))
            for name, command, _ in commands
        ),
    )
    for name, command, context in commands:
        usage = command.get_usage(context).removeprefix("Usage: ")
        yield from (f"\n({_slug(name)})=\n## augenmerk {name}\n", f"```text\n{usage}\n```\n")
        yield from (escape(inspect.cleandoc(command.help)), "")
        records = [parameter.get_help_record(context) for parameter in command.params]
        records = [record for record in records if record and not record[0].startswith("-h")]
        yield from write_table(("option", "meaning"), ((code(one), escape(other)) for one, other in records))
        yield from _write_epilog(command.epilog or "")


def _slug(command: str) -> str:
    return "augenmerk-" + re.sub(r"\W", "-", command)


def _write_epilog(epilog: str) -> Lines:
    """Yields the examples as code, and what is said between and after them as text."""
    lines = epilog.replace("\b", "").strip().splitlines()
    for is_code, block in groupby(lines, lambda line: bool(re.match(r"augenmerk |torchrun | |$", line))):
        text = "\n".join(block).strip()
        if text:
            yield f"```sh\n{text}\n```\n" if is_code else f"{escape(text)}\n"


# Settings


def write_settings() -> Lines:
    presets = {name: load_config(name) for name in PRESETS}
    for group, settings in groupby(list_settings(RunConfig()), key=lambda setting: setting.group):
        config = attrgetter(group)(RunConfig())
        assert isinstance(config, Settings)
        yield from (f"\n## [{group}]\n", escape(" ".join((type(config).__doc__ or "").split())))
        yield from write_table(
            ("setting", "what it means", "values", "default", "presets"),
            (_describe_setting(each, presets) for each in settings),
        )


def _describe_setting(setting: Setting, presets: Mapping[str, RunConfig]) -> Lines:
    values = ", ".join(map(code, setting.choices))
    yield code(setting.name.rpartition(".")[2])
    yield escape(setting.meaning)
    yield values if setting.type == "choice" else f"{setting.type}: {values}" if values else setting.type
    yield _write_value(setting.default)
    of_presets = {name: attrgetter(setting.name)(preset) for name, preset in presets.items()}
    names: dict[str, list[str]] = {}
    for name, value in of_presets.items():
        if value != setting.default:
            names.setdefault(_write_value(value), []).append(name)
    yield "; ".join(f"{', '.join(which)}: {value}" for value, which in names.items())


def _write_value(value: object) -> str:
    return "" if value is None else code(format_value(value))


# The study file


def write_study() -> Lines:
    meanings = read_meanings(plan._StudyFile)
    yield from write_table(
        ("key", "required", "what it means"),
        (
            (code(key), "yes" if field.is_required() else "", escape(meanings[key]))
            for key, field in plan._StudyFile.model_fields.items()
        ),
    )


# The HTTP API


def write_http() -> Lines:
    from augenmerk.serve.api import ENDPOINTS
    from augenmerk.serve.endpoint import describe_api

    described = describe_api(ENDPOINTS)
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield from (f"\n## {method.upper()} {path}\n", escape(operation["summary"]), "")
            if body := operation.get("requestBody"):
                content = body["content"]["application/json"]
                example = json.dumps(content["example"], ensure_ascii=False)
                yield f"Request: {_name_schema(content['schema'])}, for example\n\n```json\n{example}\n```\n"
            yield from write_table(("status", "response"), _list_responses(operation["responses"]))
    yield "\n## Objects\n"
    for name, schema in described["components"]["schemas"].items():
        yield from (f"\n({_anchor(name)})=\n### {name}\n", escape(schema.get("description", "")))
        required = schema.get("required", ())
        yield from write_table(
            ("key", "type", "required", "what it means"),
            (
                (
                    code(key),
                    _name_schema(each),
                    "yes" if key in required else "",
                    escape(each.get("description", "")),
                )
                for key, each in schema.get("properties", {}).items()
            ),
        )


def _list_responses(responses: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for status, response in responses.items():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        is_error = schema and schema.get("$ref", "").endswith("/ErrorResponse")
        text = escape(response["description"])
        yield status, f"{text} {_name_schema(schema)}" if schema and not is_error else text


def _name_schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if options := schema.get("anyOf"):
        return " or ".join(_name_schema(each) for each in options if each.get("type") != "null")
    if choices := schema.get("enum"):
        return ", ".join(map(code, choices))
    kind: str = schema.get("type", "anything")
    return f"list of {_name_schema(schema.get('items', {}))}" if kind == "array" else kind


def _anchor(name: str) -> str:
    return f"schema-{name.lower()}"


# Python


def write_python() -> Lines:
    for name in augenmerk.__all__:
        value = getattr(augenmerk, name)
        place = f"augenmerk.{name}"
        if inspect.ismodule(value) and callable(value):  # in place of a function of its name
            value = inspect.unwrap(value)
            place = f"{value.__module__}.{name}"
        kind = "exception" if inspect.isclass(value) and issubclass(value, Exception) else "class"
        kind = kind if inspect.isclass(value) else "function" if callable(value) else ""
        if kind:
            members = "   :members:\n   :exclude-members: forward\n" if kind == "class" else ""
            yield f"\n## {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {place}\n{members}```\n"


# Numbers


def write_mechanisms() -> Lines:
    """Writes every mechanism with its equation, which is in the docstring of its class."""
    rows = []
    for name, entry in MECHANISMS.items():
        summary, _, formula = inspect.cleandoc(resolve_name(entry.code).__doc__).partition("\n\n")
        equation = formula.partition("\n\n")[0].replace("\n", "; ")
        rows.append((code(name), escape(summary), code(equation), escape(entry.paper), escape(entry.use)))
    yield from write_table(("name", "what it does", "equation", "paper", "when to use it"), rows)


def write_results() -> Lines:
    """Yields where each number in the README and the pages comes from."""
    results = json.loads((DOCS / "results.json").read_text(encoding="utf-8"))
    for title, hardware in results["hardware"].items():
        yield from (f"\n## {title[0].upper()}{title[1:]}\n", f"{hardware[0].upper()}{hardware[1:]}.")
        yield from write_table(
            ("what", "number", "date", "commit", "command"),
            (
                (
                    escape(each["what"]),
                    f"{each['value']:,} {each['unit']}",
                    each["date"].replace("-", "\N{NON-BREAKING HYPHEN}"),
                    code(each["commit"]),
                    code(each["command"]),
                )
                for each in results["numbers"].values()
                if each["hardware"] == title
            ),
        )


def write_lab() -> Lines:
    """Lists the exercises of the code lab."""
    rows = (
        [f"`{each.name}`", each.title, f"`{each.object}`", f"{each.points:g}"] for each in EXERCISES.values()
    )
    yield from write_table(("exercise", "what to write", "its name in `lab.py`", "points"), rows)


def write_lab_answers() -> Lines:
    """Checks the seeded answers, and counts those whose mistakes are named."""
    from augenmerk.lab.grading import grade

    bank = tomllib.loads((DOCS.parent / "tests/support/lab_answers.toml").read_text(encoding="utf-8"))
    counts = {name: [0, 0, 0, 0] for name in (*EXERCISES, "all")}
    for answer in bank["answers"]:
        exercise, names = EXERCISES[answer["exercise"]], dict[str, Any]()
        exec(compile(bank["imports"] + answer["code"], "lab.py", "exec"), names)
        found = grade(exercise, names[exercise.object], 1, ["lab.py"])
        expected = {name for name in answer["mistakes"] if name not in COMMON or COMMON[name].cost}
        named = {each["mistake"] for each in found["findings"]} == expected
        for row in (counts[exercise.name], counts["all"]):
            row[2 if expected else 0] += 1
            row[3 if expected else 1] += named if expected else found["verdict"] == "right"
    rows = ([name, *map(str, row)] for name, row in counts.items())
    yield from write_table(("exercise", "right", "found right", "with mistakes", "named as expected"), rows)


WRITERS: dict[str, Callable[[], Lines]] = {
    "cli": write_cli,
    "http": write_http,
    "lab": write_lab,
    "lab_answers": write_lab_answers,
    "mechanisms": write_mechanisms,
    "python": write_python,
    "results": write_results,
    "settings": write_settings,
    "study": write_study,
}


def write_theory_page(path: Path) -> None:
    """Writes the theory lab as one page."""
    from augenmerk.web.export import export_theory

    export_theory(path, overwrite=True)
