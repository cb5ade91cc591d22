"""The command line: each command parses its arguments, calls the package and prints the result.

Every command is declared in the file that is named after it. The file is imported when its command is used,
and imports torch and other heavy modules when the command runs, so that help answers at once.

May import: everything. Read first: `options.py`, then `translate.py`.
"""

import errno
import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer import Option
from typer.core import TyperGroup

from augenmerk import __version__
from augenmerk.base.errors import AugenmerkError, format_message, shorten
from augenmerk.base.process import SavedInterrupt, exit_code
from augenmerk.cli.terminal import discard_output, mute, prepare_streams, unmute
from augenmerk.training.distributed import ignore_signals, own_rank, should_report_error, world_size

NOT_IN_SLIM = ("torch", "matplotlib", "scipy")
"""What the distribution `augenmerk-slim` leaves out; see slim/pyproject.toml."""

COMMANDS = {
    "demo": "Train three mechanisms on built-in data and compare them.",
    "train": "Train a translator.",
    "plot": "Draw the curves of runs: loss, BLEU and learning rate.",
    "evaluate": "Measure a trained run: BLEU, chrF, loss and perplexity.",
    "translate": "Translate texts, lines on stdin, or a file.",
    "score": "Score given translations word by word, with attention.",
    "study": "Train variants over several seeds and compare them.",
    "assignment": "Do a course's assignment, and write its report.",
    "report": "Write a study as a self-contained page or as a table.",
    "diagram": "Draw the attention of models.",
    "patterns": "Search a split for patterns of attention.",
    "faithfulness": "Measure how much predictions depend on the attention.",
    "export": "Write a run as a web page that needs no server.",
    "serve": "Translate over HTTP, and show the workbench.",
    "data": "List, show, check, fetch, export and prepare sentence pairs.",
    "config": "Explain the settings of runs, and show those of a preset.",
    "bench": "Measure the speed of training and translating.",
    "theory": "What attention can compute: exercises, drawn and graded.",
    "lab": "Exercises in code, checked, with the mistake named.",
}
"""The commands in the order of `augenmerk --help`, each with a summary of at most 60 characters.

A command is an entry here and a file of its name with a typer app called `app`; an app of several commands is
a group. The file is imported when the command is used, so that help and a short translation need not wait for
the others."""

EXAMPLE_WIDTH = 78
"""The columns that a terminal of 80 has for examples."""


class _OnDemand(Mapping[str, Any]):
    """The commands by name. Each is imported when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in COMMANDS:
                raise KeyError(name)
            self._made[name] = _make_command(name)
        return self._made[name]


class _Commands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _OnDemand()  # type: ignore[assignment]

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        return [*COMMANDS]

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Finds the command; garbage collection begins here, and leaves out what was imported so far."""
        found = super().resolve_command(ctx, args)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return found

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Invokes a command; words what pydantic, which reads values for typer, finds wrong with one."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if error.message.startswith("Input ") and (found := getattr(error.__cause__, "errors", None)):
                rule = error.message.removeprefix("Input ").partition(",")[0]
                error.message = f"{shorten(repr(found()[0]['input']))} {rule}."
            raise


def _make_command(name: str) -> Any:
    """Imports a command, or a group of commands, with its examples laid out."""
    part: typer.Typer = import_module(f"augenmerk.cli.{name}").app
    for group in (part, *(each.typer_instance for each in part.registered_groups)):
        for command in group.registered_commands if group else ():
            command.epilog = lay_out_examples(command.epilog or "")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.add_typer(part, name=name if len(part.registered_commands) > 1 else None)
    return typer.main.get_group(alone).commands[name]


