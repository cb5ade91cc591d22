"""Texts of several sentences: taken apart before a model translates them, and put together again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from augenmerk.text.sentences import Span, is_one_sentence, replace_sentences, sentence_spans
from augenmerk.translation.translation import Translation

NEXT_SENTENCE = 1 << 32
"""Added for each sentence of a text to the number that its samples depend on."""


@dataclass(frozen=True)
class Text:
    """A text and the spans of its sentences, which are translated one by one."""

    source: str
    spans: Sequence[Span] = ()
    """Empty if the text is one sentence, which is translated as it is."""

    @classmethod
    def of(cls, source: str, language: str | None) -> "Text":
        """Splits a text in a language; one sentence with line breaks or marks around it is one, too."""
        spans = sentence_spans(source, language)
        return cls(source, () if is_one_sentence(source, spans) else spans)

    @property
    def sentences(self) -> list[str]:
        return [self.source[start:end] for start, end in self.spans] or [self.source]

    def numbers(self, number: int) -> list[int]:
        """Returns a number for the samples of each sentence; for the first it is that of the text."""
        return [number + index * NEXT_SENTENCE for index in range(len(self.sentences))]

    def join(self, translations: Sequence[Translation]) -> Translation:
        """Returns the translation of the text, made of those of its sentences.

        Its alternatives are made of the sentences' alternatives of the same rank; where a sentence has fewer,
        its last one is repeated.
        """
        if not self.spans:
            [translation] = translations
            return translation
        ranked = [(one, *one.alternatives) for one in translations]
        best, *others = (
            self._join([one[min(rank, len(one) - 1)] for one in ranked])
            for rank in range(max(map(len, ranked)))
        )
        return replace(best, alternatives=tuple(others))

    def _join(self, sentences: Sequence[Translation]) -> Translation:
        expected = [one.expected_chrf for one in sentences if one.expected_chrf is not None]
        return Translation(
            source=self.source,
            text=replace_sentences(self.source, self.spans, [one.text for one in sentences]),
            score=sum(one.score for one in sentences) / len(sentences),
            log_probability=sum(one.log_probability for one in sentences),
            expected_chrf=sum(expected) / len(expected) if expected else None,
            finished=all(one.finished for one in sentences),
            truncated=any(one.truncated for one in sentences),
            unfamiliar=next((one.unfamiliar for one in sentences if one.unfamiliar), None),
            uncovered=" … ".join(one.uncovered for one in sentences if one.uncovered) or None,
            sentences=tuple(sentences),
        )


def split_into_texts(lines: Sequence[str], language: str | None, *, split: bool) -> list[Text]:
    """Returns the lines as texts; each is one sentence unless they are split."""
    return [Text.of(line, language) if split else Text(line) for line in lines]
