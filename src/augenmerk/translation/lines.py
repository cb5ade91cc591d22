"""Translations as lines of text: the best alone, lists of several, or JSON."""

from collections.abc import Iterator
from dataclasses import dataclass

from augenmerk.base.files import format_json
from augenmerk.translation.translation import Translation


@dataclass(frozen=True)
class LineFormat:
    """How translations are written."""

    n_best: bool = False
    """A line for each alternative: the number of the text, the score and the translation. Of a text with
    several sentences, the alternatives of each, numbered 1.1, 1.2, and so on."""
    json: bool = False
    """Each text as one line of JSON, with all that is known about it."""
    subwords: bool = False
    """Whether JSON includes the subwords."""
    escape: bool = False
    """Whether JSON has escapes instead of all characters that are not ASCII."""
    one_line: bool = True
    """Whether a translation takes one line, also where the source has a character that breaks lines."""

    def format(self, number: int | str, translation: Translation) -> Iterator[str]:
        """Yields the lines for the text with this number, counted from 1."""
        if self.json:
            yield format_json(translation.to_dict(subwords=self.subwords), escape=self.escape) + "\n"
        elif not self.n_best:
            lines = translation.text.splitlines()
            yield f"{' '.join(lines) if self.one_line else translation.text}\n"
        elif translation.sentences:
            for position, sentence in enumerate(translation.sentences, 1):
                yield from self.format(f"{number}.{position}", sentence)
        else:
            for alternative in (translation, *translation.alternatives):
                expected_chrf = alternative.expected_chrf
                score = f"{alternative.score if expected_chrf is None else expected_chrf:.4f}"
                if alternative.hypothesis is None:
                    score = ""  # an empty line; 0 would be the best of all scores
                yield f"{number}\t{score}\t{alternative.text}\n"