def lay_out_examples(epilog: str) -> str:
    """Puts the parts of an epilog, between which there are two spaces or more, on separate lines.

    A command that is too long for a terminal of 80 columns continues in the next line after a backslash, so
    that it can be copied as it is.
    """
    if epilog.startswith("\b"):  # laid out already
        return epilog
    parts = re.split(r"\s{2,}", epilog)
    lines = ["\b"]  # tells typer to keep the lines of this paragraph
    for part in parts:
        if not part.startswith("augenmerk "):
            lines += [part] if part == parts[0] else ["", part]
            continue
        lines.append("")
        for piece in re.split(r" (?=--)", part):
            if len(f"{lines[-1]} {piece} \\") > EXAMPLE_WIDTH:
                lines[-1] += " \\"
                lines.append(f"    {piece}")
            else:
                lines[-1] = f"{lines[-1]} {piece}" if lines[-1] else piece
    return "\n".join(lines)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"augenmerk {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app = typer.Typer(
    name="augenmerk",
    cls=_Commands,
    help="Attention in sequence-to-sequence models: to learn, to teach and to research.",
    epilog=lay_out_examples(
        "To begin with:  augenmerk demo  "
        "augenmerk translate 'Ein Mann fährt mit dem Fahrrad durch den Park.'  "
        "augenmerk COMMAND --help shows the options of a command, and examples."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The command line."""
app.callback()(_root)


def main() -> None:
    """Runs the command line; an error that the user can correct is one sentence on stderr and exit code 2.

    Ctrl-C is exit code 130 and SIGTERM 143, with one line, which ends in what the command has put into the
    arguments of KeyboardInterrupt. If the reader of a pipe, such as `head`, has closed it, nothing is printed
    and the exit code is 0. Of several processes that `torchrun` has started, only the first prints, and one
    of them prints why all end.
    """
    try:
        try:
            prepare_streams()
            if own_rank() > 0:
                mute()
            if world_size() > 1 and sys.argv[1:2] != ["train"]:
                raise AugenmerkError(
                    f"torchrun has started {world_size()} processes, but only `augenmerk train` divides its "
                    f"work; call other commands without torchrun."
                )
            app()
        except SystemExit as end:
            # typer and rich catch these two themselves, and exit with another code.
            for cause in _causes(end):
                if isinstance(cause, BrokenPipeError | KeyboardInterrupt):
                    raise cause from None
            sys.stdout.flush()  # now, while an error can still be reported
            raise
    except (Exception, KeyboardInterrupt) as error:
        known = _explain(error)
        if known is None:
            unmute()
            raise
        _exit(*known)


def _explain(error: BaseException) -> tuple[int, str] | None:
    """Returns the exit code and the sentence for an error; None for one that is a mistake in the program."""
    match error:
        case AugenmerkError():
            return 2, str(error)
        case BrokenPipeError():
            return 0, ""
        case SavedInterrupt():  # which has been explained
            return error.code, ""
        case KeyboardInterrupt():
            return exit_code(error), f"Interrupted. {error}".strip()
        case UnicodeEncodeError(reason="surrogates not allowed"):
            # Python decodes the bytes of a path that are not UTF-8 to surrogates, which cannot be written.
            return 2, f"{error.object!r} is not UTF-8; rename the file or folder."
        case ModuleNotFoundError() if (name := (error.name or "").partition(".")[0]) in NOT_IN_SLIM:
            missing = f"This needs {name}, which is not installed here (augenmerk-slim leaves it out)"
            return 2, f"{missing}: pip install {name}."
        case FileNotFoundError() if error.filename is not None:
            return 2, f"{os.fsdecode(error.filename)}: there is no such file or folder."
        case OSError() if error.filename is not None:
            return 2, f"{os.fsdecode(error.filename)}: cannot be used ({error.strerror})."
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG | errno.EIO):
            return 2, f"The output cannot be written ({error.strerror})."
        case OSError():
            return 2, f"The system refused a call that this needs ({error.strerror or error})."
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yields the exceptions that led to this one, the latest first, without those that were dealt with."""
    while error is not None:
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is not None:
            yield error


def _exit(code: int, message: str = "") -> NoReturn:
    if world_size() > 1:
        ignore_signals()
    with suppress(OSError):  # stderr may be full or closed too
        if message and should_report_error():
            unmute()
            typer.echo(f"augenmerk: {format_message(message)}", err=True)
    discard_output()
    if world_size() > 1:
        os._exit(code)  # torch might wait for the other processes
    sys.exit(code)
