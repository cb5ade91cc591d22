"""BLEU of a corpus."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from augenmerk.lab.outcomes import Case, Draw


def bleu(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
) -> float:
    matches, totals = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
            theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
            matches[n - 1] += sum((ours & theirs).values())
            totals[n - 1] += sum(ours.values())
    length, wanted = sum(map(len, hypotheses)), sum(map(len, references))
    if min(matches) == 0:
        return 0.0
    mean = math.exp(sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / 4)
    brevity = 1.0 if length > wanted else math.exp(1 - wanted / length)
    return 100 * brevity * mean


WORDS = "the a dog cat man sees runs on grass red".split()


def make_cases(draw: Draw) -> Iterator[Case]:
    def sentence(least: int, most: int) -> list[str]:
        return [draw.random.choice(WORDS) for _ in range(draw.size(least, most))]

    def translate(reference: list[str], changes: int) -> list[str]:
        words = list(reference)
        for _ in range(changes):
            words[draw.random.randrange(len(words))] = draw.random.choice(WORDS)
        return words

    four = "the red dog runs".split()
    yield Case("the same sentence", ([four + four[:1]], [four + four[:1]]))
    yield Case("too short", ([four], [[*four, *sentence(2, 3)]]))
    yield Case("too long", ([[*four, *sentence(2, 3)]], [four]))
    yield Case("a repeated phrase", ([four + four + four], [[*four, *sentence(5, 6), *four[:2]]]))
    yield Case("nothing in common", ([["red", "grass", "on", "a", "man"]], [four]))
    references = [sentence(7, 12) for _ in range(3)]
    yield Case("several sentences", ([translate(each, 1) for each in references], references))
    cut = [translate(each, 1)[: len(each) - number] for number, each in enumerate(references)]
    yield Case("several sentences, some too short", (cut, references))
    twice = [[*each[:5], *each[:4], *each[5:]] for each in references]
    yield Case("several sentences, some with repeated words", (twice, references))
    yield Case("a short sentence among long ones", ([["a", "dog"], *cut], [["the", "dog"], *references]))
    yield Case("an empty translation among others", ([[], *cut], [four, *references]))
    yield Case("nothing but empty translations", ([[]], [four]))
