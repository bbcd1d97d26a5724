"""Every symbol and test that the pages of the designs name exists, and nothing of the designs is left out."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.tidy.repository import ROOT, assert_none

PAGES = ("docs/seeds.md", "docs/lifecycle-defects.md")
CODE = re.compile(r"`([^`]+)`")
ATTRIBUTES = """pk scalingInProgress lastScaleEpoch pendingSinceEpoch idleSinceEpoch workerCount lockOwner
    lockUntilEpoch scaleUpActionId scaleUpStartedEpoch scaleUpRequested scaleUpInstanceIds scaleDownActionId
    scaleDownStartedEpoch scaleDownPhase scaleDownTargetInstanceIds scaleDownCompletedInstanceIds"""
TRANSITIONS = """beginScaleUp recordScaleUpInstances completeScaleUp failScaleUp beginScaleDown
    markScaleDownInstanceDone completeScaleDown failScaleDown"""
SETTINGS = """CPU_UP CPU_DOWN PENDING_UP_SEC IDLE_DOWN_SEC COOLDOWN_UP_SEC COOLDOWN_DOWN_SEC MIN_WORKERS
    MAX_WORKERS MAX_BATCH_UP MAX_BATCH_DOWN JOIN_TIMEOUT_SEC DRAIN_TIMEOUT_SEC SCALE_DOWN_STUCK_SEC
    LOCK_TTL_SEC STATE_TABLE LOGS_TABLE"""

LEASE_TABLE = """<stream_name>_meta <app>_coordinator worker_id max_leases_per_worker stream_name app_name
    shard_count worker_count last_update_time"""
LEASE_FUNCTIONS = """InitializeMaxLeasesPerWorker NewKDSLeaseManager InitializeMetadataTable GetShardCount
    GetWorkerCount GetCoordinatorMetadata CalculateMaxLeasesPerWorker TryCreateCoordinatorMetadata
    UpdateCoordinatorMetadata SaveMetadata"""
LEASE_VARIABLES = """ENABLE_DYNAMIC_MAX_LEASES KDS_WORKER_COUNT AWS_REGION STREAM_NAME APP_NAME POD_NAME
    POD_NAMESPACE HOSTNAME AWS_ENDPOINT_URL"""


def rows() -> list[tuple[str, str, str]]:
    """Name, symbol and test of every line of every table."""
    found = []
    for line in (line for page in PAGES for line in Path(ROOT, page).read_text().splitlines()):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and not set(cells[0]) <= {"-"} and cells[1] != "symbol":
            found.append((cells[0], cells[1], cells[2]))
    return found


def faults(symbol: str, test: str) -> Iterator[str]:
    for name in CODE.findall(symbol) or [symbol]:
        if not resolves(name):
            yield f"there is no {name}"
    for name in CODE.findall(test) or [test]:
        if not is_test(name):
            yield f"there is no test {name}"


def resolves(name: str) -> bool:
    """Whether a dotted name leads from a module to something that it defines."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return n < len(parts)
    return False


def is_test(name: str) -> bool:
    """Whether `tests/a/test_b.py` holds tests, or `tests/a/test_b.py::test_c[case]` is one of them."""
    file, _, test = name.partition("::")
    function, _, case = test.removesuffix("]").partition("[")
    path = Path(ROOT, file)
    if not file.startswith("tests/") or not path.is_file():
        return False
    wanted = rf"{re.escape(function)}\(" if function else "test_"
    there = re.search(rf"^(async )?def {wanted}", path.read_text(), re.MULTILINE) is not None
    return there and (not case or case in cases(file, function))


@cache
def cases(file: str, function: str) -> frozenset[str]:
    """As pytest calls them."""
    argv = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    done = subprocess.run([sys.executable, "-m", "pytest", *argv], cwd=ROOT, capture_output=True, text=True)
    begun = f"{file}::{function}["
    return frozenset(
        line.removeprefix(begun).removesuffix("]")
        for line in done.stdout.splitlines()
        if line.startswith(begun)
    )


def test_every_symbol_and_test_on_the_page_exists() -> None:
    assert_none(f"{name}: {fault}" for name, symbol, test in rows() for fault in faults(symbol, test))


@pytest.mark.parametrize(
    "names",
    [ATTRIBUTES, TRANSITIONS, SETTINGS, LEASE_TABLE, LEASE_FUNCTIONS, LEASE_VARIABLES],
    ids=["attributes", "transitions", "settings", "lease table", "lease functions", "lease variables"],
)
def test_nothing_of_the_designs_is_left_out(names: str) -> None:
    told = {CODE.findall(name)[0] for name, _, _ in rows() if name.startswith("`")}

    assert set(names.split()) <= told


def test_every_known_defect_has_its_guard() -> None:
    told = {name.partition(":")[0] for name, _, _ in rows()}
    bugs = {f"A.9.{n}" for n in range(1, 16)} | {f"A{n}" for n in range(1, 11)}
    hazards = {f"H{n}" for n in (1, 4, 5, 6, 7, *range(10, 17))}

    leases = {f"C{n}" for n in range(1, 14)} | {"S9", "S10", "S11"}
    lifecycle = {f"B.9.{n}" for n in range(1, 12)} | {f"B{n}" for n in range(1, 16)}
    lifecycle |= {f"S{n}" for n in range(4, 9)} | {f"H{n}" for n in (2, 3, *range(18, 47))}

    assert bugs | hazards | leases | lifecycle <= told


def test_each_of_the_hundred_things_of_the_lifecycle_is_told() -> None:
    told = {name.partition(":")[0] for name, _, _ in rows()}

    assert {f"003.{n}" for n in range(1, 101)} <= told


def test_every_log_line_of_a_starting_worker_is_told() -> None:
    source = Path(ROOT, "src/holdfast/leases/worker/log_lines.py").read_text()
    lines = set(re.findall(r'LogLine\("([^"]+)"', source))
    told = {CODE.findall(name)[0] for name, _, _ in rows() if name.startswith("`")}

    assert len(lines) == 8
    assert lines <= told


@pytest.mark.parametrize(
    ("symbol", "test"),
    [
        (
            "`holdfast.autoscaler.scale_up.action.nothing_of_the_kind`",
            "`tests/autoscaler/unit/tick/test_lock.py`",
        ),
        ("`holdfast.autoscaler.no_such_module.begin`", "`tests/autoscaler/unit/tick/test_lock.py`"),
        (
            "`holdfast.autoscaler.scale_up.action.begin`",
            "`tests/autoscaler/unit/tick/test_lock.py::test_nothing_of_the_kind`",
        ),
        ("`holdfast.autoscaler.scale_up.action.begin`", "`tests/unit/test_no_such_file.py`"),
        ("words", "`tests/autoscaler/unit/tick/test_lock.py`"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_fault(symbol: str, test: str) -> None:
    assert list(faults(symbol, test))
