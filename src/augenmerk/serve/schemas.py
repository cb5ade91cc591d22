"""Requests and responses of `/v1`. A translation has the keys of `augenmerk translate --json`."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from augenmerk.base.config import DEFAULT_SAMPLES, SearchConfig
from augenmerk.base.errors import AugenmerkError, shorten
from augenmerk.base.settings import list_settings
from augenmerk.evaluation.evaluator import Loss
from augenmerk.serve.errors import TooLarge
from augenmerk.serve.limits import Limits
from augenmerk.translation import Translation

Names = str | list[str]
Texts = str | list[str]


class RequestBody(BaseModel):
    """The body of a request: JSON with known keys only, in which numbers are numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def parse(cls, body: bytes, _media_type: str) -> Self:
        """Reads a body; raises AugenmerkError with one sentence if it is something else."""
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise AugenmerkError(describe_problem(error)) from None


class _TranslateRequest(RequestBody):
    text: Texts = Field(description="A text, or a list of texts.")
    split_sentences: bool = Field(
        default=True,
        description="Translate the sentences of each text one by one; false: each is one sentence.",
    )
    model: Names | None = Field(
        default=None, description="A model of /v1/models, or several as an ensemble. Default: the first."
    )
    attention: bool = Field(default=False, description="Add words, their log-probabilities and attention.")
    subwords: bool = Field(default=False, description="Also add subwords and attention over them.")
    heads: bool = Field(default=False, description="Also add the attention of each head; one model only.")

    @property
    def texts(self) -> list[str]:
        return to_list(self.text)

    @property
    def with_attention(self) -> bool:
        return self.attention or self.subwords or self.heads

    def settings(self) -> dict[str, Any]:
        """Returns the changes of `SearchConfig` that the request asks for."""
        return self.model_dump(include=set(SearchConfig.model_fields), exclude_none=True)

    def check(self, limits: Limits) -> None:
        """Raises an error with one sentence if the request is beyond the limits."""
        check_texts(self.texts, limits)
        check_names(self.model, limits)
        settings = self.settings()
        check_search(settings, limits)
        draws_default = settings.get("mbr") and settings.get("sample") and "candidates" not in settings
        if draws_default and limits.n_best < DEFAULT_SAMPLES:
            raise AugenmerkError(
                f"Without candidates, {DEFAULT_SAMPLES} would be drawn; the limit is {limits.n_best}: "
                f"set candidates."
            )


def _make_search_fields() -> dict[str, Any]:
    """Returns the fields of `SearchConfig`, all of them optional."""
    meanings = {setting.name: setting.meaning for setting in list_settings(SearchConfig())}
    return {
        name: Annotated[field.annotation | None, *field.metadata, Field(None, description=meanings[name])]
        for name, field in SearchConfig.model_fields.items()
        if field.annotation is not None
    }


TranslateRequest = create_model(
    "TranslateRequest",
    __base__=_TranslateRequest,
    __doc__="Texts to translate, and how. The run's own settings are used where nothing is given.",
    **_make_search_fields(),
)


class ScoreRequest(RequestBody):
    """Sentences and their translations, to be scored."""

    source: Texts = Field(description="A sentence, or a list of sentences.")
    target: Texts = Field(description="Its translation, or a list of as many translations.")
    model: Names | None = Field(default=None, description="As for /v1/translate.")
    attention: bool = Field(default=False, description="Add words, their log-probabilities and attention.")
    heads: bool = Field(default=False, description="Also add the attention of each head; one model only.")

    def check(self, limits: Limits) -> list[tuple[str, str]]:
        """Returns the pairs; raises an error with one sentence if the request is beyond the limits."""
        sources, targets = to_list(self.source), to_list(self.target)
        if len(sources) != len(targets):
            raise AugenmerkError(
                f"There are {len(sources):,} sources and {len(targets):,} targets: give as many of both."
            )
        check_texts(sources, limits)
        check_texts(targets, limits)
        check_names(self.model, limits)
        return list(zip(sources, targets, strict=True))


class ReloadRequest(RequestBody):
    """Which run to reload."""

    model: str | None = Field(default=None, description="The name of a run. Default: all of them.")


class ResponseModel(BaseModel):
    """A response, or a part of one. Its keys are all there are, which a test checks."""

    model_config = ConfigDict(extra="forbid")


class Unfamiliar(ResponseModel):
    """Why a text is unlike anything the model learnt from."""

    reason: str
    in_words: str


class Uncovered(ResponseModel):
    """The part of a source that its translation probably leaves out."""

    text: str
    in_words: str


