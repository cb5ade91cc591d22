"""The theory view: a query to drag, the questions 1.1 to 1.7, and answers graded as `theory check` does."""

from typing import Literal, get_args

from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.errors import AugenmerkError
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.guard import read_body
from augenmerk.serve.hang_up import until_hang_up
from augenmerk.serve.schemas import Request as Question
from augenmerk.serve.workbench import Workbench, render_page
from augenmerk.web.theory_export import describe_theory

MAX_ANSWER = 2000
"""Characters of an answer; the grader has limits of its own for what is in them, and for the work it does."""
PLAY = "play"
Task = Literal["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]


class GradeRequest(Question):
    """An answer to be graded."""

    task: Task
    answer: str = Field(min_length=1, max_length=MAX_ANSWER)
    """All formulas of the answer in one text, such as `q_1 = c mu_a; q_2 = c mu_b`."""


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of the view."""

    async def show(request: Request) -> Response:
        task = request.path_params.get("task", PLAY)
        if task != PLAY and task not in get_args(Task):
            raise HTTPException(404)
        script = "workbench/theory.js"
        return render_page(request, "theory", "theory.html", script=script, data=describe_theory(), task=task)

    async def grade(request: Request) -> Response:
        service = workbench.service
        wanted = GradeRequest.parse(await read_body(request, service.limits))

        def check() -> dict[str, object]:
            try:
                from augenmerk.theory.grading import check
            except ModuleNotFoundError as error:  # augenmerk-slim leaves scipy out
                raise AugenmerkError(
                    f"Grading needs {error.name}, which is not installed on the server."
                ) from None
            return check(wanted.task, [wanted.answer]).as_dict()

        return JsonResponse(await until_hang_up(request, service.batcher.compute(check)))

    return [
        Route("/theory", show),
        Route("/theory/{task}", show),
        Route("/workbench/theory/grade", grade, methods=["POST"]),
    ]
