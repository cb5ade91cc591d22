"""Greedy and beam search, sampling and forced decoding over a step function; knows no model.

N sentences, K hypotheses of each, V ids, S source positions; B is the width of a beam.

All of it is batched over sentences and hypotheses together, and sentences that are done leave the batch.
What a step leaves behind is small: ids, back-pointers, log-probabilities and attention weights, never
anything of width V. The hypotheses are read back from that at the end, along the back-pointers.
"""

from augenmerk.search.beam import BeamStep, length_limits, search
from augenmerk.search.decoder import Decoder, Hypothesis, State
from augenmerk.search.ensemble import EnsembleDecoder, mean_of_probabilities
from augenmerk.search.greedy import force, sample
from augenmerk.search.tree import BeamTrace, TraceNode, trace

__all__ = [
    "BeamStep",
    "BeamTrace",
    "Decoder",
    "EnsembleDecoder",
    "Hypothesis",
    "State",
    "TraceNode",
    "force",
    "length_limits",
    "mean_of_probabilities",
    "sample",
    "search",
    "trace",
]
