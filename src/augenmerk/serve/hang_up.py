"""Work for a client that may hang up."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")

PATIENCE = 0.2
"""Seconds after which the server begins to look whether a client has hung up."""


async def until_hang_up(request: Request, work: Awaitable[T]) -> T:
    """Awaits work for a client; cancels it and raises ClientDisconnect if the client hangs up."""
    task = asyncio.current_task()
    watching: asyncio.Task[None] | None = None
    hung_up = False
    assert task is not None

    async def watch() -> None:
        nonlocal hung_up
        while (await request.receive())["type"] != "http.disconnect":
            pass
        hung_up = True
        task.cancel()

    def start_watching() -> None:
        nonlocal watching
        watching = asyncio.create_task(watch())

    # Most are answered before that, and a timer costs less than a task.
    timer = asyncio.get_running_loop().call_later(PATIENCE, start_watching)
    try:
        return await work
    except asyncio.CancelledError:
        if not hung_up:
            raise
        task.uncancel()
        raise ClientDisconnect from None
    finally:
        timer.cancel()
        if watching is not None:
            watching.cancel()
