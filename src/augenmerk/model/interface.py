"""What every architecture offers to training, search and scoring; see also `augenmerk.search.decoder`.

B sentences, K hypotheses of each, S source positions, T target positions, V entries of the vocabulary.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

import torch
from torch import Tensor, nn

from augenmerk.base.arrays import Array, all_to_numpy
from augenmerk.base.config import ModelConfig
from augenmerk.inference.model import InferenceModel, build_inference_model, make_misfit
from augenmerk.search.decoder import Source, StepModel
from augenmerk.text.batching import Batch


class TranslationModel(nn.Module, StepModel):
    """A sequence-to-sequence model with attention.

    For training, `encode`, `decode` and `output` compute the logits of whole targets at once. For search,
    `encode` and `step` compute one word at a time. `decode` and `step` give the same numbers, to rounding.
    """

    state_deviation: ClassVar[float] = 1.0
    """The standard deviation of queries and word representations at random weights, for trying mechanisms."""
    states_in_bf16: ClassVar[bool] = True
    """Whether they are in bf16 too if training computes in bf16."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary

    @staticmethod
    def init_attention(attention: nn.Module) -> None:
        """Initialises the mechanism for this architecture; by default it keeps torch's initial weights."""

    @abstractmethod
    def decode(
        self, tgt_in: Tensor, source: Source, tgt_mask: Tensor | None = None, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Returns what the output layer reads for whole targets (B, T), and the weights (B, T, S).

        A mask (B, T), True on real words, says where they are needed; elsewhere they mean nothing then.
        """

    @abstractmethod
    def padded_output(self, features: Tensor) -> Tensor:
        """Returns the logits of the next words, and of the entries that only pad the vocabulary."""

    def output(self, features: Tensor) -> Tensor:
        """Returns the logits (..., V) of the next words, in fp32 or better.

        The entries that only pad the vocabulary are cut off, so they can never be produced.
        """
        logits = self.padded_output(features)
        at_least_fp32 = torch.promote_types(logits.dtype, torch.float32)
        return logits[..., : self.target_vocabulary].to(at_least_fp32)

    @abstractmethod
    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds that one source token and one target token need in a forward pass."""

    def for_inference(self) -> "InferenceModel | TranslationModel":
        """Returns what translates fastest with the present weights, which must not change afterwards.

        On a CPU that is a model in numpy, if it has one of our mechanisms.
        """
        if self.device.type != "cpu" or not self.config.runs_in("numpy"):
            return self
        arrays = all_to_numpy(self.state_dict())
        return build_inference_model(
            self.config, arrays, self.source_vocabulary, self.target_vocabulary, "The model"
        )

    @torch.inference_mode()
    def target_log_probs(self, batch: Batch) -> Tensor:
        """Returns the log-probability of each real target token of a batch, in the order of its mask."""
        features, _ = self.decode(batch.tgt_in, self.encode(batch.src, batch.src_mask))
        logits = self.output(features[batch.tgt_mask])  # (real tokens, V)
        targets = batch.tgt_out[batch.tgt_mask]
        return -nn.functional.cross_entropy(logits, targets, reduction="none")

    def forward(
        self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Returns log-probabilities (B, T, V) of each next word given the words before it."""
        features, weights = self.decode(tgt_in, self.encode(src, src_mask), need_weights=need_weights)
        return self.output(features).log_softmax(dim=-1), weights

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def count_weights(*modules: nn.Module) -> int:
    """Returns the number of entries in all matrices of the modules."""
    return sum(weight.numel() for each in modules for weight in each.parameters() if weight.dim() == 2)


def find_model_class(config: ModelConfig) -> type[TranslationModel]:
    """Returns the class of the architecture that the settings name."""
    found: type[TranslationModel] = resolve_name(config.entry.torch_class)
    return found


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """Builds a model with random weights; sizes come from the settings and the tokenizers."""
    return find_model_class(config)(config, source_vocabulary, target_vocabulary)


def load_checked(module: nn.Module, arrays: Mapping[str, Array], path: Path) -> None:
    """Loads arrays, read from `path`, into a module; raises AugenmerkError if they are not its own.

    They may have been stored in half precision.
    """
    tensors = {name: torch.as_tensor(array) for name, array in arrays.items()}
    expected = module.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        found, needed = tensors.get(name), expected.get(name)
        if found is None or needed is None or found.shape != needed.shape:
            raise make_misfit(str(path), name, found, needed)
        if found.dtype != needed.dtype and not (needed.is_floating_point() and found.dtype == torch.float16):
            raise make_misfit(str(path), name, found, needed)
    module.load_state_dict(tensors)
