"""A beam search as a tree: what was considered, kept and pruned at each step."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

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


@dataclass(frozen=True, eq=False)
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
        return {
            "beam": self.beam,
            "length_penalty": self.length_penalty,
            "nodes": [asdict(node) for node in self.nodes],
            "hypotheses": hypotheses,
        }


def trace(
    decoder: Decoder,
    *,
    beam: int = 1,
    n_best: int = 1,
    length_penalty: float = 0.0,
    max_lengths: int | Sequence[int],
    allow_unknown: bool = True,
) -> list[BeamTrace]:
    """Searches as `search` does, and returns the whole beam of each sentence."""
    recorders = [_Recorder(BeamTrace(beam, length_penalty)) for _ in range(decoder.sentences)]

    def on_step(step: BeamStep) -> None:
        sentences, *columns = (array.tolist() for array in step)
        for sentence, *row in zip(sentences, *columns, strict=True):
            recorders[sentence].record(*row)

    found = search(
        decoder,
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        max_lengths=max_lengths,
        allow_unknown=allow_unknown,
        on_step=on_step,
    )
    return [recorder.finish(hypotheses) for recorder, hypotheses in zip(recorders, found, strict=True)]


class _Recorder:
    """Builds the tree of one sentence step by step."""

    def __init__(self, trace: BeamTrace) -> None:
        self._trace = trace
        self._children: dict[tuple[int | None, int], int] = {}
        self._live: list[int | None] = [
            self._add(None, BOS, 0.0, "kept")
        ]  # the node in each slot of the beam

    def record(
        self,
        considered: list[list[float]],
        considered_tokens: list[list[int]],
        chosen: list[float],
        parents: list[int],
        tokens: list[int],
    ) -> None:
        among_the_best = {
            (parent, token)
            for total, parent, token in zip(chosen, parents, tokens, strict=True)
            if total > -math.inf
        }
        for slot, (totals, ids) in enumerate(zip(considered, considered_tokens, strict=True)):
            for total, token in zip(totals, ids, strict=True):
                if total > -math.inf:
                    status: Status = "finished" if token == EOS else "kept"
                    self._add(
                        self._live[slot],
                        token,
                        total,
                        status if (slot, token) in among_the_best else "pruned",
                    )
        self._live = [
            None if total == -math.inf else self._children[self._live[parent], token]
            for total, parent, token in zip(chosen, parents, tokens, strict=True)
        ]

    def finish(self, hypotheses: list[Hypothesis]) -> BeamTrace:
        for hypothesis in hypotheses:
            node = 0
            for token in (*hypothesis.ids, EOS) if hypothesis.finished else hypothesis.ids:
                node = self._children[node, token]
            self._trace.hypotheses.append(hypothesis)
            self._trace.leaves.append(node)
        return self._trace

    def _add(self, parent: int | None, token: int, total: float, status: Status) -> int:
        nodes = self._trace.nodes
        before = None if parent is None else nodes[parent]
        step = 0 if before is None else before.step + 1
        node = TraceNode(
            id=len(nodes),
            parent=parent,
            step=step,
            token=token,
            token_log_probability=total - (0.0 if before is None else before.log_probability),
            log_probability=total,
            score=total / max(step, 1) ** self._trace.length_penalty,
            status=status,
        )
        nodes.append(node)
        self._children[parent, token] = node.id
        return node.id
