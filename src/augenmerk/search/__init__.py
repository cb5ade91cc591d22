"""Greedy and beam search, sampling and forced decoding over a step function; knows no model.

N sentences, K hypotheses of each, V ids, S source positions; B is the width of a beam.

Everything is batched over sentences and hypotheses, and sentences that are done leave the batch. Each step
records little: ids, back-pointers, log-probabilities and attention weights, but nothing of width V. At the
end, the hypotheses are read from these records by following the back-pointers.

May import: base and text. Read first: `beam.py`.
"""

from augenmerk.search.beam import BeamStep, length_limits, search
from augenmerk.search.decoder import Decoder, Hypothesis, State
from augenmerk.search.ensemble import EnsembleDecoder, mean_of_probabilities
from augenmerk.search.greedy import force, sample
from augenmerk.search.prefix import PrefixDecoder
from augenmerk.search.tree import BeamTrace, TraceNode, trace

__all__ = [
    "BeamStep",
    "BeamTrace",
    "Decoder",
    "EnsembleDecoder",
    "Hypothesis",
    "PrefixDecoder",
    "State",
    "TraceNode",
    "force",
    "length_limits",
    "mean_of_probabilities",
    "sample",
    "search",
    "trace",
]
