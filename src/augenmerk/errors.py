"""The one exception that is meant for people rather than for programmers."""


class AugenmerkError(Exception):
    """Something the user can put right.

    Its text is one sentence that says what was wrong, where (file, line, key) and what would be right.
    The command line prints it as it stands and exits with code 2; nothing else is caught there, so
    that a mistake of ours shows its traceback.
    """
