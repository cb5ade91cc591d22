"""Command lines, drawn from the options that are declared."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_origin

import typer
from hypothesis import strategies as st

from augenmerk.base.config import RunConfig
from tests.campaign.case import LONG
from tests.campaign.damage import NUMBERS, TEXTS

SENTENCES = ("Ein Hund schläft.", "Die Frau, die lacht, kauft einen Apfel.", "Hund", "ein ein ein")
OUTPUTS = "new new.png new.svg new.pdf new.html new.txt old.txt sub/new.svg own /dev/null".split()
GOOD: dict[str, tuple[str, ...]] = {
    "preset": ("tiny.toml", "tiny.toml", "tiny.toml", "quick", "run-a/config.toml"),
    "data": ("own", "own", "pairs.tsv", "bilderbuch", "pairs.jsonl"),
    "study": ("study", "study/study.json"),
    "file": ("study.toml", "answers.csv"),
    "name": ("own", "pairs.tsv", "pairs.tsv.gz", "pairs.jsonl", "bilderbuch"),
    **dict.fromkeys(("text", "example", "source"), SENTENCES),
    **dict.fromkeys(("run", "model", "baseline", "ensemble"), ("run-a", "run-b", "half")),
    **dict.fromkeys(("from_run", "start", "runs"), ("run-a", "run-b", "half")),
    **dict.fromkeys(("out", "output", "figure", "figures", "page", "summary"), tuple(OUTPUTS)),
    "target": ("A dog sleeps.", "a a a"),
    "split": ("val", "test", "train"),
    "input": ("input.txt",),
    "hypotheses": ("own/val.en",),
    "gold": ("links.align",),
    "device": ("cpu", "auto"),
    "attention": ("scaled-dot", "mean", "mine.py:Mine"),
    "url": ("http://127.0.0.1:9/", "http://127.0.0.1:9/x?y"),
    "task": ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"),
    "query": ("c*(k_a+k_b)", "k_a", "beta*mu_a", "10*k_1", "c*k_j", "K=I", "(k_a", "k_a^2/0"),
    "answers": ("answers.csv",),
    "source_language": ("de", "en"),
    "target_language": ("en", "de"),
}
NUMBERS_OF_USE = ("1", "2", "3", "5", "0", "8")


def often(good: st.SearchStrategy[str], hostile: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Mostly what makes sense."""
    return st.sampled_from([good, good, good, good, hostile]).flatmap(lambda chosen: chosen)


def likely(draw: st.DrawFn, percent: int) -> bool:
    return draw(st.integers(0, 99)) >= 100 - percent


@cache
def leaves() -> list[tuple[tuple[str, ...], Any]]:
    """All commands that are declared, each with its names."""
    from augenmerk.cli import app

    def visit(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        if hasattr(command, "commands"):
            for name, each in command.commands.items():
                yield from visit(each, (*names, name))
        else:
            yield names, command

    return list(visit(typer.main.get_command(app), ()))


@cache
def settings() -> list[str]:
    """The names of all settings of a run."""

    def visit(model: Any, prefix: str) -> Iterator[str]:
        for name, field in model.model_fields.items():
            kinds = (field.annotation, *get_args(field.annotation))
            inner = next((each for each in kinds if hasattr(each, "model_fields")), None)
            if inner is None:
                yield prefix + name
            else:
                yield from visit(inner, f"{prefix}{name}.")

    return list(visit(RunConfig, ""))


def values(parameter: Any) -> st.SearchStrategy[str]:
    """Values of an argument or option."""
    kind = parameter.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind) if get_origin(kind) else kind
    name = parameter.name
    if name == "settings":
        good = st.sampled_from([*NUMBERS_OF_USE, "true", "false", '"word"', '"bpe"', "[1]"])
        parts = st.sampled_from(settings()), st.sampled_from(["=", "=", "=", "=", "", "=="])
        return st.tuples(*parts, often(good, NUMBERS | TEXTS)).map("".join)
    if kind in (int, float):
        limits = [limit for limit in (parameter.min, parameter.max) if limit is not None]
        near = [str(limit + shift) for limit in limits for shift in (-1, 0, 1)]
        few = [*(["0.5", "1.5", "10"] if kind is float else []), *NUMBERS_OF_USE]
        few += [] if parameter.default is None else [str(parameter.default)]
        return often(st.sampled_from(few), NUMBERS | st.sampled_from([*near, "0"]))
    if name in GOOD:  # a folder "/" would be written into
        hostile = TEXTS.map(lambda text: "loop" if text == "/" else text)
        return often(st.sampled_from(GOOD[name]), hostile)
    words = re.findall(r"[\w.:-]+", str(getattr(parameter, "help", "") or ""))
    return often(st.sampled_from([*words, *SENTENCES, "run-a", "own", str(parameter.default)]), TEXTS)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command with some of its arguments and options."""
    quick = [each for each in leaves() if each[0][0] not in LONG]
    names, command = draw(st.sampled_from(leaves() if likely(draw, 20) else quick))
    arguments = list(names)
    for parameter in command.params:
        if not parameter.opts[0].startswith("-"):
            if likely(draw, 97 if parameter.required else 70):
                count = 1 if parameter.nargs == 1 else draw(st.integers(1, 3))
                arguments += [draw(values(parameter)) for _ in range(count)]
        elif likely(draw, 97 if parameter.required else 20):
            for _ in range(draw(st.sampled_from([1, 1, 2])) if parameter.multiple else 1):
                arguments.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
                arguments += [] if parameter.is_flag else [draw(values(parameter))]
    if likely(draw, 3):
        odd = draw(st.sampled_from(["--nope", "-x", "--", "", "--help", "\x1b[31m"]))
        arguments.insert(draw(st.integers(0, len(arguments))), odd)
    if likely(draw, 2):
        arguments = arguments[: draw(st.integers(0, len(arguments)))]
    if arguments[:2] == ["data", "fetch"] and "--url" not in arguments:
        arguments += ["--url", "http://127.0.0.1:9/"]  # nothing is fetched from elsewhere
    return [argument.replace("\0", "") for argument in arguments]
