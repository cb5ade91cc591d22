"""The Python API: functions that are called like the commands, and a run as an object.

What a command does is in its own room; this room has a run as an object, and functions that need several
rooms. `augenmerk/__init__.py` names everything that is public.

May import: everything but cli. Read first: `run.py`.
"""
