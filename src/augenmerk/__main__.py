"""The command `augenmerk`, which is also `python -m augenmerk`."""

import sys


def main() -> None:
    """Runs the command line. Ctrl-C is one line and exit code 130 also while its modules are imported."""
    try:
        from augenmerk.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("augenmerk: Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
