"""Greedy and beam search, sampling and forced decoding over a step function; knows no model.

N sentences, K hypotheses of each, V ids, S source positions; B is the width of a beam.

Everything is batched over sentences and hypotheses, and sentences that are done leave the batch. Each step
records little: ids, back-pointers, log-probabilities and attention weights, but nothing of width V. At the
end, the hypotheses are read from these records by following the back-pointers.

May import: base, text and mechanisms. Read first: `beam.py`.
"""
