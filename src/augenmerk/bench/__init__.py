"""Measuring speed: ours against the plain way, both in one run, and both against what the machine can do.

May import: everything but cli. Read first: `machine.py`.
"""
