"""Requests and answers of `/v1`. The keys of answers are those of `augenmerk translate --json`."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from augenmerk.base.config import DEFAULT_SAMPLES
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.serve.errors import TooLarge
from augenmerk.serve.limits import Limits

Names = str | list[str]


class Request(BaseModel):
    """The body of a request: JSON with known keys only, and numbers that are numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Reads the body; raises AugenmerkError with one sentence if it is something else."""
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise AugenmerkError(describe_problem(error)) from None


class TranslateRequest(Request):
    """Texts to translate, and how. What is absent is as the settings of the run say."""

    text: str | list[str] = Field(description="A text, or a list of texts.")
    split_sentences: bool = Field(
        default=True,
        description="Translate the sentences of each text one by one; false: each is one sentence.",
    )
    model: Names | None = Field(
        default=None, description="A model of /v1/models, or several as an ensemble. Default: the first."
    )
    beam: int | None = Field(default=None, ge=1, description="Width of the beam; 1 is greedy search.")
    n_best: int | None = Field(default=None, ge=1, description="Translations of each text.")
    length_penalty: float | None = Field(
        default=None, ge=0, le=5, description="Ranks by log-probability / length**length_penalty."
    )
    max_length: int | None = Field(
        default=None, ge=1, le=1000, description="Tokens of a translation at most."
    )
    replace_unknown: bool | None = Field(
        default=None, description="Replace unknown words by the source word that is attended to most."
    )
    sample: bool | None = Field(default=None, description="Sample from the model instead of searching.")
    temperature: float | None = Field(default=None, ge=1e-4, le=1e4, description="Temperature of sampling.")
    top_k: int | None = Field(default=None, ge=0, lt=2**31, description="Sample from so many tokens; 0: all.")
    seed: int | None = Field(default=None, ge=0, lt=2**63, description="Seed of sampling.")
    mbr: bool | None = Field(default=None, description="Choose among candidates by minimum Bayes risk.")
    candidates: int | None = Field(default=None, ge=2, description="Candidates of each model for MBR.")
    precision: Literal["fp32", "int8"] | None = Field(
        default=None, description="Numbers to compute in; int8 is faster, and rounds."
    )
    attention: bool = Field(default=False, description="Add words, their log-probabilities and attention.")
    subwords: bool = Field(default=False, description="Add subwords and attention over them, too.")
    heads: bool = Field(default=False, description="Add the attention of each head, too; one model only.")

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def with_attention(self) -> bool:
        return self.attention or self.subwords or self.heads

    def settings(self) -> dict[str, Any]:
        """Returns the changes of `SearchConfig` that the request asks for."""
        return {name: value for name in SEARCH_SETTINGS if (value := getattr(self, name)) is not None}

    def check(self, limits: Limits) -> None:
        """Raises an error with one sentence if the request is beyond the limits."""
        check_texts(self.texts, limits)
        check_names(self.model, limits)
        for name, most in (("beam", limits.beam), ("n_best", limits.n_best), ("candidates", limits.n_best)):
            if (getattr(self, name) or 0) > most:
                raise AugenmerkError(f"{name} = {getattr(self, name)} is more than {most}, the limit here.")
        if self.mbr and self.sample and self.candidates is None and limits.n_best < DEFAULT_SAMPLES:
            raise AugenmerkError(
                f"Without candidates, {DEFAULT_SAMPLES} would be drawn, and {limits.n_best} are the limit: "
                f"say how many."
            )


SEARCH_SETTINGS = (
    *("beam", "n_best", "length_penalty", "max_length", "replace_unknown"),
    *("sample", "temperature", "top_k", "seed", "mbr", "candidates", "precision"),
)


class ScoreRequest(Request):
    """Sentences and their translations, to be scored."""

    source: str | list[str] = Field(description="A sentence, or a list of sentences.")
    target: str | list[str] = Field(description="Its translation, or a list of as many translations.")
    model: Names | None = Field(default=None, description="As for /v1/translate.")
    attention: bool = Field(default=False, description="Add words, their log-probabilities and attention.")
    heads: bool = Field(default=False, description="Add the attention of each head, too; one model only.")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs; raises AugenmerkError if there are not as many sources as targets."""
        sources = [self.source] if isinstance(self.source, str) else self.source
        targets = [self.target] if isinstance(self.target, str) else self.target
        if len(sources) != len(targets):
            raise AugenmerkError(
                f"There are {len(sources):,} sources and {len(targets):,} targets: give as many of both."
            )
        return list(zip(sources, targets, strict=True))

    def check(self, limits: Limits) -> None:
        """Raises an error with one sentence if the request is beyond the limits."""
        pairs = self.pairs
        check_texts([source for source, _ in pairs], limits)
        check_texts([target for _, target in pairs], limits)
        check_names(self.model, limits)


