"""Word links drawn with characters: source words across, target words down."""

from rich.text import Text

from augenmerk.bitext import SentencePair
from augenmerk.words import split_words

_LINK = "■"
_NONE = "·"


def draw_links(pair: SentencePair, width: int) -> Text:
    """A grid that shows which words belong together or, where it would be too wide, a list that says it."""
    source, target = split_words(pair.source), split_words(pair.target)
    links = frozenset(pair.alignment or ())
    margin = max((len(word) for word in target), default=0)
    if margin + sum(len(word) + 2 for word in source) > width:
        return _list(source, target, links)
    text = Text(" " * margin)
    for word in source:
        text.append(f"  {word}", style="bold")
    for j, target_word in enumerate(target):
        text.append(f"\n{target_word:>{margin}}", style="bold")
        for i, source_word in enumerate(source):
            linked = (i, j) in links
            # Even cells have no middle; the mark stands just left of it.
            cell = (_LINK if linked else _NONE).center(len(source_word) + (len(source_word) + 1) % 2)
            text.append(f"  {cell[: len(source_word)]}", style="yellow" if linked else "dim")
    return text


def _list(source: list[str], target: list[str], links: frozenset[tuple[int, int]]) -> Text:
    margin = max((len(word) for word in source), default=0)
    text = Text()
    for i, word in enumerate(source):
        partners = [target[j] for j in range(len(target)) if (i, j) in links]
        text.append("\n" if i else "")
        text.append(f"{word:>{margin}}", style="bold")
        text.append(f"  {' '.join(partners) or _NONE}", style="yellow" if partners else "dim")
    return text
