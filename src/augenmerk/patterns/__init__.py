"""What kind of attention there is in a sentence, and in a whole split: measured, named, ranked, shown."""

from augenmerk.patterns.kinds import KINDS, Kind, Pattern, recognise
from augenmerk.patterns.measures import Attended, Measures, measure
from augenmerk.patterns.movement import Moved, moved_words
from augenmerk.patterns.split import Finding, find_patterns, strongest, summarise

__all__ = [
    "KINDS",
    "Attended",
    "Finding",
    "Kind",
    "Measures",
    "Moved",
    "Pattern",
    "find_patterns",
    "measure",
    "moved_words",
    "recognise",
    "strongest",
    "summarise",
]
