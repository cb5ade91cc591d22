"""What every architecture in numpy offers to search and scoring: a `StepModel` with a common part."""

from abc import ABC, abstractmethod

import numpy as np

from augenmerk.base.config import ModelConfig
from augenmerk.inference.weights import Floats, Integers, Mask, log_softmax
from augenmerk.search.step_model import AttentionWeights, Memory, Source, State
from augenmerk.text.batching import Batch


class InferenceModel(ABC):
    """A translator whose weights never change; see `StepModel` for its methods."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.log_softmax = log_softmax

    @property
    @abstractmethod
    def selective(self) -> bool: ...

    @abstractmethod
    def encode(self, src: Integers, src_mask: Mask) -> Source: ...

    @abstractmethod
    def step(self, tokens: Integers, state: State, memory: Memory) -> tuple[Floats, Floats, State]: ...

    @abstractmethod
    def attention_weights(self, src: Integers, src_mask: Mask, tgt_in: Integers) -> AttentionWeights: ...

    @abstractmethod
    def target_logits(self, batch: Batch) -> Floats:
        """Returns the logits of the words after each real target token of a batch, (tokens, V)."""

    def target_log_probs(self, batch: Batch) -> Floats:
        """Returns the log-probability of each real target token of a batch."""
        log_probs = self.log_softmax(self.target_logits(batch))
        chosen: Floats = log_probs[np.arange(len(log_probs)), batch.tgt_out[batch.tgt_mask]]
        return chosen