class _Pair(ResponseModel):
    source: str
    log_probability: float
    truncated: bool = Field(description="Whether the source was too long, and only its beginning was read.")
    uncovered: Uncovered | None = Field(default=None, description="What the target probably leaves out.")
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    word_log_probabilities: list[float] | None = None
    attention: list[list[float]] | None = Field(default=None, description="Target words x source words.")
    heads: list[dict[str, Any]] | None = None
    attentions: dict[str, Any] | None = Field(
        default=None, description="Of a Transformer: part, layer, head, rows."
    )


class TranslationResponse(_Pair):
    """A translation. Words and attention only if they were asked for; those of a text are in `sentences`."""

    translation: str
    score: float = Field(description="log_probability / length**length_penalty.")
    finished: bool = Field(description="Whether it ended before its maximum length.")
    unfamiliar: Unfamiliar | None = None
    expected_chrf: float | None = Field(default=None, description="Only with mbr.")
    source_subwords: list[str] | None = None
    target_subwords: list[str] | None = None
    subword_attention: list[list[float]] | None = None
    alternatives: list["TranslationResponse"] | None = Field(default=None, description="The next best.")
    sentences: list["TranslationResponse"] | None = Field(
        default=None, description="Only if the text has several; its numbers are their sums and means."
    )


class TranslateResponse(ResponseModel):
    """The translations of all texts, in their order."""

    model: Names
    translations: list[TranslationResponse]


class ScoredPair(_Pair):
    """A scored translation; words and attention only if they were asked for."""

    target: str
    loss: float = Field(description="Per token, end of sentence included.")
    perplexity: float
    word_perplexity: float
    tokens: int


class ScoreResponse(ResponseModel):
    """The scores of all pairs, in their order."""

    model: Names
    scores: list[ScoredPair]


class ModelResponse(ResponseModel):
    """A model that requests may name."""

    name: str
    default: bool
    source_language: str | None = None
    target_language: str | None = None
    architecture: str | None = None
    attention: str | None = None
    beam: int | None = Field(default=None, description="The beam of requests that set none.")
    loaded: bool
    error: str | None = Field(default=None, description="Why the run cannot be read.")


class ModelsResponse(ResponseModel):
    """All models."""

    models: list[ModelResponse]


class ReloadResponse(ResponseModel):
    """The names of the reloaded runs."""

    reloaded: list[str]


class ErrorResponse(ResponseModel):
    """What is returned instead, with a status of 400 or more."""

    error: str = Field(description="One sentence that says what was wrong and what to do.")


def describe_score(pair: Translation, *, attention: bool) -> dict[str, Any]:
    """Returns a scored pair as data for JSON, with the keys of `augenmerk score --json`."""
    loss = Loss(-pair.log_probability, len(pair.hypothesis.token_log_probabilities) if pair.hypothesis else 0)
    scores = {
        "target": pair.text,
        "loss": loss.mean,
        "perplexity": loss.perplexity,
        "word_perplexity": loss.word_perplexity(len(pair.target_words)),
        "tokens": loss.tokens,
    }
    described = pair.to_dict(attention=attention)
    return scores | {key: value for key, value in described.items() if key in _Pair.model_fields}


def to_list(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def check_texts(texts: list[str], limits: Limits) -> None:
    if not texts:
        raise AugenmerkError("There is no text: give a sentence, or a list of at least one.")
    if len(texts) > limits.texts:
        raise TooLarge(f"There are {len(texts):,} texts; the limit of one request is {limits.texts:,}.")
    if (longest := max(map(len, texts))) > limits.characters:
        raise TooLarge(
            f"A text has {longest:,} characters; the limit is {limits.characters:,}: "
            f"send one sentence at a time."
        )


def check_names(names: Names | None, limits: Limits) -> None:
    if isinstance(names, list) and not 1 <= len(names) <= limits.models:
        raise AugenmerkError(f"An ensemble has 1 to {limits.models} models here, not {len(names):,}.")


def check_search(settings: dict[str, Any], limits: Limits) -> None:
    maxima = {
        "beam": limits.beam,
        "n_best": limits.n_best,
        "candidates": limits.n_best,
        "max_length": limits.max_length,
    }
    for name, limit in maxima.items():
        if settings.get(name, 0) > limit:
            raise AugenmerkError(f"{name} = {settings[name]} is more than {limit}, the limit here.")


def describe_problem(error: ValidationError) -> str:
    """Returns the first problem of a body as a sentence."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = next((str(part) for part in first["loc"]), "")
    match first["type"]:
        case "json_invalid":
            return f"The body is not JSON ({first['ctx']['error']})."
        case "extra_forbidden":
            return f"'{shorten(key)}' is not known here: /docs lists what is."
        case "missing":
            return f"'{key}' is missing: /docs shows what a request holds."
    return f"'{key}' is not as expected: {first['msg'].lower()}." if key else f"{first['msg']}."
