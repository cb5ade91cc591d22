"""Sentences to ids and back: whole words, or subwords by byte-pair encoding.

`augenmerk.text.words` alone decides what a word is: a text is first normalised and split into words here, and
the tokenizers library sees one word at a time. So a subword never spans two words, every id belongs to a word
of the original sentence, and a text that happens to contain `<pad>` is only text.
"""

import json
import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, count, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from augenmerk.base.config import TextConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import read_text
from augenmerk.text.pairs import SentencePair
from augenmerk.text.words import INVISIBLE, WORD_PATTERN, Span, detokenise, split_words, word_spans

# Single words need no threads, and a process that forks after the library used threads may hang.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(4)
UNKNOWN = "⁇"
"""How an unknown word is written. It is one character, because BLEU would count `<unk>` as three words."""

CACHED_TOKENS, CACHED_LENGTH = 2**18, 32
"""How many texts without a space a tokenizer remembers the ids of, and the most characters of such a text."""

_UNPRINTED = (PAD, BOS, EOS)
_JOINT_FILES, _SEPARATE_FILES = ("tokenizer.json",), ("tokenizer.source.json", "tokenizer.target.json")

# A word of a normalised text with the space before it.
_SPACED_WORD = re.compile(f" ?{WORD_PATTERN}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str, lowercase: bool = False) -> str:
    """Returns the text as a model reads it; with BPE, decoding an encoded text gives exactly this.

    Invisible characters (`augenmerk.text.words.INVISIBLE`) are removed, half a surrogate pair becomes U+FFFD,
    white space (no-break, zero-width and line separators included) becomes single spaces, none at the ends,
    and accents are composed (NFC). Normalising twice gives the same as normalising once.
    """
    text = " ".join(_split_at_spaces(text))
    return unicodedata.normalize("NFC", text.lower() if lowercase else text)


def _split_at_spaces(text: str) -> list[str]:
    if not text.isprintable():  # nearly every text is printable, and has nothing to remove
        text = INVISIBLE.sub("", _SURROGATE.sub("\ufffd", text)).replace("\u200b", " ")
    return text.split()


def split_pieces(text: str, lowercase: bool, with_spaces: bool) -> list[str]:
    """Returns the words of the normalised text, for BPE with the space before each."""
    text = normalise(text, lowercase)
    # With a space in front, a word has the same subwords at the beginning of a sentence as elsewhere.
    return _SPACED_WORD.findall(" " + text) if with_spaces else split_words(text)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sentence as ids, and as the words that these ids represent.

    `words` and their `spans` (start, end) are those of the original text; id number i belongs to word
    number `word_of[i]`. Every word has at least one id, and `word_of` never decreases.
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    word_of: tuple[int, ...]


class Tokenizer:
    """A vocabulary that turns texts into ids and back, made by `train` or `load`."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self.is_bpe = isinstance(tokenizer.model, models.BPE)
        self.lowercase = isinstance(tokenizer.normalizer, normalizers.Lowercase)
        self.size: int = tokenizer.get_vocab_size()
        self._tokens: list[str] = [tokenizer.id_to_token(i) or "" for i in range(self.size)]
        if tuple(self._tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS or "" in self._tokens:
            raise ValueError(f"its vocabulary does not begin with {' '.join(SPECIAL_TOKENS)} or has gaps")
        self.bytes = _bytes_of(self._tokens) if self.is_bpe else []
        """The bytes that each id represents; empty for whole words."""
        self._tokenizer = tokenizer
        # The file records the lowercasing, but `normalise` does it: the library's capital letters are not
        # quite those of Python.
        self._word_encoder = tokenizers.Tokenizer(tokenizer.model)
        if self.is_bpe:
            self._word_encoder.pre_tokenizer = _byte_level()
        self.dtype: np.dtype[Any] = np.dtype(np.uint16 if self.size <= 2**16 else np.uint32)
        """The smallest type of numbers that holds every id."""
        self._known = _KnownTokens(self)

    @classmethod
    def train(cls, texts: Iterable[str], config: TextConfig) -> Self:
        """Learns a vocabulary from texts, which are read once and not kept."""

        @lru_cache(CACHED_TOKENS)
        def split(token: str) -> list[str]:
            return split_pieces(token, config.lowercase, config.unit == "bpe")

        settings: dict[str, Any] = {
            "vocab_size": config.vocabulary_size,
            "min_frequency": config.minimum_frequency,
            "special_tokens": list(SPECIAL_TOKENS),
            "show_progress": False,
        }
        if config.unit == "bpe":
            learner = tokenizers.Tokenizer(models.BPE())
            learner.pre_tokenizer = _byte_level()
            all_bytes = pre_tokenizers.ByteLevel.alphabet()  # so that nothing is unknown
            trainer: trainers.Trainer = trainers.BpeTrainer(**settings, initial_alphabet=all_bytes)
        else:
            learner = tokenizers.Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS[UNK]))
            trainer = trainers.WordLevelTrainer(**settings)
        # Each text between two spaces is split once, see `encode_flat`.
        sentences = (list(chain.from_iterable(map(split, _split_at_spaces(text)))) for text in texts)
        learner.train_from_iterator(sentences, trainer)

        # Without the trainer's special tokens, which the library would otherwise recognise in texts.
        return cls(_assemble(learner.model, config.lowercase))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Loads what `save` wrote; raises AugenmerkError if it is something else."""
        content = read_text(path)
        try:
            tree = json.loads(content)
            is_bpe = tree["model"]["type"] == "BPE"
            empty = models.BPE() if is_bpe else models.WordLevel({}, unk_token=SPECIAL_TOKENS[UNK])
            ours = json.loads(_assemble(empty, lowercase=tree["normalizer"] is not None).to_str())
            # Some values of other parts make the library panic.
            for found, expected in ((tree, ours), (tree["model"], ours["model"])):
                for key in found.keys() - {"model", "vocab", "merges"}:
                    if _kind(found[key]) not in (None, False, _kind(expected.get(key))):
                        raise ValueError(f"'{key}' is not as expected")
            return cls(tokenizers.Tokenizer.from_str(content))
        except BaseException as error:
            # A panic of the Rust library is no Exception, and its class cannot be imported.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise AugenmerkError(f"{path} is not a tokenizer that Augenmerk wrote: {error}.") from None

    def to_json(self) -> str:
        """Returns the tokenizer in the JSON format of the tokenizers library."""
        return self._tokenizer.to_str()

    def save(self, path: Path) -> None:
        """Writes the JSON of the tokenizer to a file, for `load`."""
        path.write_text(self.to_json(), encoding="utf-8", newline="\n")

    def token(self, i: int) -> str:
        """Returns a readable vocabulary entry: `▁` is the space before a word, `\\xc3` a byte of a letter."""
        if i < len(SPECIAL_TOKENS) or not self.is_bpe:
            return self._tokens[i]
        return self.bytes[i].decode("utf-8", "backslashreplace").replace(" ", "▁")

    def merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Returns the merges of BPE: for two ids, the rank of their merge and the id they become."""
        id_of = {token: i for i, token in enumerate(self._tokens)}
        learnt = json.loads(self.to_json())["model"]["merges"]
        return {(id_of[a], id_of[b]): (rank, id_of[a + b]) for rank, (a, b) in enumerate(learnt)}

    def pieces(self, text: str) -> list[str]:
        """Returns the words of the normalised text, for BPE with the space before each."""
        return split_pieces(text, self.lowercase, self.is_bpe)

    def encode(self, text: str) -> Encoded:
        """Encodes one sentence, and finds its words in the original text."""
        spans = word_spans(text)
        ids_by_word = self.encode_pieces(self.pieces(text))
        return Encoded(
            ids=tuple(chain.from_iterable(ids_by_word)),
            words=tuple(text[start:end] for start, end in spans),
            spans=tuple(spans),
            word_of=tuple(word for word, ids in enumerate(ids_by_word) for _ in ids),
        )

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes many sentences, without BOS and EOS."""
        flat, lengths = self.encode_flat(texts)
        ids = flat.tolist()
        return [ids[start:end] for start, end in pairwise(accumulate(lengths.tolist(), initial=0))]

    def encode_flat(self, texts: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Encodes many sentences as `encode_ids` does; returns all ids in one array, and their lengths."""
        # No word spans a space, and neither normalising nor lowercasing looks across one. So a text between
        # two spaces has the same ids everywhere, and most of them were seen before. They are kept as bytes,
        # which are joined faster than lists of numbers.
        ids_of = self._known.__getitem__
        sentences = [b"".join(map(ids_of, _split_at_spaces(text))) for text in texts]
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) // self.dtype.itemsize
        return np.frombuffer(b"".join(sentences), self.dtype), lengths

    def encode_pieces(self, pieces: list[str]) -> list[list[int]]:
        """Encodes each of many pieces."""
        encodings = self._word_encoder.encode_batch_fast(pieces, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of ids. PAD, BOS and EOS are left out; UNK becomes `⁇`."""
        return normalise(self._text_of(ids)) if self.is_bpe else detokenise(self._words_of(ids))

    def words_of_ids(self, ids: Sequence[int]) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
        """Returns the words of `decode(ids)`, and for each id its word; None for PAD, BOS and EOS.

        The words are those of `split_words(decode(ids))`, except that words which share an id are returned
        as one: a model may combine subwords in ways that no text does.
        """
        if not self.is_bpe:
            number = count()
            word_of = (None if i in _UNPRINTED else next(number) for i in ids)
            return tuple(self._words_of(ids)), tuple(word_of)

        text = self._text_of(ids)
        spans = word_spans(text)
        if not spans:
            return (), (None,) * len(ids)
        # The ends of ids and of words are counted in bytes. Bytes between two words belong to the second,
        # like the space before it; bytes after the last word belong to the last.
        id_ends = list(accumulate(len(self.bytes[i]) for i in ids))
        offsets = list(accumulate((len(_to_bytes(character)) for character in text), initial=0))
        possible = set(id_ends)
        word_ends = [offsets[end] for _, end in spans[:-1] if offsets[end] in possible] + [offsets[-1]]
        raw = _to_bytes(text)
        words = (normalise(_to_text(raw[start:end])) for start, end in pairwise([0, *word_ends]))
        ends_of_ids = zip(ids, id_ends, strict=True)
        return tuple(words), tuple(
            bisect_left(word_ends, end) if self.bytes[i] else None for i, end in ends_of_ids
        )

    def _words_of(self, ids: Sequence[int]) -> list[str]:
        return [UNKNOWN if i == UNK else self._tokens[i] for i in ids if i not in _UNPRINTED]

    def _text_of(self, ids: Sequence[int]) -> str:
        return _to_text(b"".join([self.bytes[i] for i in ids]))


class _KnownTokens(dict[str, bytes]):
    """The ids, as bytes, of texts without a space, which are encoded when they are first asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, token: str) -> bytes:
        pieces = self._tokenizer.encode_pieces(self._tokenizer.pieces(token))
        ids = np.array(list(chain.from_iterable(pieces)), self._tokenizer.dtype).tobytes()
        if len(token) <= CACHED_LENGTH:  # a whole sentence of Chinese, say, hardly comes again
            if len(self) >= CACHED_TOKENS:
                self.clear()
            self[token] = ids
        return ids


def _assemble(model: models.Model, lowercase: bool) -> tokenizers.Tokenizer:
    """Returns a tokenizer of the library with the parts that Augenmerk writes into files."""
    tokenizer = tokenizers.Tokenizer(model)
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    if isinstance(model, models.BPE):
        tokenizer.pre_tokenizer = _byte_level()
        tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else part


def _byte_level() -> pre_tokenizers.ByteLevel:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _bytes_of(tokens: Sequence[str]) -> list[bytes]:
    """Returns the bytes of each BPE token; the library writes every byte as one printable character."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(rest)}
    try:
        ordinary = [bytes(map(byte_of.__getitem__, token)) for token in tokens[len(SPECIAL_TOKENS) :]]
    except KeyError as error:
        raise ValueError(f"its vocabulary is not byte-level ({error} is no byte)") from None
    if {token for token in ordinary if len(token) == 1} != {bytes([byte]) for byte in range(256)}:
        raise ValueError("its vocabulary lacks some of the 256 bytes")
    return [b"", b"", b"", f" {UNKNOWN}".encode(), *ordinary]


# A model may produce bytes that are not UTF-8; each becomes half a surrogate pair, so that none is lost.
def _to_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of the source and the target language; the same object if the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, pairs: Iterable[SentencePair], config: TextConfig) -> Self:
        """Learns the vocabularies. The pairs are read once for each; a bare iterator is kept in a list."""
        if config.joint:
            joint = Tokenizer.train(chain.from_iterable((pair.source, pair.target) for pair in pairs), config)
            return cls(joint, joint)
        if iter(pairs) is pairs:
            pairs = list(pairs)
        source = Tokenizer.train((pair.source for pair in pairs), config)
        return cls(source, Tokenizer.train((pair.target for pair in pairs), config))

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary, and so their ids."""
        return self.source is self.target

    @staticmethod
    def files(folder: Path) -> list[Path]:
        """Returns the one file, or the two files, that `load` reads; the one may be absent."""
        separate = [folder / name for name in _SEPARATE_FILES]
        return separate if any(path.is_file() for path in separate) else [folder / _JOINT_FILES[0]]

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.json`, or `tokenizer.source.json` and `tokenizer.target.json`."""
        for name in (*_JOINT_FILES, *_SEPARATE_FILES):
            (folder / name).unlink(missing_ok=True)  # otherwise `load` might find an earlier one
        names = _JOINT_FILES if self.joint else _SEPARATE_FILES
        for name, tokenizer in zip(names, (self.source, self.target), strict=False):
            tokenizer.save(folder / name)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Returns the pair that `save` wrote."""
        loaded = [Tokenizer.load(path) for path in cls.files(folder)]
        return cls(loaded[0], loaded[-1])
