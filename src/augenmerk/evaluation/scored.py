"""A scored pair as data: what `augenmerk score --json` prints and the server answers."""

from typing import Any

from augenmerk.evaluation.evaluator import Loss
from augenmerk.translation import Translation

LEFT_OUT = ("source", "translation", "score", "finished", "unfamiliar")
"""Keys of a translation that say nothing about a given target."""


def count_tokens(scored: Translation) -> int:
    """Returns the number of target tokens, the end of the sentence included."""
    return len(scored.hypothesis.token_log_probabilities) if scored.hypothesis else 0


def compute_loss(scored: Translation) -> Loss:
    """Returns the loss of a given translation."""
    return Loss(-scored.log_probability, count_tokens(scored))


def describe_score(scored: Translation, *, attention: bool = True) -> dict[str, Any]:
    """Returns a scored pair as plain data for JSON."""
    loss = compute_loss(scored)
    rest = scored.to_dict(attention=attention)
    return {
        "source": scored.source,
        "target": scored.text,
        "log_probability": scored.log_probability,
        "loss": loss.mean,
        "perplexity": loss.perplexity,
        "word_perplexity": loss.word_perplexity(len(scored.target_words)),
        "tokens": loss.tokens,
        **{key: value for key, value in rest.items() if key not in LEFT_OUT},
    }
