"""What every room stands on: errors, settings, files, arrays, devices, signals.

May import: nothing of augenmerk. Read first: `config.py`, every setting of a run.
"""
