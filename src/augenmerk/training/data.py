"""What a run is trained on, as ids in windows, and what it is validated on after each epoch.

Training pairs are text, which is one window, or a prepared corpus.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext, PairsSum, SentencePair, is_prepared, resolve_data
from augenmerk.data.corpus import TOO_MANY_TOKENS, PreparedCorpus
from augenmerk.evaluation.evaluator import count_words, measure_loss
from augenmerk.evaluation.metrics import BleuScorer
from augenmerk.model.interface import TranslationModel
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import ParallelTokens, TokenTable, encode_pairs
from augenmerk.text.familiarity import MAX_COUNTED_SENTENCES, learn_familiarity
from augenmerk.text.tokenizer import UNK, SubwordSampler, TokenizerPair
from augenmerk.translation import Translator

GREEDY = {"beam": 1, "n_best": 1, "sample": False, "mbr": False, "candidates": None, "precision": "fp32"}
"""Search settings of validation during training, which is greedy even if the run translates with a beam."""


class TextData:
    """Training pairs that are text, all in one window; with BPE-dropout, they differ from epoch to epoch."""

    windows = 1
    """The number of windows of an epoch."""

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        self._bitext = bitext
        self._watched = bitext.watch(config.data.train)
        self._first_sources: list[str] = []
        self._sides = tokenizers.source, tokenizers.target
        self._config = config
        self._device = device
        dropout, seed = config.text.bpe_dropout, 2 * config.train.seed
        self._samplers = [
            SubwordSampler(tokenizer, dropout, seed + number)
            for number, tokenizer in enumerate(self._sides if dropout else ())
        ]
        self._encoded: tuple[int, ParallelTokens] | None = None

    @property
    def sum(self) -> PairsSum | None:
        """What pairs there are; None until the first window was read."""
        return self._watched.sum

    def read_window(self, epoch: int, window: int = 0) -> ParallelTokens:  # noqa: ARG002 (there is but one)
        """Returns the pairs of a window of an epoch; raises AugenmerkError if all are too long."""
        version = epoch if self._samplers else 0
        if self._encoded is None or self._encoded[0] != version:
            source, target = (tokenizer.encode_ids for tokenizer in self._sides)
            if self._samplers:
                source, target = (partial(sampler.encode_ids, epoch=epoch) for sampler in self._samplers)
            tokens = encode_pairs(self._read(), source, target, self._config.data.max_length)
            self._encoded = (version, tokens.to(self._device))
        return self._encoded[1]

    def describe(self) -> dict[str, Any]:
        """Returns how many pairs there are, how many were left out and why, and shares of unknown words.

        This is about the window that was read last: with BPE-dropout, in another epoch a few more or fewer
        pairs may be too long.
        """
        assert self._encoded is not None
        assert self.sum is not None
        tokens = self._encoded[1]
        kinds = Counter(bad.kind for bad in self._bitext.skipped)
        return {
            "training_pairs": len(tokens),
            "too_long": self.sum.pairs - len(tokens),
            "max_length": self._config.data.max_length,
            "skipped_lines": dict(sorted(kinds.items())),
            "unknown_source": _share_of_unknown(tokens.source),
            "unknown_target": _share_of_unknown(tokens.target),
        }

    def learn_familiarity(self) -> dict[str, Any] | None:
        """Returns what `learn_familiarity` counts in the source sentences."""
        return learn_familiarity(self._sides[0], self._sides[0].encode_ids(self._first_sources))

    def _read(self) -> Iterator[SentencePair]:
        self._first_sources = []  # kept, because the files may be others at the end of training
        for pair in self._watched:
            if len(self._first_sources) < MAX_COUNTED_SENTENCES:
                self._first_sources.append(pair.source)
            yield pair


def _share_of_unknown(table: TokenTable) -> float:
    return int((table.flat == UNK).sum()) / max(1, len(table.flat) - 1)  # the last one is padding


class PreparedData:
    """Training pairs of a prepared corpus; its methods are those of `TextData`."""

    def __init__(self, corpus: PreparedCorpus, config: RunConfig, device: torch.device) -> None:
        self._corpus = corpus
        self._config = config
        self._device = device
        self.windows = corpus.count_windows()
        self.sum = corpus.sum
        self._read: tuple[tuple[int, int], ParallelTokens] | None = None

    def read_window(self, epoch: int, window: int) -> ParallelTokens:
        if self._read is None or self._read[0] != (epoch, window):
            self._read = None  # it need not stay in memory while the next one is read
            tokens = self._corpus.read_window(self._config.train.seed, epoch, window)
            self._read = ((epoch, window), tokens.to(self._device))
        return self._read[1]

    def describe(self) -> dict[str, Any]:
        corpus = self._corpus
        left_out = {kind: count for kind, count in corpus.left_out.items() if kind != TOO_MANY_TOKENS}
        return {
            "training_pairs": corpus.pairs,
            "too_long": corpus.left_out.get(TOO_MANY_TOKENS, 0),
            "max_length": min(corpus.max_length, self._config.data.max_length),
            "skipped_lines": left_out,
            "unknown_source": corpus.unknown[0],
            "unknown_target": corpus.unknown[1],
        }

    def learn_familiarity(self) -> dict[str, Any] | None:
        sources = self._corpus.read_first_sources(MAX_COUNTED_SENTENCES)
        return learn_familiarity(self._corpus.tokenizers.source, sources)


def open_prepared(config: RunConfig) -> PreparedCorpus | None:
    """Opens the prepared corpus that the settings name; None if the data is something else."""
    bitext = resolve_data(config).data.bitext
    return PreparedCorpus.open(Path(bitext)) if is_prepared(bitext) else None


def open_training_data(
    bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
) -> TextData | PreparedData:
    """Opens the training pairs, prepared or not; raises AugenmerkError if they have another vocabulary."""
    if (corpus := open_prepared(config)) is None:
        return TextData(bitext, tokenizers, config, device)
    corpus.check_settings(config)
    corpus.check_tokenizers(tokenizers)
    return PreparedData(corpus, config, device)


def check_same_pairs(
    run: RunDirectory, bitext: Bitext, known: Mapping[str, PairsSum], found: Mapping[str, PairsSum]
) -> None:
    """Raises AugenmerkError if splits are not those that the run has used, and are known from then."""
    for split, now in found.items():
        before = known.get(split, now)
        if before.sha256 == now.sha256:
            continue
        other = f"its {now.pairs:,} pairs are others"
        if before.pairs not in (0, now.pairs):
            other = f"it has {now.pairs:,} pairs instead of {before.pairs:,}"
        remedy = "begin another run"
        if run.model_path.exists():
            command = shlex.join(["augenmerk", "train", "--from", str(run.path), "--data", bitext.name])
            remedy = f"train on it with the weights of this run: {command}"
        raise AugenmerkError(
            f"{bitext.describe(split)} is not what {run.path} was started with: {other}; restore it to "
            f"resume the run, or {remedy}."
        )


class Validation:
    """Measures loss, perplexity and, if the settings ask for it, greedy BLEU on the validation split."""

    def __init__(
        self, bitext: Bitext, tokenizers: TokenizerPair, config: RunConfig, device: torch.device
    ) -> None:
        watched = bitext.watch(config.data.validation)
        pairs = list(watched)
        assert watched.sum is not None
        self.sum = watched.sum
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no pair in '{config.data.validation}' to validate on.")
        self._tokenizers = tokenizers
        self._config = config
        self._bleu = None
        if config.train.bleu:
            references = [pair.target for pair in pairs]
            self._bleu = BleuScorer(references, lowercase=tokenizers.target.lowercase)
        self._words = count_words(pairs)
        self._sources = tokenizers.source.encode_ids([pair.source for pair in pairs])
        data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids)
        self._data = data.to(device)

    def measure(self, model: TranslationModel) -> dict[str, float]:
        """Returns the metrics of a model in evaluation mode."""
        loss = measure_loss([model], self._data)
        measured = {
            "validation_loss": loss.mean,
            "validation_perplexity": loss.perplexity,
            "validation_word_perplexity": loss.word_perplexity(self._words),
        }
        if self._bleu is not None:
            with Translator([model.for_inference()], self._tokenizers, self._config) as translator:
                found = translator.decode(self._sources, self._config.search.model_copy(update=GREEDY))
            texts = [self._tokenizers.target.decode(best[0].ids) for best in found]
            measured["validation_bleu"] = self._bleu.score(texts)
        return measured
