"""Errors that a request is answered with, each with its HTTP status."""

import math
from collections.abc import Mapping
from typing import ClassVar

from starlette.responses import JSONResponse

from augenmerk.base.errors import AugenmerkError, format_message


class ServiceError(AugenmerkError):
    """A request that is refused. Other AugenmerkErrors are answered with 400."""

    status: ClassVar[int] = 400
    headers: Mapping[str, str] = {}


class Unauthorised(ServiceError):  # noqa: N818
    """The API key is missing or wrong."""

    status = 401
    # Browsers ask for a password; a key is accepted as one.
    headers: Mapping[str, str] = {"www-authenticate": 'Basic realm="augenmerk", charset="UTF-8"'}


class Forbidden(ServiceError):  # noqa: N818
    """This page or machine is not allowed to ask."""

    status = 403


class UnknownModel(ServiceError):  # noqa: N818
    """There is no model, run or study of that name."""

    status = 404


class BodyTimeout(ServiceError):  # noqa: N818
    """The body of the request did not arrive in time."""

    status = 408
    headers: Mapping[str, str] = {"connection": "close"}


class TooLarge(ServiceError):  # noqa: N818
    """The request is larger than the limits permit."""

    status = 413


class WrongMediaType(ServiceError):  # noqa: N818
    """The body is not declared as JSON."""

    status = 415


class Overloaded(ServiceError):  # noqa: N818
    """Too much is waiting already."""

    status = 429

    def __init__(self, message: str, seconds: float) -> None:
        """`seconds` is when it is worth asking again."""
        super().__init__(message)
        self.headers = {"retry-after": str(max(1, math.ceil(seconds)))}


class DeadlineExceeded(ServiceError):  # noqa: N818
    """The answer was not ready in time."""

    status = 504


def error_response(error: AugenmerkError) -> JSONResponse:
    """Returns the JSON of an error: {"error": "One sentence."}."""
    if isinstance(error, ServiceError):
        return sentence_response(error.status, str(error), error.headers)
    return sentence_response(400, str(error))


def sentence_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": format_message(sentence)}, status, headers)
