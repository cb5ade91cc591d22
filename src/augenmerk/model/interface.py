"""What every architecture offers to training, search and scoring; see also `augenmerk.search.decoder`.

B sentences, K hypotheses of each, S source positions, T target positions, V entries of the vocabulary.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

import torch
from torch import Tensor, nn

from augenmerk.base.arrays import Array, all_to_numpy
from augenmerk.base.config import ModelConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.model import InferenceModel, build_inference_model, can_build
from augenmerk.search.decoder import AttentionWeights, Memory, Source, State
from augenmerk.text.batching import Batch


class TranslationModel(nn.Module, ABC):
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
    def encode(self, src: Tensor, src_mask: Tensor) -> Source:
        """Reads sources (B, S) padded to the right; the mask is True on real words."""

    @abstractmethod
    def decode(
        self, tgt_in: Tensor, source: Source, tgt_mask: Tensor | None = None, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Returns what the output layer reads for whole targets (B, T), and the weights (B, T, S).

        A mask (B, T), True on real words, says where they are needed; elsewhere they mean nothing then.
        """

    @property
    @abstractmethod
    def selective(self) -> bool:
        """Whether the largest weight tells which source word was attended to: see `Attention.selective`."""

    @abstractmethod
    def attention_weights(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor) -> AttentionWeights:
        """Returns the weights of all heads in all layers for whole targets.

        The mean of `cross` over layers and heads is what `decode` and `step` return.
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
    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, Tensor, State]:
        """Reads one more word for each hypothesis; see `StepModel.step`."""

    @abstractmethod
    def multiplications(self) -> tuple[int, int]:
        """Returns the multiply-adds that one source token and one target token need in a forward pass."""

    def for_inference(self) -> "InferenceModel | TranslationModel":
        """Returns what translates fastest with the present weights, which must not change afterwards.

        On a CPU that is a model in numpy, if it has one of our mechanisms.
        """
        if self.device.type != "cpu" or not can_build(self.config):
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
    for complaint, names in (
        ("lacks", expected.keys() - tensors.keys()),
        ("has unknown", tensors.keys() - expected.keys()),
    ):
        if names:
            raise AugenmerkError(
                f"{path} {complaint} {_list_names(names)}: it is not of the model in config.toml."
            )
    for name, tensor in expected.items():
        dtypes = {tensor.dtype, torch.float16} if tensor.is_floating_point() else {tensor.dtype}
        if tensors[name].shape != tensor.shape or tensors[name].dtype not in dtypes:
            raise AugenmerkError(
                f"{path} has {name} as {_describe(tensors[name])}, but the model in config.toml "
                f"needs {_describe(tensor)}."
            )
    module.load_state_dict(tensors)


def _describe(tensor: Tensor) -> str:
    size = " x ".join(map(str, tensor.shape)) or "a single number"
    return f"{size} ({str(tensor.dtype).removeprefix('torch.')})"


def _list_names(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{first} and {len(others)} more" if others else first
