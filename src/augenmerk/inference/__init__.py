"""The architectures in numpy, for translating on a CPU without torch.

They have the letters and the order of `augenmerk.model`, which trains them, and give the same numbers to
rounding; tests compare the two. There is no dropout, no gradient, and nothing changes a model once it is
built, so several threads may use one at once.

May import: base, text, mechanisms and search. Read first: `gru.py`, then `model.py`.
"""
