"""A trained run as a web page that translates without a server and a network.

May import: base, text, drawing, inference, run, translation and theory. Read first: `export.py`.
"""

MAX_BEAM = 20
"""The widest beam of a page: wider ones would take seconds in a browser."""
