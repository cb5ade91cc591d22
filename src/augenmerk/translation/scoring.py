"""Scores given translations: forces the models to produce them, and keeps the attention meanwhile."""

from collections.abc import Sequence
from dataclasses import replace

from augenmerk.translation.building import build_from_text
from augenmerk.translation.decoding import decode
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.translation import Translation, Words


def score_pairs(loaded: LoadedModels, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
    """Scores (source, target) pairs together."""
    settings = loaded.config.search
    ids = loaded.tokenizers.source.encode_ids([source for source, _ in pairs])
    targets = [loaded.tokenizers.target.encode(target) for _, target in pairs]
    found = decode(loaded, ids, settings, targets=[target.ids for target in targets])
    translations = []
    for (source, text), tokens, [hypothesis], target in zip(pairs, ids, found, targets, strict=True):
        length = len(hypothesis.token_log_probabilities)
        scored = replace(
            hypothesis, score=float(hypothesis.log_probability / length**settings.length_penalty)
        )
        words = Words(target.words, target.word_of)
        translations.append(build_from_text(loaded, source, len(tokens), scored, text, words))
    return translations
