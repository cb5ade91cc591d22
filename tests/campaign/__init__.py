"""A hostile campaign against the command line; hypothesis draws its cases.

`make soak` runs it for as long as it is told and prints a table; tests/process/test_campaign.py runs a few
cases of each kind. `world.py` holds the files that commands are run on, `damage.py` ways to spoil a file,
`lines.py` command lines, `case.py` what holds for every command, `kinds.py` the kinds of cases.
"""
