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
from starlette.routing import BaseRoute, Route

from augenmerk.base.errors import AugenmerkError
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.errors import Overloaded, TooLate
from augenmerk.serve.guard import read_body
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.schemas import Request as Question
from augenmerk.serve.workbench import Workbench, render_page
from augenmerk.theory.exercises import GRADED
from augenmerk.web.theory_export import describe_theory

MAX_ANSWER = 2000
"""Characters of an answer; the grader has limits of its own for what is in them, and for the work it does."""
MAX_WAITING = 100
"""How many answers wait for their grades, at most."""
PLAY = "play"
Task = Enum("Task", {task: task for task in GRADED}, type=str)  # type: ignore[misc]


class GradeRequest(Question):
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
    return check(task, [answer]).as_dict()


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of the view."""

    async def show(request: Request) -> Response:
        task = request.path_params.get("task", PLAY)
        if task != PLAY and task not in GRADED:
            raise HTTPException(404)
        script = "workbench/theory.js"
        return render_page(request, "theory", "theory.html", script=script, data=describe_theory(), task=task)

    # Apart from the threads that translate, because an answer may take the grader seconds.
    grader = ThreadPoolExecutor(1, "grade")
    waiting = 0

    async def wait_for_grade(task: str, answer: str) -> dict[str, Any]:
        nonlocal waiting
        if waiting >= MAX_WAITING:
            raise Overloaded(f"{waiting} answers are waiting for a grade already: try again later.", 5.0)
        deadline = workbench.service.limits.deadline
        waiting += 1
        try:
            async with asyncio.timeout(deadline):
                return await asyncio.get_running_loop().run_in_executor(grader, _grade, task, answer)
        except TimeoutError:
            raise TooLate(f"There was no grade within {deadline:g} seconds: try again later.") from None
        finally:
            waiting -= 1

    async def grade(request: Request) -> Response:
        wanted = GradeRequest.parse(await read_body(request, workbench.service.limits))
        return JsonResponse(await until_hang_up(request, wait_for_grade(wanted.task.value, wanted.answer)))

    return [
        Route("/theory", show),
        Route("/theory/{task}", show),
        Route("/workbench/theory/grade", grade, methods=["POST"]),
    ]
