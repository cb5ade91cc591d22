"""Where the time of decoding with numpy goes: the CPU time of each part of a model, beside its floor.

The parts of a copy of the model are wrapped in functions that switch a stopwatch over, so what is measured
knows nothing of it. One thread does all the work, and its clock does not count what others do.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.gru import GRUTranslator
from augenmerk.inference.model import InferenceModel
from augenmerk.model.interface import TranslationModel
from augenmerk.translation import Translator
from augenmerk.translation.decoding import choose_batch_size
from augenmerk.translation.loading import one_thread_per_product

Sources = Sequence[Sequence[int]]

PARTS = ("encoder", "decoder states", "attention", "output layer", "log-softmax", "search", "rest")
"""In a Transformer, decoder states include self-attention; attention is that to the source."""


class Stopwatch:
    """Adds up the CPU time of this thread for each part; a part inside another stops the outer one."""

    def __init__(self, part: str) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._part = part
        self._since = time.thread_time()

    def restart(self) -> None:
        """Forgets what was counted."""
        self.switch(self._part)
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def switch(self, part: str) -> str:
        """Counts for another part from now on, and returns the one before."""
        now = time.thread_time()
        self.seconds[self._part] += now - self._since
        before, self._part, self._since = self._part, part, now
        return before

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, with its time counted for a part."""

        def wrapped(*arguments: Any) -> Any:
            before = self.switch(part)
            try:
                return function(*arguments)
            finally:
                self.switch(before)

        return wrapped


def single_core_rate(size: int = 1024) -> float:
    """Returns the floating-point operations per second of a large product in numpy on one core.

    Measured by the CPU time of this thread. The best of many: CPU time grows when others share the caches.
    """
    a = np.random.default_rng(1).standard_normal((size, size), np.float32)
    seconds = []
    for _ in range(20):
        began = time.thread_time()
        a @ a
        seconds.append(time.thread_time() - began)
    return 2 * size**3 / min(seconds)


def profile_decoding(
    translator: Translator, model: TranslationModel, sources: Mapping[int, Sources]
) -> dict[str, Any]:
    """Returns the share of each part in the CPU time for each beam and its sources, and that of its floor.

    A floor is the time of a part's products with weights at the rate of a large product. The products of
    attention with keys and values are not in it, nor is what depends on a word alone and is computed once.
    `model` is the translator's model in torch.
    """
    if not isinstance(translator.model, InferenceModel):
        raise AugenmerkError(
            "A profile is of numpy, but this model computes with torch; use a mechanism that comes with "
            "Augenmerk."
        )
    with one_thread_per_product():
        rate = single_core_rate()
        rows = [_profile_beam(translator, model, some, beam, rate) for beam, some in sources.items()]
    return {"gflops_per_second": rate / 1e9, "beams": rows}


def _profile_beam(
    translator: Translator, model: TranslationModel, sources: Sources, beam: int, rate: float
) -> dict[str, Any]:
    settings = translator.search_settings(beam=beam, precision="fp32")
    batch_size = choose_batch_size(len(sources), beam, 1, gpu=False)
    by_length = sorted(sources, key=len)
    watch, words = Stopwatch("search"), Counter[str]()
    wrapped = _wrap_parts(translator.model, watch, words)
    profiled = Translator([wrapped], translator.tokenizers, translator.config)
    for _ in range(2):  # the first time warms up
        words.clear()
        watch.restart()
        for start in range(0, len(sources), batch_size):  # a single batch is computed in this thread
            profiled.decode(by_length[start : start + batch_size], settings, batch_size=batch_size)
        watch.switch("search")
    total = sum(watch.seconds.values())
    floors = {
        part: 2 * words[part] * multiplications / rate
        for part, multiplications in multiplications_of_parts(model).items()
    }
    return {
        "beam": beam,
        "sentences": len(sources),
        "cpu_ms_per_sentence": 1e3 * total / len(sources),
        "floor_ms_per_sentence": 1e3 * sum(floors.values()) / len(sources),
        "parts": {
            part: {"share": seconds / total, "floor_share": floors.get(part, 0.0) / total}
            for part, seconds in watch.seconds.items()
        },
    }


def _wrap_parts(model: Any, watch: Stopwatch, words: Counter[str]) -> Any:
    """Returns a copy of a model whose parts are timed, and whose source and target words are counted."""
    model = copy(model)
    if isinstance(model, GRUTranslator):
        model.attention = _wrap_attention(model.attention, watch)
        parts: dict[str, Any] = {
            "_next_states": watch.wrap("decoder states", model._next_states),
            "output": watch.wrap("output layer", model.output),
        }
    else:
        model.attentions = [_wrap_attention(attention, watch) for attention in model.attentions]
        parts = {"W_o": watch.wrap("output layer", model.W_o.__call__)}
    own_part = "rest" if isinstance(model, GRUTranslator) else "decoder states"
    encode, step = watch.wrap("encoder", model.encode), watch.wrap(own_part, model.step)

    def count_and_encode(src: Any, src_mask: Any) -> Any:
        words["encoder"] += int(src_mask.sum())
        return encode(src, src_mask)

    def count_and_step(tokens: Any, state: Any, memory: Any) -> Any:
        for part in ("decoder states", "attention", "output layer"):
            words[part] += tokens.size
        return step(tokens, state, memory)

    parts["log_softmax"] = watch.wrap("log-softmax", model.log_softmax)
    vars(model).update(parts, encode=count_and_encode, step=count_and_step)
    return model


def _wrap_attention(attention: Any, watch: Stopwatch) -> Any:
    attention = copy(attention)
    weights, mix = (watch.wrap("attention", each) for each in (attention.weights, attention.mix))
    vars(attention).update(weights=weights, mix=mix)
    return attention


def multiplications_of_parts(model: TranslationModel) -> dict[str, int]:
    """Returns the multiply-adds of each part for one source or target word of a sentence."""
    source, target = model.multiplications()
    sizes = {name: weights.numel() for name, weights in model.state_dict().items()}
    bridge = sizes.get("bridge.weight", 0)
    output = sizes["W_o.weight"] + bridge
    queries = sum(
        size
        for name, size in sizes.items()
        if name.startswith("attention") and name.endswith(("W_q.weight", "W_a.weight"))
    )
    # The gates of a GRU for a word depend on the word alone, and are computed once.
    source -= sum(sizes.get(f"encoder.{way}.0.weight_ih_l0", 0) for way in ("forwards", "backwards"))
    states = target - output - queries - sizes.get("decoder.weight_ih_l0", 0)
    config = model.config
    # The two thirds of the bridge that are for a context are multiplied with the source, or with W_a.
    output -= 2 * bridge // 3
    if bridge and "attention.W_a.weight" in sizes:
        queries += (config.embedding - config.value_size) * config.key
    elif bridge:
        source += 2 * bridge // 3
    if config.attention == "scaled-dot" and config.query_size <= config.key:  # W_q is part of W_k
        own = [size for name, size in sizes.items() if name.startswith("attention") and ".W_q" in name]
        queries -= sum(own)
        source += len(own) * config.value_size * (config.query_size - config.key)
    return {"encoder": source, "decoder states": states, "attention": queries, "output layer": output}
