"""A trained run as a web page that translates by itself, with no server and no network."""

MAX_BEAM = 20
"""The widest beam of a page: wider ones would take seconds in a browser."""
