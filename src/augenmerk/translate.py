"""From source ids to hypotheses: the translator seen through the eyes of the search."""

import torch
from torch import Tensor

from augenmerk.batching import ParallelTokens, TokenTable
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import SearchConfig
from augenmerk.model.attention import Memory
from augenmerk.model.translator import Translator
from augenmerk.search import Hypothesis, State, length_limits, search
from augenmerk.tensorfile import fit


def load_translator(run: RunDirectory, device: torch.device | str = "cpu") -> Translator:
    """The model of a run, with its best weights, ready to be used."""
    codec = run.codec
    model = Translator(run.config.model, codec.source.size, codec.target.size)
    fit(model, run.load_model(), run.model_path)
    return model.to(device).eval()


class TranslatorDecoder:
    """What `augenmerk.search` asks for: states that start, step, and leave with their sentence."""

    def __init__(self, model: Translator, memory: Memory, start: Tensor) -> None:
        self._model = model
        self._memory = memory
        self._start = start  # (L, N, H)

    @property
    def sentences(self) -> int:
        return self._memory.values.shape[0]

    def start(self) -> State:
        return (self._start.permute(1, 0, 2)[:, None],)  # (N, 1, L, H)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        g = state[0].permute(2, 0, 1, 3)  # (L, N, K, H)
        log_probabilities, weights, g = self._model.step(tokens, g.contiguous(), self._memory)
        return log_probabilities, weights, (g.permute(1, 2, 0, 3),)

    def keep(self, sentences: Tensor) -> "TranslatorDecoder":
        return TranslatorDecoder(self._model, self._memory.keep(sentences), self._start[:, sentences])


@torch.inference_mode()
def hypotheses_of(
    model: Translator, sources: TokenTable, config: SearchConfig, *, batch_size: int = 128, n_best: int = 1
) -> list[list[Hypothesis]]:
    """The best hypotheses for each source, in the order of the sources."""
    was_training = model.training
    model.eval()
    found: list[list[Hypothesis]] = [[] for _ in range(len(sources))]
    nothing = TokenTable.of([()] * len(sources)).to(sources.flat.device)
    data = ParallelTokens(sources, nothing)
    # Sources of similar length together: they are encoded, and mostly done, at the same time.
    for batch in data.batches(data.plan(batch_size, shuffle=False)):
        source = model.encode(batch.src, batch.src_mask)
        results = search(
            TranslatorDecoder(model, source.memory, source.start),
            beam=config.beam,
            n_best=n_best,
            length_penalty=config.length_penalty,
            max_lengths=length_limits(config, batch.src_lengths.tolist()),
        )
        for index, hypotheses in zip(batch.indices.tolist(), results, strict=True):
            found[index] = hypotheses
    model.train(was_training)
    return found
