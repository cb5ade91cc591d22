"""Translates text with trained models; everything in Augenmerk that decodes uses `Translator`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

from augenmerk.base.arrays import to_numpy
from augenmerk.base.config import RunConfig, SearchConfig
from augenmerk.base.device import CPU, choose_translating_device, count_threads
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.inference import InferenceModel, build_inference_model, can_build
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.search import (
    Decoder,
    EnsembleDecoder,
    Hypothesis,
    PrefixDecoder,
    force,
    length_limits,
    sample,
    search,
    trace,
)
from augenmerk.text.batching import Batch, ParallelTokens, TokenTable
from augenmerk.text.familiarity import Familiarity
from augenmerk.text.tokenizer import BOS, PAD, UNK, TokenizerPair
from augenmerk.text.words import detokenise
from augenmerk.translation.coverage import find_uncovered
from augenmerk.translation.decoding import ModelDecoder, ThreadPool, choose_batch_size, compute_on_one_core
from augenmerk.translation.mbr import minimum_bayes_risk
from augenmerk.translation.texts import split_into_texts
from augenmerk.translation.translation import Translation, Words

if TYPE_CHECKING:
    import torch

    from augenmerk.model import TranslationModel

CHUNK_LINES = 2000
CHUNK_CHARACTERS = 200_000
"""A stream is translated in chunks of at most about this many lines and characters. A chunk is large enough
to batch sentences of similar length, and only one is in memory at a time."""

HEADS_BATCH_SIZE = 64

OnProgress = Callable[[int], None]
"""A callback that receives the number of sentences done so far."""


def load(
    run: Path | str | Sequence[Path | str] = BUNDLED_MODEL, device: "torch.device | str" = CPU
) -> "Translator":
    """Loads a trained run for translating; several runs translate together as an ensemble.

    Without a run, loads the small German-English model that ships with the package. The settings for the
    search are those of the first run.
    """
    paths = [run] if isinstance(run, Path | str) else run
    if not paths:
        raise AugenmerkError("There is no run to load: name one, or several for an ensemble.")
    if isinstance(device, str):
        device = choose_translating_device(device)
    return Translator.from_runs([RunDirectory.open(Path(path)) for path in paths], device)


def load_model(run: RunDirectory, device: "torch.device | str" = CPU) -> "TranslationModel":
    """Loads the model of a run with its best weights as a model of torch, in evaluation mode."""
    from augenmerk.model import build_model
    from augenmerk.model.custom import check_recorded
    from augenmerk.model.weights import load_checked

    check_recorded(run.config.model.attention, run.read_code(), run.path)
    tokenizers = run.tokenizers
    model = build_model(run.config.model, tokenizers.source.size, tokenizers.target.size)
    load_checked(model, run.load_model(), run.model_path)
    return model.to(device).eval()


def _load_without_torch(run: RunDirectory) -> InferenceModel:
    """Loads the model of a run with its best weights as a model of numpy."""
    tokenizers = run.tokenizers
    sizes = tokenizers.source.size, tokenizers.target.size
    return build_inference_model(run.config.model, run.load_model(), *sizes, str(run.model_path))


def _check_vocabularies(runs: Sequence[RunDirectory]) -> None:
    """Raises AugenmerkError if runs cannot translate together.

    On the target side their probabilities are averaged, on the source side their attention, so both
    vocabularies have to be the same.
    """
    first, *others = runs
    for other in others:
        for side in ("source", "target"):
            if getattr(first.tokenizers, side).to_json() != getattr(other.tokenizers, side).to_json():
                raise AugenmerkError(
                    f"{first.path} and {other.path} cannot translate together: their {side} vocabularies "
                    f"differ; an ensemble needs runs trained on the same sentences with the same [text] "
                    f"settings."
                )


class Translator:
    """Translates text with a trained model, or with an ensemble of several.

    On a CPU the models compute with numpy; on a GPU, or with an attention mechanism of a person's own, with
    torch. Several threads may use one translator at once. It prepares its models and starts its threads once;
    the weights of its models must not change afterwards.
    """

    def __init__(
        self,
        models: "Sequence[InferenceModel | TranslationModel]",
        tokenizers: TokenizerPair,
        config: RunConfig,
        *,
        runs: Sequence[RunDirectory] = (),
        familiarity: Familiarity | None = None,
        threads: int | None = None,
        batch_threads: int | None = None,
    ) -> None:
        """The models are all of numpy or all of torch; `runs` are those that they were loaded from.

        Sentences are put into batches for `batch_threads` threads, by default those that there are. The batch
        decides about the last bits of a score, so a part of a text has those that it has in the whole.
        """
        self.models = tuple(models)
        self.tokenizers = tokenizers
        self.config = config
        self.runs = runs
        self._familiarity = familiarity
        self._selective = all(model.selective for model in self.models)
        self.device = CPU
        """The device as torch names it."""
        of_torch = [model for model in self.models if not isinstance(model, InferenceModel)]
        self.uses_torch = bool(of_torch)
        """Whether the models are of torch rather than of numpy."""
        if of_torch:
            import torch

            if any(model.training for model in of_torch):
                raise ValueError("a model that translates must be in evaluation mode: call model.eval()")
            self.device = str(of_torch[0].device)
            if self._on_gpu:
                # With TF32, GRUs would round to ten bits, and samples would differ from those of the CPU.
                torch.backends.cudnn.allow_tf32 = False
        self._rounded: tuple[InferenceModel, ...] = ()
        self._rounding = Lock()
        self._pool = ThreadPool(threads or count_threads(), torch=self.uses_torch)
        self._batch_threads = batch_threads

    @classmethod
    def from_runs(
        cls,
        runs: Sequence[RunDirectory],
        device: "torch.device | str" = CPU,
        *,
        threads: int | None = None,
        batch_threads: int | None = None,
    ) -> Self:
        """Loads runs that translate together. Raises AugenmerkError if their vocabularies differ."""
        _check_vocabularies(runs)
        models: Sequence[InferenceModel | TranslationModel]
        if str(device) == CPU and all(can_build(run.config.model) for run in runs):
            models = [_load_without_torch(run) for run in runs]
        else:
            models = [load_model(run, device) for run in runs]
        return cls._of_models(models, runs, threads, batch_threads)

    @classmethod
    def of(cls, translators: "Sequence[Translator]", *, threads: int | None = None) -> Self:
        """Returns an ensemble of loaded runs, whose models it shares; raises as `from_runs`."""
        runs = [run for translator in translators for run in translator.runs]
        _check_vocabularies(runs)
        return cls._of_models([translator.model for translator in translators], runs, threads)

    @classmethod
    def _of_models(
        cls,
        models: "Sequence[InferenceModel | TranslationModel]",
        runs: Sequence[RunDirectory],
        threads: int | None,
        batch_threads: int | None = None,
    ) -> Self:
        first = runs[0]
        longest = min(run.config.data.max_length for run in runs)
        data = first.config.data.model_copy(update={"max_length": longest})
        config = first.config.model_copy(update={"data": data})
        familiarity = Familiarity.of_run(first.tokenizers.source, first.read_familiarity(), first.path)
        return cls(
            models,
            first.tokenizers,
            config,
            runs=runs,
            familiarity=familiarity,
            threads=threads,
            batch_threads=batch_threads,
        )

    @property
    def model(self) -> "InferenceModel | TranslationModel":
        """The only model; raises AugenmerkError if this is an ensemble."""
        if len(self.models) > 1:
            raise AugenmerkError(
                f"This needs one model, but {len(self.models)} are loaded as an ensemble: load a single run."
            )
        return self.models[0]

    @cached_property
    def torch_model(self) -> "TranslationModel":
        """The only model as one of torch, loaded when it is first asked for."""
        model = self.model
        if not isinstance(model, InferenceModel):
            return model
        if not self.runs:
            raise ValueError("this translator was given a model of numpy: give it one of torch")
        return load_model(self.runs[0])

    def models_in(self, precision: str) -> "Sequence[InferenceModel | TranslationModel]":
        """Returns the models in a precision; in int8, they are made when they are first asked for."""
        if precision == "fp32":
            return self.models
        with self._rounding:
            if not self._rounded:
                from augenmerk.inference.int8 import round_weights

                self._rounded = tuple(
                    round_weights(model) for model in self.models if isinstance(model, InferenceModel)
                )
        return self._rounded

    @property
    def _on_gpu(self) -> bool:
        return self.device != CPU

    def prepare(self, data: ParallelTokens) -> ParallelTokens:
        """Returns tokens as the models read them: in numpy, or in torch on the device of the models."""
        return data.to(self.device) if self.uses_torch else data

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """A context to compute in, which each thread enters for itself and leaves before it waits."""
        with compute_on_one_core():
            if not self.uses_torch:
                yield
                return
            import torch

            with torch.inference_mode():
                yield

    @property
    def language(self) -> str | None:
        """The language that is translated from, if the settings tell."""
        return self.config.data.languages[0]

    @property
    def max_source_length(self) -> int:
        """The number of source tokens that are read; the rest is cut, since no model was trained on more."""
        return self.config.data.max_length

    @overload
    def translate(
        self,
        text: str,
        *,
        heads: bool = False,
        numbers: Sequence[int] | None = None,
        split_sentences: bool = True,
        on_progress: OnProgress | None = None,
        **changes: Any,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: list[str] | tuple[str, ...],
        *,
        heads: bool = False,
        numbers: Sequence[int] | None = None,
        split_sentences: bool = True,
        on_progress: OnProgress | None = None,
        **changes: Any,
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | list[str] | tuple[str, ...],
        *,
        heads: bool = False,
        numbers: Sequence[int] | None = None,
        split_sentences: bool = True,
        on_progress: OnProgress | None = None,
        **changes: Any,
    ) -> Translation | list[Translation]:
        """Translates a text, or a list of texts, which is faster than one by one.

        Models translate single sentences, so each text is split into its sentences
        (`augenmerk.text.sentences`); `Translation.sentences` has theirs if there are several. Without
        `split_sentences`, each text is taken as one sentence. With `heads`, the translations have the
        attention of each head. Samples depend on the `numbers` of the texts, which are counted from 0 by
        default. The other keywords are settings of `SearchConfig`, such as beam=5, and replace those of the
        run.
        """
        texts = [text] if isinstance(text, str) else _list_sentences(text)
        found = self.stream(
            texts,
            heads=heads,
            numbers=numbers,
            split_sentences=split_sentences,
            on_progress=on_progress,
            **changes,
        )
        return next(found) if isinstance(text, str) else list(found)

    def stream(
        self,
        lines: Iterable[str | None],
        *,
        heads: bool = False,
        numbers: Sequence[int] | None = None,
        split_sentences: bool = False,
        on_progress: OnProgress | None = None,
        **changes: Any,
    ) -> Iterator[Translation]:
        """Translates any number of lines in order and in bounded memory; keywords as for `translate`.

        Each line is one sentence unless `split_sentences` is true. Lines are collected and translated
        together. None among the lines is no line: it asks for the translations of all lines before it,
        because the next line may not come for a while.
        """
        if isinstance(lines, str | bytes):
            raise TypeError(
                "stream takes many sentences, such as a list or a file; translate takes a single one."
            )
        settings = self.search_settings(**changes)
        done = sentences_done = 0
        for chunk in self.chunks(lines, settings):
            texts = split_into_texts(chunk, self.language, split=split_sentences)
            translations = iter(
                self._translate_sentences(
                    [sentence for text in texts for sentence in text.sentences],
                    settings,
                    numbers=[
                        number
                        for place, text in enumerate(texts, done)
                        for number in text.numbers(numbers[place] if numbers else place)
                    ],
                    heads=heads,
                    on_progress=on_progress and partial(_add_progress, on_progress, sentences_done),
                )
            )
            for text in texts:
                yield text.join(list(islice(translations, len(text.sentences))))
            done += len(chunk)
            sentences_done += sum(len(text.sentences) for text in texts)

    def _translate_sentences(
        self,
        sentences: Sequence[str],
        settings: SearchConfig,
        *,
        numbers: Sequence[int],
        heads: bool,
        on_progress: OnProgress | None,
    ) -> list[Translation]:
        """Translates sentences together; an empty one has no tokens, and stays empty."""
        ids = self.tokenizers.source.encode_ids(sentences)
        indices = [index for index in range(len(sentences)) if ids[index]]
        found = self.decode(
            [ids[index] for index in indices],
            settings,
            numbers=[numbers[index] for index in indices],
            on_progress=on_progress,
        )
        all_ranked = [
            [self._to_translation(sentences[index], len(ids[index]), one, settings) for one in ranked]
            for index, ranked in zip(indices, found, strict=True)
        ]
        if heads:
            with_heads = iter(self.add_heads([one for ranked in all_ranked for one in ranked]))
            all_ranked = [list(islice(with_heads, len(ranked))) for ranked in all_ranked]
        translations = [Translation(source=text, text="") for text in sentences]
        reasons = (self._familiarity or Familiarity(self.tokenizers.source)).judge(ids)
        for index, (best, *others) in zip(indices, all_ranked, strict=True):
            translations[index] = replace(best, alternatives=tuple(others), unfamiliar=reasons[index])
        return translations

    def chunks(self, lines: Iterable[str | None], settings: SearchConfig) -> Iterator[list[str]]:
        """Yields the lines in the chunks in which `stream` translates them."""
        most = max(1, CHUNK_LINES // (settings.hypotheses * len(self.models)))
        return _split_into_chunks(lines, most, _count_characters)

    def add_heads(self, translations: Sequence[Translation]) -> list[Translation]:
        """Returns the translations with the attention of each head, in `Translation.heads`.

        The model reads each translation once more. Raises AugenmerkError if this is an ensemble.
        """
        model, added = self.model, list(translations)
        places, data = self.encode_translations(translations)
        if not places:
            return added
        data = self.prepare(data)
        for batch in data.batches(data.plan(HEADS_BATCH_SIZE, shuffle=False)):
            with self._computing():
                weights = model.attention_weights(batch.src, batch.src_mask, batch.tgt_in)
            for row, index in enumerate(batch.indices.tolist()):
                one = translations[places[index]]
                T, S = one.subword_attention.shape
                added[places[index]] = one.with_heads(
                    to_numpy(weights.cross[row, :, :, :T, :S]).copy(),
                    {
                        name: to_numpy(part[row, :, :, :length, :length]).copy()
                        for name, part, length in (
                            ("encoder", weights.encoder, S),
                            ("decoder", weights.decoder, T),
                        )
                        if part is not None
                    },
                )
        return added

    def encode_translations(self, translations: Sequence[Translation]) -> tuple[list[int], ParallelTokens]:
        """Returns which of the translations have tokens, and these tokens as a model reads them, in numpy."""
        places = [place for place, one in enumerate(translations) if one.hypothesis is not None]
        sources = self.tokenizers.source.encode_ids([translations[place].source for place in places])
        targets = [one.hypothesis.ids for one in translations if one.hypothesis is not None]
        pairs = zip(sources, targets, strict=True)
        return places, ParallelTokens.of(
            (source[: self.max_source_length], target) for source, target in pairs
        )

    def search_settings(self, **changes: Any) -> SearchConfig:
        """Returns the run's search settings with some changed; raises if the model cannot follow them."""
        settings = self.config.search.replaced(changes, "Search settings")
        for model in self.models:
            if settings.replace_unknown and not model.selective:
                raise AugenmerkError(
                    f"The attention of this model is '{model.config.attention}', which does not tell from "
                    f"which source word an unknown word comes: none can be replaced."
                )
        if settings.precision == "int8":
            if self.uses_torch:
                raise AugenmerkError(
                    "The precision int8 is for CPUs, and for mechanisms that come with Augenmerk; this model "
                    "computes with torch: translate in fp32, or with --device cpu."
                )
            from augenmerk.inference.int8 import check_installed

            check_installed()
        return settings

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        settings: SearchConfig,
        *,
        targets: Sequence[Sequence[int]] | None = None,
        prefix: Sequence[int] = (),
        numbers: Sequence[int] | None = None,
        batch_size: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[list[Hypothesis]]:
        """Finds the best hypotheses for each source, best first.

        Sources are ids without EOS; only the first `max_source_length` of each are read. If `targets` are
        given, they are scored, and nothing is searched for. Otherwise all hypotheses begin with the ids of
        `prefix`. Samples depend on the `numbers` of the sentences, which are counted from 0 by default.
        """
        if not len(sources):
            return []
        table = TokenTable.of(ids[: self.max_source_length] for ids in sources)
        data = self.prepare(ParallelTokens(table, TokenTable.of([()] * len(sources))))
        width = 1 if targets else settings.hypotheses if settings.sample else settings.beam

        def decode(batch: Batch) -> list[list[Hypothesis]]:
            with self._computing():
                return self._decode_batch(settings, targets, prefix, numbers, batch)

        found: list[list[Hypothesis]] = [[] for _ in sources]
        done = 0
        with self._pool.share() as threads:
            if batch_size is None:
                threads = self._batch_threads or threads
                batch_size = choose_batch_size(len(sources), width, threads, gpu=self._on_gpu)
            # Sources of similar length share a batch, because they are done at about the same time. The
            # longest come first, so that no core waits long for another at the end.
            batches = list(data.batches(data.plan(batch_size, shuffle=False)[::-1]))
            results = map(decode, batches) if self._on_gpu else self._pool.map(decode, batches)
            for batch, hypotheses in zip(batches, results, strict=True):
                for index, each in zip(batch.indices.tolist(), hypotheses, strict=True):
                    found[index] = each
                done += len(hypotheses)
                if on_progress is not None:
                    on_progress(done)
        return found

    def _decode_batch(
        self,
        settings: SearchConfig,
        targets: Sequence[Sequence[int]] | None,
        prefix: Sequence[int],
        numbers: Sequence[int] | None,
        batch: Batch,
    ) -> list[list[Hypothesis]]:
        decoders = self._decoders(batch, settings)
        if len(decoders) > 1 and not (settings.mbr and targets is None):
            decoders = [EnsembleDecoder(decoders)]
        if prefix:
            decoders = [PrefixDecoder(decoder, prefix) for decoder in decoders]
        indices = batch.indices.tolist()
        if targets is not None:
            return [[each] for each in force(decoders[0], [targets[index] for index in indices])]
        limits = length_limits(settings, batch.src_lengths.tolist())
        lists = []
        for decoder in decoders:  # several only for MBR, where each model has a list of its own
            if settings.sample:
                hypotheses = sample(
                    decoder,
                    seed=settings.seed,
                    numbers=[numbers[index] for index in indices] if numbers else indices,
                    n=settings.hypotheses,
                    temperature=settings.temperature,
                    top_k=settings.top_k,
                    max_lengths=limits,
                    allow_unknown=settings.allow_unknown,
                )
            else:
                hypotheses = search(
                    decoder,
                    beam=settings.beam,
                    n_best=settings.hypotheses,
                    length_penalty=settings.length_penalty,
                    max_lengths=limits,
                    allow_unknown=settings.allow_unknown,
                )
            lists.append(hypotheses)
        if not settings.mbr:
            return lists[0]
        return [
            minimum_bayes_risk(each, self.tokenizers.target, sampled=settings.sample)[: settings.n_best]
            for each in zip(*lists, strict=True)
        ]

    def _decoders(self, batch: Batch, settings: SearchConfig) -> list[Decoder]:
        models = self.models_in(settings.precision)
        return [ModelDecoder(model, model.encode(batch.src, batch.src_mask)) for model in models]

    def score(self, source: str, target: str, *, heads: bool = False) -> Translation:
        """Scores a given translation, and records the attention while the model reads it."""
        return next(self.score_stream([(source, target)], heads=heads))

    def score_all(self, pairs: Sequence[tuple[str, str]], *, heads: bool = False) -> list[Translation]:
        """Scores many (source, target) pairs, which is faster than one by one."""
        return list(self.score_stream(pairs, heads=heads))

    def score_stream(
        self, pairs: Iterable[tuple[str, str] | None], *, heads: bool = False
    ) -> Iterator[Translation]:
        """Scores any number of pairs in order and in bounded memory; None as in `stream`."""
        for chunk in _split_into_chunks(pairs, CHUNK_LINES, _count_pair):
            scored = self._score(chunk)
            yield from self.add_heads(scored) if heads else scored

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        settings = self.config.search
        ids = self.tokenizers.source.encode_ids([source for source, _ in pairs])
        targets = [self.tokenizers.target.encode(target) for _, target in pairs]
        found = self.decode(ids, settings, targets=[target.ids for target in targets])
        translations = []
        for (source, text), tokens, [hypothesis], target in zip(pairs, ids, found, targets, strict=True):
            length = len(hypothesis.token_log_probabilities)
            score = float(hypothesis.log_probability / length**settings.length_penalty)
            words = Words(target.words, target.word_of)
            translations.append(
                self._make_translation(source, len(tokens), replace(hypothesis, score=score), text, words)
            )
        return translations

    def complete(self, text: str, prefix: Sequence[int], **changes: Any) -> Translation:
        """Translates a sentence with the best translation that begins with some ids of the target side.

        Raises AugenmerkError if one of them is no word, or if there are more than a translation may have.
        """
        settings = self.search_settings(**changes)
        ids = self.tokenizers.source.encode_ids([text])[0]
        if not ids:
            return Translation(source=text, text="")
        for each in prefix:
            if not UNK <= each < self.tokenizers.target.size:
                most = self.tokenizers.target.size - 1
                raise AugenmerkError(f"The id {each} is none of a word: expected {UNK} to {most}.")
        [limit] = length_limits(settings, [min(len(ids), self.max_source_length) + 1])
        if len(prefix) >= limit:
            raise AugenmerkError(
                f"A translation of this sentence has at most {limit - 1} tokens, and it cannot begin with "
                f"{len(prefix)}."
            )
        [[best, *_]] = self.decode([ids], settings, prefix=prefix)
        [reason] = (self._familiarity or Familiarity(self.tokenizers.source)).judge([ids])
        return replace(self._to_translation(text, len(ids), best, settings), unfamiliar=reason)

    def next_tokens(self, translation: Translation, count: int) -> list[list[tuple[int, float]]]:
        """Returns the likeliest tokens in the place of each target token, best first, with probabilities."""
        if translation.hypothesis is None:
            return []
        never = [PAD, BOS] if self.config.search.allow_unknown else [PAD, BOS, UNK]
        _, data = self.encode_translations([translation])
        found = []
        for batch in (data := self.prepare(data)).batches(data.plan(1, shuffle=False)):
            with self._computing():
                decoder = self._decoder(batch, self.config.search)
                state = decoder.start()
                for place in range(len(translation.hypothesis.token_log_probabilities)):
                    log_probs, _, state = decoder.step(batch.tgt_in[:, place : place + 1], state)
                    probabilities = np.exp(to_numpy(log_probs[0, 0]))
                    probabilities[never] = -1.0
                    best = np.sort(np.argpartition(-probabilities, count - 1)[:count])
                    best = best[np.argsort(-probabilities[best], kind="stable")]
                    found.append([(int(token), float(probabilities[token])) for token in best])
        return found

    def _decoder(self, batch: Batch, settings: SearchConfig) -> Decoder:
        """Returns the only model, or all of them together, ready to translate a batch."""
        decoders = self._decoders(batch, settings)
        return decoders[0] if len(decoders) == 1 else EnsembleDecoder(decoders)

    def trace(self, text: str, *, prefix: Sequence[int] = (), **changes: Any) -> dict[str, Any]:
        """Returns the whole beam search of a sentence as a tree: `BeamTrace.to_json` with readable tokens.

        All hypotheses begin with the ids of `prefix`.
        """
        settings = self.search_settings(**changes)
        ids = self.tokenizers.source.encode_ids([text])[0][: self.max_source_length]
        data = self.prepare(ParallelTokens.of([(ids, ())]))
        [batch] = data.batches(data.plan(1, shuffle=False))
        with self._computing():
            [beam] = trace(
                PrefixDecoder(self._decoder(batch, settings), prefix),
                beam=settings.beam,
                n_best=settings.n_best,
                length_penalty=settings.length_penalty,
                max_lengths=length_limits(settings, batch.src_lengths.tolist()),
                allow_unknown=settings.allow_unknown,
            )
        tree = beam.to_json()
        for node in tree["nodes"]:
            node["text"] = self.tokenizers.target.token(node["token"])
        for hypothesis in tree["hypotheses"]:
            hypothesis["translation"] = self.tokenizers.target.decode(hypothesis["ids"])
        return {"source": text, **tree}

    def close(self) -> None:
        """Ends the threads. The translator can still be used; it then starts new ones."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _to_translation(
        self, source: str, tokens: int, hypothesis: Hypothesis, settings: SearchConfig
    ) -> Translation:
        """Turns a hypothesis into a translation; unknown words are replaced if the settings say so."""
        target = self.tokenizers.target
        if not settings.replace_unknown or target.is_bpe or UNK not in hypothesis.ids:
            return self._make_translation(source, tokens, hypothesis, target.decode(hypothesis.ids), None)
        encoded = self.tokenizers.source.encode(source)
        # EOS comes last in the source and must not be copied, so its weight is left out.
        attended = hypothesis.weights[:, : min(tokens, self.max_source_length)].argmax(1).tolist()
        words, word_of = target.words_of_ids(hypothesis.ids)
        words = tuple(
            encoded.words[encoded.word_of[index]] if i == UNK else word
            for i, word, index in zip(hypothesis.ids, words, attended, strict=False)
        )
        return self._make_translation(source, tokens, hypothesis, detokenise(words), Words(words, word_of))

    def _make_translation(
        self, source: str, tokens: int, hypothesis: Hypothesis, text: str, words: Words | None
    ) -> Translation:
        # A copy, because the weights are a view of those of a whole batch, padding included.
        weights = hypothesis.weights[:, : min(tokens, self.max_source_length) + 1].copy()
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            expected_chrf=hypothesis.expected_chrf,
            finished=hypothesis.finished,
            truncated=tokens > self.max_source_length,
            uncovered=find_uncovered(weights, source, self.tokenizers.source, self.language)
            if self._selective
            else None,
            tokenizers=self.tokenizers,
            hypothesis=replace(hypothesis, weights=weights),
            other_words=words,
        )


def _list_sentences(text: object) -> list[str]:
    """Returns sentences as a list; raises TypeError if one is none, also None, which a stream may have."""
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        raise TypeError(
            f"translate takes a sentence (a str) or a list of sentences, not {type(text).__name__}."
        )
    sentences = list(text)
    for sentence in sentences:
        _count_characters(sentence)
    return sentences


def _count_characters(sentence: object) -> int:
    """Returns the length of a sentence; raises TypeError if it is none."""
    if not isinstance(sentence, str):
        raise TypeError(
            f"a sentence must be a str, not {type(sentence).__name__}: {shorten(repr(sentence))}."
        )
    return len(sentence)


def _count_pair(pair: object) -> int:
    """Returns the length of both sentences; raises TypeError if there are not two."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"a pair must be (source, target), not {shorten(repr(pair))}.")
    return _count_characters(pair[0]) + _count_characters(pair[1])


def _add_progress(on_progress: OnProgress, before: int, done: int) -> None:
    on_progress(before + done)


_Item = TypeVar("_Item")


def _split_into_chunks(
    items: Iterable[_Item | None], max_items: int, count_characters: Callable[[_Item], int]
) -> Iterator[list[_Item]]:
    """Yields lists of items, each at most so long; None ends a list, and is left out."""
    chunk: list[_Item] = []
    characters = 0
    for item in items:
        if item is not None:
            chunk.append(item)
            characters += count_characters(item)
        if chunk and (item is None or len(chunk) >= max_items or characters >= CHUNK_CHARACTERS):
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
