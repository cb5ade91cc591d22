"""What the service answers when it does not do what it was asked for."""

import math

from starlette.responses import JSONResponse

from augenmerk.base.errors import AugenmerkError, format_message


class ServiceError(AugenmerkError):
    """A request that is refused, with the status of HTTP that says why."""

    status = 400

    @property
    def headers(self) -> dict[str, str]:
        return {}


class Unauthorised(ServiceError):  # noqa: N818
    """The API key is missing or wrong."""

    status = 401

    @property
    def headers(self) -> dict[str, str]:
        # Browsers ask for a password; a key is accepted as one.
        return {"www-authenticate": 'Basic realm="augenmerk", charset="UTF-8"'}


class Forbidden(ServiceError):  # noqa: N818
    """The page or the machine that asks may not."""

    status = 403


class UnknownModel(ServiceError):  # noqa: N818
    """There is no model of that name."""

    status = 404


class TooSlow(ServiceError):  # noqa: N818
    """The body of the request did not arrive in time."""

    status = 408

    @property
    def headers(self) -> dict[str, str]:
        return {"connection": "close"}


class TooLarge(ServiceError):  # noqa: N818
    """The request is larger than the limits permit."""

    status = 413


class WrongMediaType(ServiceError):  # noqa: N818
    """The body is not said to be JSON."""

    status = 415


class Overloaded(ServiceError):  # noqa: N818
    """Too much is waiting already."""

    status = 429

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds
        """When it is worth asking again."""

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": str(max(1, math.ceil(self.seconds)))}


class TooLate(ServiceError):  # noqa: N818
    """The answer was not there in time."""

    status = 504


def answer_error(error: AugenmerkError) -> JSONResponse:
    """Returns the JSON of an error: {"error": "One sentence."}."""
    if isinstance(error, ServiceError):
        return answer_sentence(error.status, str(error), error.headers)
    return answer_sentence(400, str(error))


def answer_sentence(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": format_message(sentence)}, status, headers)
