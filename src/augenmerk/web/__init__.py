"""A trained run as a web page that translates by itself, with no server and no network."""
