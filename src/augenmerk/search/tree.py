"""A beam search as a tree: what was considered, kept and pruned at each step."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from augenmerk.base.config import SearchConfig
from augenmerk.search.beam import BeamStep, search
from augenmerk.search.decoder import Decoder, Hypothesis
from augenmerk.text.tokenizer import BOS, EOS

Status = Literal["kept", "finished", "pruned"]


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A hypothesis that was considered: its parent's tokens and one more."""

    id: int
    """Its index in the list of nodes; 0 is the root, BOS."""
    parent: int | None
    step: int
    """How many tokens it has produced; 0 for the root."""
    token: int
    token_log_probability: float
    log_probability: float
    """The log-probability of all its tokens."""
    score: float
    """log_probability / step**length_penalty."""
    status: Status
    """kept: among the best of the step, and lives on. finished: among the best, and ends in EOS.
    pruned: not among the best."""


@dataclass(eq=False)
class BeamTrace:
    """The whole beam of one sentence.

    Each live hypothesis of a step offers its best `beam` continuations; the best `beam` of all of these are
    kept or finished, the others pruned. Kept nodes without children were still alive when the search stopped.
    """

    beam: int
    length_penalty: float
    nodes: list[TraceNode] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    """The hypotheses that `search` returns."""
    leaves: list[int] = field(default_factory=list)
    """The node each of the hypotheses ends in."""

    def __post_init__(self) -> None:
        self._children: dict[tuple[int, int], int] = {}
        self._live = [0]  # the node in each slot of the beam; slots of dead hypotheses mean nothing
        self.nodes.append(TraceNode(0, None, 0, BOS, 0.0, 0.0, 0.0, "kept"))

    def to_json(self) -> dict[str, Any]:
        """Returns plain data: beam, length_penalty, nodes with the fields of `TraceNode`, and hypotheses (the
        last node of each, ids, finished, log_probability, score), best first."""
        hypotheses = [
            {
                "node": leaf,
                "ids": list(each.ids),
                "finished": each.finished,
                "log_probability": each.log_probability,
                "score": each.score,
            }
            for leaf, each in zip(self.leaves, self.hypotheses, strict=True)
        ]
        nodes = [asdict(node) for node in self.nodes]
        settings = {"beam": self.beam, "length_penalty": self.length_penalty}
        return {**settings, "nodes": nodes, "hypotheses": hypotheses}

    def record(
        self,
        considered: list[list[float]],
        considered_tokens: list[list[int]],
        chosen: list[float],
        parents: list[int],
        tokens: list[int],
    ) -> None:
        """Adds the nodes of one step, as `BeamStep` describes it for one sentence."""
        best = {each[1:] for each in zip(chosen, parents, tokens, strict=True) if each[0] > -math.inf}
        for slot, (totals, ids) in enumerate(zip(considered, considered_tokens, strict=True)):
            for total, token in zip(totals, ids, strict=True):
                if total > -math.inf:
                    status: Status = "finished" if token == EOS else "kept"
                    self._add(self._live[slot], token, total, status if (slot, token) in best else "pruned")
        self._live = [
            self._children.get((self._live[parent], token), 0)
            for parent, token in zip(parents, tokens, strict=True)
        ]

    def _add(self, parent: int, token: int, total: float, status: Status) -> None:
        before = self.nodes[parent]
        step = before.step + 1
        self._children[parent, token] = number = len(self.nodes)
        own, score = total - before.log_probability, total / step**self.length_penalty
        self.nodes.append(TraceNode(number, parent, step, token, own, total, score, status))

    def finish(self, hypotheses: list[Hypothesis]) -> None:
        """Adds the hypotheses that the search has found."""
        self.hypotheses = hypotheses
        for hypothesis in hypotheses:
            node = 0
            for token in (*hypothesis.ids, EOS) if hypothesis.finished else hypothesis.ids:
                node = self._children[node, token]
            self.leaves.append(node)


def trace(decoder: Decoder, settings: SearchConfig, limits: Sequence[int]) -> list[BeamTrace]:
    """Searches as `search` does, and returns the whole beam of each sentence."""
    traces = [BeamTrace(settings.beam, settings.length_penalty) for _ in limits]

    def on_step(step: BeamStep) -> None:
        sentences, *columns = (array.tolist() for array in step)
        for sentence, *row in zip(sentences, *columns, strict=True):
            traces[sentence].record(*row)

    for each, hypotheses in zip(traces, search(decoder, settings, limits, on_step), strict=True):
        each.finish(hypotheses)
    return traces
