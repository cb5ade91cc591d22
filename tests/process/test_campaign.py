"""Up to a hundred cases of each kind of the campaign; `make soak` runs it for as long as it is told."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="this system does not fork, or not as Linux does"
)

# A case of the last ones trains a model, or two.
CASES = {
    "commands": 100,
    "files": 100,
    "runs": 100,
    "streams": 100,
    "full": 32,
    "few_files": 32,
    "both": 20,
    "writes": 32,
    "kills": 12,
    "edited": 8,
    "texts": 40,
}
PARTS = 4
"""Each kind is split, so that the processes of pytest share it."""


@pytest.fixture(scope="module")
def campaign(
    shared_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[tuple[object, Path, Path]]":
    from tests.campaign.server import Server
    from tests.campaign.world import make_world

    output = tmp_path_factory.mktemp("campaign")
    server = Server(output)
    try:
        with FileLock(shared_folder / "campaign.lock"):
            make_world(shared_folder / "campaign", server)
        yield server, shared_folder / "campaign", output / "case"
    finally:
        server.close()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", CASES)
def test_no_case_of_the_campaign_fails(campaign, kind: str, part: int) -> None:  # type: ignore[no-untyped-def]
    from tests.campaign.__main__ import describe, run_case

    server, world, folder = campaign
    for number in range(part, CASES[kind], PARTS):
        _, failure = run_case(server, world, folder, 0, kind, number)
        if failure is not None:
            said = f"{failure.reason}\n{describe(failure.commands)}\n{failure.detail}"
            pytest.fail(f"python -m tests.campaign --seed 0 --case {kind}:{number}\n{said}", pytrace=False)


def test_a_fault_is_found(campaign, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The judge is not blind."""
    from tests.campaign.kinds import Case, Failure
    from tests.campaign.server import Command, Outcome

    server, world, _ = campaign
    case = Case(server, world, tmp_path / "case", "1")
    command = Command(("translate", "--json", "x"))
    good = Outcome(0, 0.1, hung=False, signalled=False, out="{}", err="")
    case.judge(command, good)
    for fault, reason in (
        ({"hung": True}, "hangs"),
        ({"code": 1}, "exit code 1"),
        ({"code": -11}, "exit code -11"),
        ({"code": 2, "err": "oops"}, "without a sentence"),
        ({"out": "{} {}"}, "something else"),
        ({"out": "NaN"}, "something else"),
        ({"err": "\x1b[31m"}, "control character"),
        ({"err": "Traceback (most recent call last):\nKeyError: 3"}, "traceback: KeyError: N"),
    ):
        with pytest.raises(Failure, match=reason):
            case.judge(command, replace(good, **fault))
