"""A few cases of each kind of the campaign; `make soak` runs it for as long as it is told."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.campaign.__main__ import run_cases
from tests.campaign.case import Case, Failure
from tests.campaign.world import make_world
from tests.support.processes import Command, Forker, Outcome

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="this system does not fork, or not as Linux does"
)

CASES = {
    **{"commands": 10, "files": 10, "runs": 8, "streams": 8, "texts": 4, "full": 6, "few_files": 4},
    **{"both": 4, "writes": 4, "kills": 3, "edited": 2},
}


@pytest.fixture(scope="module")
def world(shared_folder: Path, forker: Forker) -> Path:
    """The files that commands are run on, made once for all processes of pytest."""
    with FileLock(shared_folder / "campaign.lock"):
        make_world(shared_folder / "campaign", forker)
    return shared_folder / "campaign"


@pytest.mark.parametrize("kind", CASES)
def test_no_case_of_the_campaign_fails(kind: str, forker: Forker, world: Path, tmp_path: Path) -> None:
    found = run_cases(forker, world, tmp_path / "case", kind, CASES[kind])
    assert not found.failures, "\n".join(found.failures.values())
    assert found.cases == CASES[kind]


@settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_fault_is_found(forker: Forker, world: Path, tmp_path: Path, data: st.DataObject) -> None:
    """The judge is not blind."""
    case = Case(forker, world, tmp_path / "case", data)
    command = Command(("translate", "--json", "x"))
    good = Outcome(0, out="{}")
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
