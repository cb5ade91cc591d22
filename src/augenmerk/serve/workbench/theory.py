"""The theory view: a query to drag, the questions 1.1 to 1.7, and answers graded as `theory check` does."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.endpoint import Endpoint, RequestBody, Service
from augenmerk.serve.limits import Overloaded, ServiceError
from augenmerk.serve.workbench import render_page
from augenmerk.theory.exercises import GRADED
from augenmerk.web.export import describe_theory

MAX_ANSWER = 2000
"""Characters of an answer; the grader has its own limits for what is in them, and for the work it does."""
MAX_WAITING = 100
"""Most answers that wait for their grades."""
PLAY = "play"
Task = Enum("Task", {task: task for task in GRADED}, type=str)  # type: ignore[misc]


class GradeRequest(RequestBody):
    """An answer to be graded."""

    task: Task
    answer: str = Field(min_length=1, max_length=MAX_ANSWER)
    """All formulas of the answer in one text, such as `q_1 = c mu_a; q_2 = c mu_b`."""


@lru_cache(maxsize=1000)
def _grade(task: str, answer: str) -> dict[str, Any]:
    """Returns the grade of an answer, which in a class many give."""
    try:
        from augenmerk.theory.grading import check
    except ModuleNotFoundError as error:  # augenmerk-slim leaves scipy out
        raise AugenmerkError(f"Grading needs {error.name}, which is not installed on the server.") from None
    return check(task, [answer]).to_dict()


def make_endpoints(service: Service) -> list[Endpoint]:
    """Returns the endpoints of the view."""
    deadline = service.limits.deadline
    # Apart from the threads that translate, because an answer may take the grader seconds.
    grader = ThreadPoolExecutor(1, "grade")
    waiting = 0

    def show(request: Request) -> Response:
        task = request.path_params.get("task", PLAY)
        if task != PLAY and task not in GRADED:
            raise HTTPException(404)
        return render_page(request, "theory", data=describe_theory(), task=task)

    async def grade(_request: Request, body: GradeRequest) -> dict[str, Any]:
        nonlocal waiting
        if waiting >= MAX_WAITING:
            raise Overloaded(f"{waiting} answers are waiting for a grade already: try again later.", 5.0)
        waiting += 1
        try:
            async with asyncio.timeout(deadline):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(grader, _grade, body.task.value, body.answer)
        except TimeoutError:
            sentence = f"There was no grade within {deadline:g} seconds: try again later."
            raise ServiceError(504, sentence) from None
        finally:
            waiting -= 1

    return [
        Endpoint("GET", "/theory", show),
        Endpoint("GET", "/theory/{task}", show),
        Endpoint("POST", "/workbench/theory/grade", grade, GradeRequest),
    ]
