"""A hostile campaign against the command line: thousands of cases, each a function of (seed, kind, number).

`python -m tests.campaign --minutes 60` runs it for as long as it is told and prints a table; `make soak` does
that. tests/process/test_campaign.py runs a few hundred cases of each kind.

`server.py` runs commands in real processes, `world.py` holds the files they are run on, `damage.py` the ways
to spoil a file, `kinds.py` the kinds of cases.
"""
