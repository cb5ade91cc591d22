"""How good a model is: loss and perplexity of given translations.

Loss is the mean over all real target tokens of a split, end of sentence included, of the negative natural
logarithm of their probability. It is summed over the whole split before it is divided, so batches of
different size weigh what they should. Perplexity is its exponential.

Both depend on what a token is: splitting text more finely makes each token easier. `word_perplexity`
divides the same sum by the number of words (`augenmerk.words`) and sentence ends instead, so models
with different vocabularies can be compared; only not where words were replaced by <unk>, which is
cheaper to guess than they were.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from torch import nn

from augenmerk.batching import ParallelTokens, TokenTable, encode_pairs
from augenmerk.bitext import Bitext, SentencePair, open_bitext
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import DataConfig, SearchConfig
from augenmerk.model.translator import Translator
from augenmerk.tensorfile import fit
from augenmerk.text import Codec
from augenmerk.translate import hypotheses_of
from augenmerk.words import split_words

BATCH_SIZE = 128


def open_data(config: DataConfig) -> Bitext:
    """The bitext of a run."""
    return open_bitext(
        config.bitext,
        pairs=config.pairs,
        seed=config.book,
        source_language=config.source_language,
        target_language=config.target_language,
    )


@dataclass(frozen=True)
class Loss:
    """A sum over a split, and what it can be divided by."""

    total: float
    """Negative log-probability of all target tokens, in nats."""
    tokens: int
    """Real target tokens, ends of sentences included."""

    @property
    def mean(self) -> float:
        return self.total / self.tokens

    @property
    def perplexity(self) -> float:
        return exp(self.mean)

    def word_perplexity(self, words: int) -> float:
        """Per word, given how many `count_words` counts."""
        return exp(self.total / words)


def exp(x: float) -> float:
    """Infinity instead of an error: a model can be that bad."""
    return math.exp(x) if x < 700 else math.inf


def count_words(pairs: Iterable[SentencePair]) -> int:
    """Words of the targets, and one end for each sentence."""
    return sum(len(split_words(pair.target)) + 1 for pair in pairs)


@torch.inference_mode()
def measure_loss(model: Translator, data: ParallelTokens, batch_size: int = BATCH_SIZE) -> Loss:
    """In fp32 and without dropout, whatever the model was trained in."""
    was_training = model.training
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=data.source.flat.device)
    tokens = 0
    for batch in data.batches(data.plan(batch_size, shuffle=False)):
        features, _ = model.decode(batch.tgt_in, model.encode(batch.src, batch.src_mask))
        logits = model.output(features[batch.tgt_mask])  # (real tokens, vocabulary)
        total += nn.functional.cross_entropy(logits, batch.tgt_out[batch.tgt_mask], reduction="sum")
        tokens += batch.target_tokens
    model.train(was_training)
    return Loss(float(total), tokens)


def measure_bleu(
    model: Translator,
    codec: Codec,
    sources: TokenTable,
    references: Sequence[str],
    search: SearchConfig,
) -> float:
    """BLEU of sacrebleu (13a) on detokenised text; lowercased if the model's own text is."""
    hypotheses = hypotheses_of(model, sources, search)
    texts = codec.target.decode_batch(best[0].ids for best in hypotheses)
    return float(BLEU(lowercase=codec.target.lowercase).corpus_score(texts, [list(references)]).score)


def load_translator(run: RunDirectory, device: torch.device | str = "cpu") -> Translator:
    """The model of a run, with its best weights, ready to be used."""
    codec = run.codec
    model = Translator(run.config.model, codec.source.size, codec.target.size)
    fit(model, run.load_model(), run.model_path)
    return model.to(device).eval()


def evaluate_run(run: RunDirectory, splits: Sequence[str], device: torch.device) -> list[dict[str, Any]]:
    """A row of scores for each split (validation if none is named), which the run then remembers."""
    bitext = open_data(run.config.data)
    model = load_translator(run, device)
    rows: list[dict[str, Any]] = []
    for split in splits or [run.config.data.validation]:
        pairs = list(bitext[split])
        data = encode_pairs(pairs, run.codec.source.encode_ids, run.codec.target.encode_ids)
        loss = measure_loss(model, data.to(device))
        rows.append(
            {
                "split": split,
                "loss": loss.mean,
                "perplexity": loss.perplexity,
                "word_perplexity": loss.word_perplexity(count_words(pairs)),
                "tokens": loss.tokens,
            }
        )
    kept = [row for row in run.read_scores() if row["split"] not in {row["split"] for row in rows}]
    run.write_scores([*kept, *rows])
    return rows
