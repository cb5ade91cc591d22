"""Decodes with models that have no vocabulary: ids in, hypotheses out."""

from collections.abc import Sequence
from typing import Any, cast

from augenmerk.base.config import RunConfig, SearchConfig
from augenmerk.model.interface import TranslationModel
from augenmerk.search import beam, tree
from augenmerk.search.decoder import Decoder, Hypothesis
from augenmerk.text.tokenizer import TokenizerPair
from augenmerk.translation import Translator


def translator_of(models: Sequence[TranslationModel], threads: int = 1, *, torch: bool = False) -> Translator:
    """Returns a translator that computes with numpy or, if that is asked for, with torch."""
    no_tokenizers = cast(TokenizerPair, None)  # decoding ids needs none
    computing = [model.eval() if torch else model.eval().for_inference() for model in models]
    return Translator(computing, no_tokenizers, RunConfig(), threads=threads)


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


def _prepare(decoder: Decoder, max_lengths: int | Sequence[int], settings: Any) -> tuple[Any, list[int]]:
    limits = [max_lengths] * decoder.sentences if isinstance(max_lengths, int) else list(max_lengths)
    return SearchConfig.model_construct(**settings), limits


def search(decoder: Decoder, *, max_lengths: int | Sequence[int], **settings: Any) -> list[list[Hypothesis]]:
    return beam.search(decoder, *_prepare(decoder, max_lengths, settings))


def trace(decoder: Decoder, *, max_lengths: int | Sequence[int], **settings: Any) -> list[tree.BeamTrace]:
    return tree.trace(decoder, *_prepare(decoder, max_lengths, settings))


def sample(
    decoder: Decoder,
    *,
    max_lengths: int | Sequence[int],
    numbers: Sequence[int] | None = None,
    n: int = 1,
    **settings: Any,
) -> list[list[Hypothesis]]:
    config, limits = _prepare(decoder, max_lengths, {"sample": True, "n_best": n, **settings})
    return beam.sample(decoder, config, limits, range(len(limits)) if numbers is None else numbers)
