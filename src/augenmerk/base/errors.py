"""The one exception that is meant for people rather than for programmers, and how its text is shown."""

import re
from collections.abc import Iterable


class AugenmerkError(Exception):
    """Something the user can put right.

    Its text is one sentence that says what was wrong, where (file, line, key) and what would be right.
    The command line prints it and exits with code 2. Of other exceptions, only those of the operating system
    about a file or a stream are caught there, so that a mistake of ours shows its traceback.
    """


def shorten(value: str, limit: int = 60) -> str:
    """Returns a value for a message: its beginning and its end if it is longer than `limit`."""
    return value if len(value) <= limit else f"{value[: limit - 20]}…{value[-19:]}"


def check_least(least: int, **numbers: float | None) -> None:
    """Raises AugenmerkError if one of the numbers is smaller, for callers that no option has checked."""
    for name, number in numbers.items():
        if number is not None and number < least:
            raise AugenmerkError(f"{name} is {least} or more, not {number}.")


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raises AugenmerkError if the value is none of the choices."""
    if value not in (known := list(choices)):
        raise AugenmerkError(f"{name} is one of {', '.join(known)}, not '{shorten(str(value))}'.")


def remove_control_characters(text: str) -> str:
    """Removes control characters other than tabs and line breaks: they would command the terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text)


def format_message(text: str) -> str:
    """Returns the text of an error for the terminal: one line, with overlong names and values shortened."""
    line = " ".join(remove_control_characters(text).splitlines())
    return shorten(re.sub(r"\S{200,}|(?<!\w)'[^']{200,}'(?!\w)", lambda found: shorten(found[0]), line), 1500)


def escape_csv(text: str) -> str:
    """Puts an apostrophe before what a spreadsheet would take for a formula."""
    text = text.replace("\r", " ")  # the csv module would not quote it, and it would begin another row
    return f"'{text}" if text.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) else text
