"""Patterns of attention in a sentence and in a split: measured, classified, ranked and shown on a page.

`augenmerk.analysis.wording` puts them into sentences.
"""

from augenmerk.analysis.patterns.heads import (
    HeadSummary,
    check_head,
    count_heads,
    summarise_heads,
)
from augenmerk.analysis.patterns.kinds import (
    KINDS,
    Kind,
    Pattern,
    PatternMatch,
    classify_attention,
    find_patterns,
    select_strongest,
    summarise_patterns,
)
from augenmerk.analysis.patterns.measures import (
    AttentionMeasures,
    MovedWords,
    WordAttention,
    compute_measures,
    find_moved_words,
)

__all__ = [
    "KINDS",
    "AttentionMeasures",
    "HeadSummary",
    "Kind",
    "MovedWords",
    "Pattern",
    "PatternMatch",
    "WordAttention",
    "check_head",
    "classify_attention",
    "compute_measures",
    "count_heads",
    "find_moved_words",
    "find_patterns",
    "select_strongest",
    "summarise_heads",
    "summarise_patterns",
]
