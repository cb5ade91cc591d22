"""Translations as lines of text: the best alone, lists of several, or JSON."""

from collections.abc import Iterator
from dataclasses import dataclass

from augenmerk.storage import format_json
from augenmerk.translate.translation import Translation


@dataclass(frozen=True)
class LineFormat:
    """How translations are written."""

    n_best: bool = False
    """A line for each alternative: the number of the sentence, the score and the text."""
    json: bool = False
    """A JSON document on a line, for each sentence, with all that is known about it."""
    subwords: bool = False
    """Whether JSON includes the subwords."""
    escape: bool = False
    """Whether JSON has escapes instead of all characters that are not ASCII."""

    def format(self, number: int, translation: Translation) -> Iterator[str]:
        """Yields the lines for the sentence with this number, counted from 1."""
        if self.json:
            yield format_json(translation.to_dict(subwords=self.subwords), escape=self.escape) + "\n"
        elif not self.n_best:
            yield f"{translation.text}\n"
        else:
            for alternative in (translation, *translation.alternatives):
                expected_chrf = alternative.expected_chrf
                score = f"{alternative.score if expected_chrf is None else expected_chrf:.4f}"
                if alternative.hypothesis is None:
                    score = ""  # an empty line; 0 would be the best of all scores
                yield f"{number}\t{score}\t{alternative.text}\n"
