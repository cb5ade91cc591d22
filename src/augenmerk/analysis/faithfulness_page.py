"""The page of `augenmerk faithfulness`: attention maps with the drops of each word beside them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from augenmerk.analysis.faithfulness import Faithfulness
from augenmerk.drawing import AttentionMap, Card, draw_heat_map, write_page
from augenmerk.drawing.figures import Style

NOTE = "log p: log-probability of each word, in nats; uniform, permuted: how much it drops with such weights"
WIDE = 9
"""Source words above which a map, with the columns beside it, takes the whole width of the page."""


def _make_map(one: Faithfulness) -> AttentionMap:
    """Returns the attention map of a sentence, with the log-probabilities and their drops beside it."""
    columns = {"log p": one.word_log_probabilities, **one.drops}
    extra_columns = {name: [round_drop(value) for value in values] for name, values in columns.items()}
    attention = AttentionMap.from_translation(one.translation)
    note = f"{attention.note} {NOTE}" if attention.note else NOTE
    return replace(attention, extra_columns=extra_columns, note=note)


def round_drop(value: float) -> float:
    """Rounds to two digits; adding 0.0 turns -0.0 into 0.0."""
    return round(value, 2) + 0.0


def write_faithfulness_page(
    folder: Path, chosen: Mapping[int, Faithfulness], summary: Mapping[str, Any], style: Style
) -> None:
    """Writes a numbered picture of each sentence, and a page that shows all of them."""
    split, uniform, permuted = summary["split"], summary["uniform"], summary["permuted"]
    figures, cards = [], []
    for number, (index, one) in enumerate(chosen.items(), 1):
        attention = _make_map(one)
        figures.append((f"{split}-{index}.svg", partial(draw_heat_map, [attention])))
        card = Card(
            heading=f"{number} · {split} {index}",
            maps=[replace(attention, note=AttentionMap.from_translation(one.translation).note)],
            sentences={"source": one.translation.source, "translation": one.translation.text},
            wide=len(attention.source_words) > WIDE,
        )
        cards.append(card)
    intro = (
        f"Beside each attention map: the log-probability (in nats) of each word, and how much it drops when "
        f"the attention at this word is replaced by uniform weights, or by permuted ones. "
        f"A word that loses nothing would have been predicted without this attention."
        f"\n\nSentences of {split}: {summary['sentences']:,}. A word loses {uniform['mean_drop']:.2f} on "
        f"average under uniform weights and {permuted['mean_drop']:.2f} under permuted ones. "
        f"{summary['in_words']}"
    )
    write_page(folder, style, intro, cards, figures)
