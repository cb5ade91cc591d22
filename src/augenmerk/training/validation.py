"""Validation: what is measured after each epoch."""

import torch

from augenmerk.base.config import RunConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.data import Bitext
from augenmerk.evaluation.evaluator import count_words, measure_loss
from augenmerk.evaluation.metrics import BleuScorer
from augenmerk.model.interface import TranslationModel
from augenmerk.text.batching import encode_pairs
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.translation import Translator

GREEDY = {"beam": 1, "n_best": 1, "sample": False, "mbr": False, "candidates": None, "precision": "fp32"}
"""Search settings of validation during training, which is greedy even if the run translates with a beam."""


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
        self.pairs = len(pairs)
        self._bleu = None
        if config.train.bleu:
            references = [pair.target for pair in pairs]
            self._bleu = BleuScorer(references, lowercase=tokenizers.target.lowercase)
        self._words = count_words(pairs)
        self._sources = tokenizers.source.encode_ids([pair.source for pair in pairs])
        self._data = encode_pairs(pairs, tokenizers.source.encode_ids, tokenizers.target.encode_ids).to(
            device
        )

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
            texts = self._tokenizers.target.decode_batch(best[0].ids for best in found)
            measured["validation_bleu"] = self._bleu.score(texts)
        return measured
