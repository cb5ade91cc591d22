"""A translation as data: one list of fields, from which `Translation.to_dict` and its JSON schema come."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from augenmerk.text.familiarity import REASONS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from augenmerk.translation.alignment import Weights
    from augenmerk.translation.translation import Translation

Rows = list[list[float]]
"""Weights, a row for each target word; rounded to six digits."""


class Detail(NamedTuple):
    """What was asked for besides the translation itself."""

    attention: bool = True
    subwords: bool = False


@dataclass(frozen=True)
class Unfamiliar:
    """Why a text is unlike all that the model learnt from."""

    reason: str
    in_words: str


@dataclass(frozen=True)
class Uncovered:
    """The part of a source that its translation probably leaves out."""

    text: str
    in_words: str


@dataclass(frozen=True)
class Field:
    """One field of a translation as data."""

    name: str
    type: Any
    meaning: str
    get: "Callable[[Translation, Detail], Any] | None" = None
    """Returns its value; by default the attribute of this name."""
    asked_by: Literal["", "attention", "subwords"] = ""
    """The detail that it is there for; of a text with several sentences, those have it."""
    optional: bool = False
    """Whether it is left out if it is None."""

    def read(self, one: "Translation", detail: Detail) -> Any:
        if self.get is not None:
            return self.get(one, detail)
        value = getattr(one, self.name)
        if self.type is Rows:
            return _plain(value)
        return list(value) if isinstance(value, tuple) else value


def _plain(attention: "Weights") -> Rows:
    return [[round(weight, 6) for weight in row] for row in attention.tolist()]


def _unfamiliar(one: "Translation", _: Detail) -> dict[str, str] | None:
    if one.unfamiliar is None:
        return None
    return asdict(Unfamiliar(one.unfamiliar, f"The sentence has {REASONS[one.unfamiliar]}."))


def _uncovered(one: "Translation", _: Detail) -> dict[str, str] | None:
    if one.uncovered is None:
        return None
    words = f"Hardly any attention went to “{one.uncovered}”, so its translation is probably missing."
    return asdict(Uncovered(one.uncovered, words))


def _attentions(one: "Translation", _: Detail) -> dict[str, Any] | None:
    if not one.self_attention:
        return None
    return {part: [list(map(_plain, layer)) for layer in layers] for part, layers in one.attentions.items()}


def _heads(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    return [
        {
            **({} if head.layer is None else {"layer": head.layer}),
            "head": head.head,
            "attention": _plain(head.attention),
            **({"subword_attention": _plain(head.subword_attention)} if detail.subwords else {}),
        }
        for head in one.heads
    ] or None


def _alternatives(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    """Returns the alternatives without what they share with the best, or what is in its sentences."""
    left_out = ("unfamiliar", "sentences")
    described = (describe(other, detail) for other in one.alternatives)
    return [{key: value for key, value in each.items() if key not in left_out} for each in described] or None


def _sentences(one: "Translation", detail: Detail) -> list[dict[str, Any]] | None:
    return [describe(sentence, detail) for sentence in one.sentences] or None


FIELDS = (
    Field("source", str, "The text."),
    Field("translation", str, "Its translation.", lambda one, _: one.text),
    Field("score", float, "log_probability / length**length_penalty."),
    Field("log_probability", float, "Of the whole translation, in nats."),
    Field("finished", bool, "Whether it ended before its maximum length."),
    Field("truncated", bool, "Whether the source was too long, and only its beginning was read."),
    Field("unfamiliar", Unfamiliar | None, "Why the source is unlike the training text.", _unfamiliar),
    Field("uncovered", Uncovered | None, "What the translation probably leaves out.", _uncovered),
    Field("expected_chrf", float, "What minimum Bayes risk ranks by.", optional=True),
    Field("source_words", list[str], "The last is </s>, the end.", asked_by="attention"),
    Field("target_words", list[str], "The last is </s>, the end.", asked_by="attention"),
    Field("word_log_probabilities", list[float], "Given the words before.", asked_by="attention"),
    Field("attention", Rows, "Target words x source words.", asked_by="attention"),
    Field("source_subwords", list[str], "What the model reads.", asked_by="subwords"),
    Field("target_subwords", list[str], "What the model writes.", asked_by="subwords"),
    Field("subword_attention", Rows, "Target subwords x source subwords.", asked_by="subwords"),
    Field("attentions", dict[str, list[list[Rows]]], "Part, layer, head.", _attentions, "attention", True),
    Field("heads", list[dict[str, Any]], "The attention of each head.", _heads, "attention", True),
    Field("alternatives", list[dict[str, Any]], "The next best.", _alternatives, optional=True),
    Field("sentences", list[dict[str, Any]], "Only if the text has several.", _sentences, optional=True),
)
"""In the order of `Translation.to_dict`. Alternatives and sentences are translations again."""


def describe(one: "Translation", detail: Detail, *, only_attention: bool = False) -> dict[str, Any]:
    """Returns a translation as plain data for JSON, or only its words and attention."""
    tree = {}
    for field in FIELDS:
        if field.asked_by:
            wanted = (
                getattr(detail, field.asked_by) and detail.attention and (only_attention or not one.sentences)
            )
        else:
            wanted = not only_attention
        if wanted:
            value = field.read(one, detail)
            if value is not None or not field.optional:
                tree[field.name] = value
    return tree


def make_model(name: str) -> "type[BaseModel]":
    """Returns the fields as a model of pydantic, whose JSON schema describes `Translation.to_dict`."""
    from pydantic import Field as ModelField
    from pydantic import create_model

    fields: dict[str, Any] = {}
    for field in FIELDS:
        absent = field.asked_by or field.optional or isinstance(field.type, UnionType)
        kind = list[name] if field.name in ("alternatives", "sentences") else field.type  # type: ignore[valid-type]
        default = None if absent else ...
        fields[field.name] = (kind | None if absent else kind, ModelField(default, description=field.meaning))
    return create_model(name, **fields)
