"""Translates text with trained models; everything in Augenmerk that decodes uses `Translator`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from augenmerk.base.config import SearchConfig
from augenmerk.base.device import CPU, choose_translating_device
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.frames import as_paths
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.words import Span, is_one_sentence, replace_sentences, sentence_spans
from augenmerk.translation import decoding
from augenmerk.translation.decoding import OnProgress, score_pairs
from augenmerk.translation.loading import LoadedModels
from augenmerk.translation.translation import Translation, Translations

if TYPE_CHECKING:
    import torch


CHUNK_LINES = 2000
CHUNK_CHARACTERS = 200_000
"""A stream is translated in chunks of at most about this many lines and characters. A chunk is large enough
to batch sentences of similar length, and only one is in memory at a time."""

NEXT_SENTENCE = 1 << 32
"""Added for each sentence of a text to the number that its samples depend on."""

_Item = TypeVar("_Item")


def load(
    run: str | PathLike[str] | Sequence[str | PathLike[str]] = BUNDLED_MODEL,
    device: "torch.device | str" = CPU,
) -> "Translator":
    """Loads a trained run for translating; several runs translate together as an ensemble.

    Without a run, loads the bundled German-English model. The settings for the search are those of the first
    run.
    """
    paths = as_paths(run)
    if not paths:
        raise AugenmerkError("There is no run to load: name one, or several for an ensemble.")
    if isinstance(device, str) and device != CPU:
        device = choose_translating_device(device)
    return Translator.from_runs([RunDirectory.open(path) for path in paths], device)


class Translator(LoadedModels):
    """Translates text with a trained model, or with an ensemble of several.

    Several threads may use one translator at once. It prepares its models and starts its threads once; the
    weights of its models must not change afterwards.
    """

    # The jobs that are functions over loaded models, as methods.
    decode = decoding.decode
    batch_translations = decoding.batch_translations
    add_heads = decoding.add_heads
    complete = decoding.complete
    next_tokens = decoding.next_tokens
    trace = decoding.trace

    @overload
    def translate(self, text: str, *, split_sentences: bool = True, **options: Any) -> Translation: ...
    @overload
    def translate(
        self, text: list[str] | tuple[str, ...], *, split_sentences: bool = True, **options: Any
    ) -> Translations: ...
    def translate(
        self, text: str | list[str] | tuple[str, ...], *, split_sentences: bool = True, **options: Any
    ) -> Translation | Translations:
        """Translates a text, or a list of texts, which is faster than one by one.

        Models translate single sentences, so each text is split into its sentences
        (`augenmerk.text.words`); `Translation.sentences` has theirs if there are several. Without
        `split_sentences`, each text is taken as one sentence. The other keywords are those of `stream`.
        """
        texts = _list_texts(text)
        found = self.stream(texts, split_sentences=split_sentences, **options)
        return next(found) if isinstance(text, str) else Translations(found)

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
        """Translates any number of lines in order and in bounded memory.

        With `heads`, the translations have the attention of each head. Samples depend on the `numbers` of the
        lines, which are counted from 0 by default. The `changes` are settings of `SearchConfig`, such as
        beam=5, and replace those of the run.

        Each line is one sentence unless `split_sentences` is true. Lines are collected and translated
        together. None among the lines is no line: it asks for the translations of all lines before it,
        because the next line may not come for a while.
        """
        if isinstance(lines, str | bytes):
            raise TypeError("stream takes many sentences, such as a list; translate takes a single one.")
        settings = self.search_settings(**changes)
        done = sentences_done = 0
        for chunk in self.chunks(lines, settings):
            texts = split_into_texts(chunk, self.language, split=split_sentences)
            first = [numbers[index] if numbers else index for index in range(done, done + len(chunk))]
            sentences = [sentence for text in texts for sentence in text.sentences]
            translations = iter(
                self._translate_sentences(
                    sentences,
                    settings,
                    numbers=[
                        each
                        for number, text in zip(first, texts, strict=True)
                        for each in text.numbers(number)
                    ],
                    heads=heads,
                    on_progress=on_progress and partial(_add_progress, on_progress, sentences_done),
                )
            )
            for text in texts:
                yield text.join(list(islice(translations, len(text.sentences))))
            done += len(chunk)
            sentences_done += len(sentences)

    def translate_file(self, source: str | Path, output: str | Path, **options: Any) -> Path:
        """Translates a file with a sentence on each line into another, and returns that; both may be large.

        Writes what `augenmerk translate --input --output` writes, and takes its options: json, subwords,
        heads, split_sentences, skip_bad, the settings of the search such as beam, and those of a Ray cluster
        (on, ray_address, device, attention).
        """
        from augenmerk.translation.session import translate_source

        if not isinstance(source, str | Path):
            raise TypeError(f"translate_file takes the path of a file, not {type(source).__name__}.")
        translate_source(self, Path(source), Path(output), **options)
        return Path(output)

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
        built = [
            decoding.build_translation(self, sentences[index], len(ids[index]), one, settings)
            for index, ranked in zip(indices, found, strict=True)
            for one in ranked
        ]
        in_order = iter(self.add_heads(built) if heads else built)
        translations = [Translation(source=text, text="") for text in sentences]
        reasons = self.familiarity.judge(ids)
        for index, ranked in zip(indices, found, strict=True):
            best, *others = islice(in_order, len(ranked))
            translations[index] = replace(best, alternatives=tuple(others), unfamiliar=reasons[index])
        return translations

    def chunks(self, lines: Iterable[str | None], settings: SearchConfig) -> Iterator[list[str]]:
        """Yields the lines in the chunks in which `stream` translates them."""
        most = max(1, CHUNK_LINES // (settings.hypotheses * len(self.models)))
        return _split_into_chunks(lines, most, _count_characters)

    def score(self, source: str, target: str, *, heads: bool = False) -> Translation:
        """Scores a given translation, and records the attention while the model reads it."""
        return next(self.score_stream([(source, target)], heads=heads))

    def score_all(self, pairs: Sequence[tuple[str, str]], *, heads: bool = False) -> Translations:
        """Scores many (source, target) pairs, which is faster than one by one."""
        return Translations(self.score_stream(pairs, heads=heads))

    def score_stream(
        self, pairs: Iterable[tuple[str, str] | None], *, heads: bool = False
    ) -> Iterator[Translation]:
        """Scores any number of pairs in order and in bounded memory; None as in `stream`."""
        for chunk in _split_into_chunks(pairs, CHUNK_LINES, _count_pair):
            scored = score_pairs(self, chunk)
            yield from self.add_heads(scored) if heads else scored


def _list_texts(text: object) -> list[str]:
    """Returns one or several texts as a list; raises TypeError if one is no str."""
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        raise TypeError(f"translate takes a sentence (a str) or a list of them, not {type(text).__name__}.")
    texts = [text] if isinstance(text, str) else list(text)
    for each in texts:
        _count_characters(each)  # a stream may have None, a list not
    return texts


def _count_characters(sentence: object) -> int:
    """Returns the length of a sentence; raises TypeError if it is no str."""
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


def _split_into_chunks(
    items: Iterable[_Item | None], max_items: int, count_characters: Callable[[_Item], int]
) -> Iterator[list[_Item]]:
    """Yields lists of at most `max_items` items; None ends a list, and is left out."""
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


@dataclass(frozen=True)
class Text:
    """A text and the spans of its sentences, which are translated one by one."""

    source: str
    spans: Sequence[Span] = ()
    """Empty if the text is one sentence, which is translated as it is."""

    @classmethod
    def of(cls, source: str, language: str | None) -> "Text":
        """Splits a text in a language; line breaks or marks around a sentence do not make it several."""
        spans = sentence_spans(source, language)
        return cls(source, () if is_one_sentence(source, spans) else spans)

    @property
    def sentences(self) -> list[str]:
        return [self.source[start:end] for start, end in self.spans] or [self.source]

    def numbers(self, number: int) -> list[int]:
        """Returns a number for the samples of each sentence; for the first it is that of the text."""
        return [number + index * NEXT_SENTENCE for index in range(len(self.sentences))]

    def join(self, translations: Sequence[Translation]) -> Translation:
        """Returns the translation of the text, made of those of its sentences.

        Its alternatives are made of the sentences' alternatives of the same rank; where a sentence has fewer,
        its last one is repeated.
        """
        if not self.spans:
            [translation] = translations
            return translation
        ranked = [(one, *one.alternatives) for one in translations]
        best, *others = (
            self._join([one[min(rank, len(one) - 1)] for one in ranked])
            for rank in range(max(map(len, ranked)))
        )
        return replace(best, alternatives=tuple(others))

    def _join(self, sentences: Sequence[Translation]) -> Translation:
        expected = [one.expected_chrf for one in sentences if one.expected_chrf is not None]
        return Translation(
            source=self.source,
            text=replace_sentences(self.source, self.spans, [one.text for one in sentences]),
            score=sum(one.score for one in sentences) / len(sentences),
            log_probability=sum(one.log_probability for one in sentences),
            expected_chrf=sum(expected) / len(expected) if expected else None,
            finished=all(one.finished for one in sentences),
            truncated=any(one.truncated for one in sentences),
            unfamiliar=next((one.unfamiliar for one in sentences if one.unfamiliar), None),
            uncovered=" … ".join(one.uncovered for one in sentences if one.uncovered) or None,
            sentences=tuple(sentences),
        )


def split_into_texts(lines: Sequence[str], language: str | None, *, split: bool) -> list[Text]:
    """Returns the lines as texts; each is one sentence unless they are split."""
    return [Text.of(line, language) if split else Text(line) for line in lines]
