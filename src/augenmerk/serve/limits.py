"""What a request may ask for, how long it may wait, and the errors that refuse it."""

import math
from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse

from augenmerk.base.errors import AugenmerkError, format_message


class ServiceError(AugenmerkError):
    """A refusal with its HTTP status. Other AugenmerkErrors are answered with 400."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class Overloaded(ServiceError):  # noqa: N818
    """Too much is waiting already."""

    def __init__(self, message: str, seconds: float) -> None:
        """`seconds` is when it is worth asking again."""
        super().__init__(429, message, {"retry-after": str(max(1, math.ceil(seconds)))})


def error_response(error: AugenmerkError) -> JSONResponse:
    """Returns the JSON of an error: {"error": "One sentence."}."""
    status, headers = (error.status, error.headers) if isinstance(error, ServiceError) else (400, None)
    return JSONResponse({"error": format_message(str(error))}, status, headers)


class Limits(BaseModel):
    """The limits of a service; `augenmerk serve --limit NAME=VALUE` changes one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    characters: int = Field(default=2_000, ge=1, description="Characters of one text.")
    texts: int = Field(default=500, ge=1, description="Texts in one request, and sentences in all of them.")
    beam: int = Field(default=50, ge=1, le=1000, description="Width of the beam.")
    n_best: int = Field(
        default=50, ge=1, le=1000, description="Translations of each text, and candidates of MBR."
    )
    max_length: int = Field(default=1_000, ge=1, description="Tokens of one translation at most.")
    models: int = Field(default=8, ge=1, description="Models in one ensemble.")
    body: int = Field(default=2**20, ge=1, description="Bytes in the body of a request; answered with 413.")
    body_seconds: float = Field(
        default=10.0, gt=0, description="Seconds for a body to arrive; answered with 408."
    )
    queue: int = Field(
        default=2_000, ge=1, description="Texts that wait at the same time; more are answered with 429."
    )
    deadline: float = Field(
        default=30.0, gt=0, description="Seconds from the request to the answer; answered with 504."
    )
    connections: int = Field(
        default=2_000,
        ge=1,
        description="Open connections, or fewer if the process may not open as many files.",
    )
    idle_seconds: float = Field(
        default=30.0, gt=0, description="Seconds that a connection may stay open without a request."
    )
    trainings: int = Field(
        default=1, ge=1, le=100, description="Trainings at the same time that pages may start."
    )
    drain_seconds: float = Field(
        default=30.0, gt=0, description="Seconds after SIGTERM in which requests are still answered."
    )
    batch_tokens: int = Field(
        default=3_000,
        ge=1,
        description="Tokens in one batch, times the hypotheses of each: how long others wait at most.",
    )

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Self:
        """Returns the limits with some changed, each given as NAME=VALUE; raises AugenmerkError."""
        changes = dict(
            setting.partition("=")[::2] if "=" in setting else (f"{setting} ", "") for setting in settings
        )
        try:
            return cls.model_validate(changes)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if name in cls.model_fields:
                raise AugenmerkError(f"--limit {name}={changes[name]}: {first['msg']}.") from None
            names = ", ".join(cls.model_fields)
            sentence = f"--limit {name.strip()}: expected NAME=VALUE, where NAME is one of {names}."
            raise AugenmerkError(sentence) from None
