"""The theory view: a query to drag, the questions 1.1 to 1.7, and answers graded as `theory check` does."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from augenmerk.errors import AugenmerkError
from augenmerk.serve.answers import JsonResponse
from augenmerk.serve.guard import read_body
from augenmerk.serve.workbench import Workbench, render_page
from augenmerk.theory.questions import QUESTIONS
from augenmerk.web.theory_export import describe_theory

MAX_ANSWER = 2000
"""Characters of an answer; the grader has limits of its own for what is in them, and for the work it does."""
PLAY = "play"
Task = Literal["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]


class GradeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: Task
    answer: Annotated[str, Field(min_length=1, max_length=MAX_ANSWER)]
    """All formulas of an answer in one text, such as `q_1 = c mu_a; q_2 = c mu_b`."""

    @classmethod
    def parse(cls, body: bytes) -> "GradeRequest":
        """Reads a request; raises AugenmerkError with a sentence about the first thing that is wrong."""
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise AugenmerkError(f"{where or 'The body'}: {first['msg']}.") from None


def make_routes(workbench: Workbench) -> list[BaseRoute]:
    """Returns the routes of the view."""

    async def show(request: Request) -> Response:
        task = request.path_params.get("task", PLAY)
        if task != PLAY and task not in QUESTIONS:
            raise HTTPException(404)
        script = "workbench/theory.js"
        return render_page(request, "theory", "theory.html", script=script, data=describe_theory(), task=task)

    async def grade(request: Request) -> Response:
        service = workbench.service
        wanted = GradeRequest.parse(await read_body(request, service.limits))

        def check() -> dict[str, object]:
            from augenmerk.theory.grading import check

            return check(wanted.task, [wanted.answer]).as_dict()

        return JsonResponse(await service.batcher.compute(check))

    return [
        Route("/theory", show),
        Route("/theory/{task}", show),
        Route("/workbench/theory/grade", grade, methods=["POST"]),
    ]
