"""What all architectures in numpy have in common."""

from abc import abstractmethod

import numpy as np

from augenmerk.base.config import ModelConfig
from augenmerk.inference.weights import Floats, log_softmax
from augenmerk.search.step_model import StepModel
from augenmerk.text.batching import Batch


class InferenceModel(StepModel):
    """A translator whose weights never change."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.log_softmax = log_softmax

    @abstractmethod
    def target_logits(self, batch: Batch) -> Floats:
        """Returns the logits of the words after each real target token of a batch, (tokens, V)."""

    def target_log_probs(self, batch: Batch) -> Floats:
        """Returns the log-probability of each real target token of a batch."""
        log_probs = self.log_softmax(self.target_logits(batch))
        chosen: Floats = log_probs[np.arange(len(log_probs)), batch.tgt_out[batch.tgt_mask]]
        return chosen
