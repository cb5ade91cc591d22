"""Decodes with models that have no vocabulary: ids in, hypotheses out."""

from collections.abc import Sequence
from typing import cast

from augenmerk.config import RunConfig, SearchConfig
from augenmerk.model import TranslationModel
from augenmerk.search import Hypothesis
from augenmerk.text import TokenizerPair
from augenmerk.translate import Translator


def translator_of(models: Sequence[TranslationModel], threads: int = 1) -> Translator:
    no_tokenizers = cast(TokenizerPair, None)  # decoding ids needs none
    return Translator([model.eval() for model in models], no_tokenizers, RunConfig(), threads=threads)


def decode(
    models: Sequence[TranslationModel],
    sources: Sequence[Sequence[int]],
    settings: SearchConfig,
    batch_size: int | None = None,
) -> list[list[Hypothesis]]:
    with translator_of(models) as translator:
        return translator.decode(sources, settings, batch_size=batch_size)


def score(
    models: Sequence[TranslationModel], sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[Hypothesis]:
    with translator_of(models) as translator:
        return [found for [found] in translator.decode(sources, SearchConfig(), targets=targets)]
