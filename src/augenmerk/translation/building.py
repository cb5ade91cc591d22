"""Builds `Translation`s: out of sources and the hypotheses that were found for them."""

from collections.abc import Sequence
from dataclasses import replace

from augenmerk.base.arrays import to_numpy
from augenmerk.base.config import SearchConfig
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.batching import ParallelTokens
from augenmerk.text.tokenizer import UNK
from augenmerk.text.words import detokenise
from augenmerk.translation.coverage import find_uncovered
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.translation import Translation, Words

HEADS_BATCH_SIZE = 64


def build_translation(
    loaded: LoadedModels, source: str, tokens: int, hypothesis: Hypothesis, settings: SearchConfig
) -> Translation:
    """Builds the translation of a source of so many tokens; replaces unknown words if the settings say so."""
    target = loaded.tokenizers.target
    if not settings.replace_unknown or target.is_bpe or UNK not in hypothesis.ids:
        return build_from_text(loaded, source, tokens, hypothesis, target.decode(hypothesis.ids), None)
    encoded = loaded.tokenizers.source.encode(source)
    # EOS comes last in the source and must not be copied, so its weight is left out.
    attended = hypothesis.weights[:, : min(tokens, loaded.max_source_length)].argmax(1).tolist()
    words, word_of = target.words_of_ids(hypothesis.ids)
    words = tuple(
        encoded.words[encoded.word_of[index]] if i == UNK else word
        for i, word, index in zip(hypothesis.ids, words, attended, strict=False)
    )
    return build_from_text(loaded, source, tokens, hypothesis, detokenise(words), Words(words, word_of))


def build_from_text(
    loaded: LoadedModels, source: str, tokens: int, hypothesis: Hypothesis, text: str, words: Words | None
) -> Translation:
    """Builds a translation whose text is given, with its words unless they are those of the tokens."""
    # A copy, because the weights are a view of those of a whole batch, padding included.
    weights = hypothesis.weights[:, : min(tokens, loaded.max_source_length) + 1].copy()
    return Translation(
        source=source,
        text=text,
        score=hypothesis.score,
        log_probability=hypothesis.log_probability,
        expected_chrf=hypothesis.expected_chrf,
        finished=hypothesis.finished,
        truncated=tokens > loaded.max_source_length,
        uncovered=find_uncovered(weights, source, loaded.tokenizers.source) if loaded.selective else None,
        tokenizers=loaded.tokenizers,
        hypothesis=replace(hypothesis, weights=weights),
        other_words=words,
    )


def encode_translations(
    loaded: LoadedModels, translations: Sequence[Translation]
) -> tuple[list[int], ParallelTokens]:
    """Returns which of the translations have tokens, and these tokens as a model reads them, in numpy."""
    indices = [index for index, one in enumerate(translations) if one.hypothesis is not None]
    sources = loaded.tokenizers.source.encode_ids([translations[index].source for index in indices])
    targets = [one.hypothesis.ids for one in translations if one.hypothesis is not None]
    return indices, ParallelTokens.of(
        (source[: loaded.max_source_length], target) for source, target in zip(sources, targets, strict=True)
    )


def add_heads(loaded: LoadedModels, translations: Sequence[Translation]) -> list[Translation]:
    """Returns the translations with the attention of each head, in `Translation.heads`.

    The model reads each translation once more. Raises AugenmerkError if this is an ensemble.
    """
    model, added = loaded.model, list(translations)
    indices, data = encode_translations(loaded, translations)
    if not indices:
        return added
    data = loaded.prepare(data)
    for batch in data.batches(data.plan(HEADS_BATCH_SIZE, shuffle=False)):
        with loaded.computing():
            weights = model.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
        for row, index in enumerate(batch.indices.tolist()):
            one = translations[indices[index]]
            T, S = one.subword_attention.shape
            sides = (("encoder", weights.encoder, S), ("decoder", weights.decoder, T))
            added[indices[index]] = one.with_heads(
                to_numpy(weights.cross[row, :, :, :T, :S]).copy(),
                {
                    name: to_numpy(part[row, :, :, :length, :length]).copy()
                    for name, part, length in sides
                    if part is not None
                },
            )
    return added
