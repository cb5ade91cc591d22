"""The run directory: everything that is needed to translate with a trained model, or to continue training it.

Nothing in it is executed. May import: base and text. Read first: `directory.py`.
"""
