"""Which words changed their place on the way to the other language, and how far they went.

Of the clear links in the order of the target, as many as possible that never go back in the source are taken
to have stayed; the others moved. Where words are to move that stand together on both sides, they move as one.
How far: over so many source words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from augenmerk.patterns.measures import Attended, is_mark

Link = tuple[int, int, float]


@dataclass(frozen=True)
class Moved:
    """Source words and the target words that attend to them, which stand elsewhere in their sentence."""

    links: tuple[tuple[int, int], ...]
    """(source word, target word)."""
    places: int
    """How many source words lie between where it stands and where it is said."""
    earlier: bool
    """Whether it is said earlier in the target than in the source, rather than later."""
    weight: float
    """The mean weight of its links."""
    closes_clause: bool
    """Whether it stands last before a mark or the end of the source: where German keeps its verbs."""

    @property
    def source(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(t for t, _ in self.links))

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(j for _, j in self.links)


def moved_words(attended: Attended) -> list[Moved]:
    """The farthest first."""
    links = attended.clear_links()
    stayed = _staying([t for t, _, _ in links])
    kept = [link for number, link in enumerate(links) if number in stayed]
    movers = [link for number, link in enumerate(links) if number not in stayed]
    moved = [_moved(block, kept, attended.source) for block in _blocks(movers)]
    return sorted(moved, key=lambda one: -one.places)


def _staying(places: Sequence[int]) -> set[int]:
    """The longest part of the sequence that never decreases; of equally long ones the latest, so that where
    two change places, the one brought forward is said to have moved."""
    length = [1] * len(places)
    before = [-1] * len(places)
    for here, place in enumerate(places):
        for there in range(here):
            if places[there] <= place and length[there] + 1 >= length[here]:
                length[here], before[here] = length[there] + 1, there
    stayed: set[int] = set()
    here = max(range(len(places)), key=lambda number: (length[number], number), default=-1)
    while here >= 0:
        stayed.add(here)
        here = before[here]
    return stayed


def _blocks(movers: Sequence[Link]) -> list[list[Link]]:
    blocks: list[list[Link]] = []
    for link in movers:
        if blocks and link[1] == blocks[-1][-1][1] + 1 and 0 <= link[0] - blocks[-1][-1][0] <= 1:
            blocks[-1].append(link)
        else:
            blocks.append([link])
    return blocks


def _moved(block: Sequence[Link], kept: Sequence[Link], words: Sequence[str]) -> Moved:
    first, j, _ = block[0]
    last = block[-1][0]
    before = max((place for place, row, _ in kept if row < j), default=-1)
    over = min((place for place, row, _ in kept if row > j), default=first)
    # What stayed never goes back. So a word that is said before one that stood before it was brought forward
    # over all that follows the word it is now said after; if not, it waited until that word had passed.
    earlier = over < first
    return Moved(
        links=tuple((place, row) for place, row, _ in block),
        places=first - min(over, before + 1) if earlier else before - last,
        earlier=earlier,
        weight=sum(weight for _, _, weight in block) / len(block),
        closes_clause=last + 1 == len(words) or is_mark(words[last + 1]),
    )
