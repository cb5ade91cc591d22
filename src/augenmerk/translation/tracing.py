"""Looks into a search: the beam as a tree, translations with a given beginning, likely next tokens."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augenmerk.base.arrays import to_numpy
from augenmerk.base.errors import AugenmerkError
from augenmerk.search.beam import length_limits
from augenmerk.search.decoder import PrefixDecoder
from augenmerk.search.tree import trace as trace_beam
from augenmerk.text.batching import ParallelTokens
from augenmerk.text.tokenizer import BOS, PAD, UNK
from augenmerk.translation.decoding import batch_translations, build_translation, decode, make_decoders
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.translation import Translation


def complete(loaded: LoadedModels, text: str, prefix: Sequence[int], **changes: Any) -> Translation:
    """Translates a sentence with the best translation that begins with the given ids of the target side.

    Raises AugenmerkError if one of them is no word, or if there are more than a translation may have.
    """
    settings = loaded.search_settings(**changes)
    ids = loaded.tokenizers.source.encode_ids([text])[0]
    if not ids:
        return Translation(source=text, text="")
    last = loaded.tokenizers.target.size - 1
    for each in prefix:
        if not UNK <= each <= last:
            raise AugenmerkError(f"The id {each} is none of a word: expected {UNK} to {last}.")
    [limit] = length_limits(settings, [min(len(ids), loaded.max_source_length) + 1])
    if len(prefix) >= limit:
        raise AugenmerkError(
            f"The beginning has {len(prefix)} tokens, but a translation of this sentence has at most "
            f"{limit - 1}: shorten it."
        )
    [[best, *_]] = decode(loaded, [ids], settings, prefix=prefix)
    [reason] = loaded.familiarity.judge([ids])
    return replace(build_translation(loaded, text, len(ids), best, settings), unfamiliar=reason)


def next_tokens(loaded: LoadedModels, translation: Translation, count: int) -> list[list[tuple[int, float]]]:
    """Returns the likeliest tokens at the position of each target token, best first, with probabilities."""
    if translation.hypothesis is None:
        return []
    never = [PAD, BOS] if loaded.config.search.allow_unknown else [PAD, BOS, UNK]
    [(_, batch)] = batch_translations(loaded, [translation], 1)
    found = []
    with loaded.computing():
        [decoder] = make_decoders(loaded, batch, loaded.config.search)
        state = decoder.start()
        for position in range(len(translation.hypothesis.token_log_probabilities)):
            log_probs, _, state = decoder.step(batch.tgt_in[:, position : position + 1], state)
            probabilities = np.exp(to_numpy(log_probs[0, 0]))
            probabilities[never] = -1.0
            best = np.argsort(-probabilities, kind="stable")[:count]
            found.append([(int(token), float(probabilities[token])) for token in best])
    return found


def trace(loaded: LoadedModels, text: str, *, prefix: Sequence[int] = (), **changes: Any) -> dict[str, Any]:
    """Returns the whole beam search of a sentence as a tree: `BeamTrace.to_json` with readable tokens.

    All hypotheses begin with the ids of `prefix`.
    """
    settings = loaded.search_settings(**changes).model_copy(update={"mbr": False})
    ids = loaded.tokenizers.source.encode_ids([text])[0][: loaded.max_source_length]
    data = loaded.prepare(ParallelTokens.of([(ids, ())]))
    [batch] = data.batches(data.plan(1, shuffle=False))
    with loaded.computing():
        [decoder] = make_decoders(loaded, batch, settings)
        limits = length_limits(settings, batch.src_lengths.tolist())
        [beam] = trace_beam(PrefixDecoder(decoder, prefix), settings, limits)
    tree = beam.to_json()
    for node in tree["nodes"]:
        node["text"] = loaded.tokenizers.target.token(node["token"])
    for hypothesis in tree["hypotheses"]:
        hypothesis["translation"] = loaded.tokenizers.target.decode(hypothesis["ids"])
    return {"source": text, **tree}