class ReloadRequest(Request):
    """Which run to read anew."""

    model: str | None = Field(default=None, description="The name of a run. Default: all of them.")


class Unfamiliar(BaseModel):
    """Why a text is unlike all that the model learnt from."""

    reason: str
    in_words: str


class Uncovered(BaseModel):
    """The part of a source that its translation probably leaves out."""

    text: str
    in_words: str


class TranslationAnswer(BaseModel):
    """A translation. Words and attention are there only if they were asked for; of a text, in `sentences`."""

    source: str
    translation: str
    score: float = Field(description="log_probability / length**length_penalty.")
    log_probability: float
    finished: bool = Field(description="Whether it ended by itself, not at its maximum length.")
    truncated: bool = Field(description="Whether the source was too long, and only its beginning was read.")
    unfamiliar: Unfamiliar | None = None
    uncovered: Uncovered | None = Field(default=None, description="What the translation probably leaves out.")
    expected_chrf: float | None = Field(default=None, description="Only with mbr.")
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    word_log_probabilities: list[float] | None = None
    attention: list[list[float]] | None = Field(default=None, description="Target words x source words.")
    source_subwords: list[str] | None = None
    target_subwords: list[str] | None = None
    subword_attention: list[list[float]] | None = None
    heads: list[dict[str, Any]] | None = None
    attentions: dict[str, Any] | None = Field(
        default=None, description="Of a Transformer: part, layer, head, rows."
    )
    alternatives: list["TranslationAnswer"] | None = Field(default=None, description="The next best.")
    sentences: list["TranslationAnswer"] | None = Field(
        default=None, description="Only if the text has several; its numbers are their sums and means."
    )


class TranslateAnswer(BaseModel):
    """The translations of all texts, in their order."""

    model: Names
    translations: list[TranslationAnswer]


class ScoredPair(BaseModel):
    """A scored translation; words and attention only if they were asked for."""

    source: str
    target: str
    log_probability: float
    loss: float = Field(description="Per token, end of sentence included.")
    perplexity: float
    word_perplexity: float
    tokens: int
    truncated: bool
    uncovered: Uncovered | None = Field(default=None, description="What the target probably leaves out.")
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    word_log_probabilities: list[float] | None = None
    attention: list[list[float]] | None = None
    heads: list[dict[str, Any]] | None = None
    attentions: dict[str, Any] | None = None


class ScoreAnswer(BaseModel):
    """The scores of all pairs, in their order."""

    model: Names
    scores: list[ScoredPair]


class ModelAnswer(BaseModel):
    """A model that requests may name."""

    name: str
    default: bool
    source_language: str | None = None
    target_language: str | None = None
    architecture: str | None = None
    attention: str | None = None
    beam: int | None = Field(default=None, description="What is used if a request does not say.")
    loaded: bool
    error: str | None = Field(default=None, description="Why the run cannot be read.")


class ModelsAnswer(BaseModel):
    """All models."""

    models: list[ModelAnswer]


class ReloadAnswer(BaseModel):
    """The names of the runs that were read anew."""

    reloaded: list[str]


class ErrorAnswer(BaseModel):
    """What is answered instead, with a status of 400 or more."""

    error: str = Field(description="One sentence that says what was wrong and what would be right.")


def check_texts(texts: list[str], limits: Limits) -> None:
    if not texts:
        raise AugenmerkError("There is no text: give a sentence, or a list of at least one.")
    if len(texts) > limits.texts:
        raise TooLarge(f"There are {len(texts):,} texts, and {limits.texts:,} are the limit of one request.")
    if (longest := max(map(len, texts))) > limits.characters:
        raise TooLarge(
            f"A text has {longest:,} characters, and {limits.characters:,} are the limit: "
            f"give one sentence at a time."
        )


def check_names(names: Names | None, limits: Limits) -> None:
    if isinstance(names, list) and not 1 <= len(names) <= limits.models:
        raise AugenmerkError(f"An ensemble has 1 to {limits.models} models here, not {len(names):,}.")


def describe_problem(error: ValidationError) -> str:
    """Returns the first problem of a body as a sentence."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = next((str(part) for part in first["loc"]), "")
    match first["type"]:
        case "json_invalid":
            return f"The body is not JSON ({first['ctx']['error']})."
        case "extra_forbidden":
            return f"'{shorten(place)}' is not known here: /docs lists what is."
        case "missing":
            return f"'{place}' is missing: /docs shows what a request holds."
    return f"'{place}' is not as expected: {first['msg'].lower()}." if place else f"{first['msg']}."
