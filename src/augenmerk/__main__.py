"""`python -m augenmerk` is the command `augenmerk`."""

from augenmerk.cli import main

if __name__ == "__main__":
    main()
