"""Fixtures that several folders share, and the closing table of what the run has proven."""

import gc
import os
from collections.abc import Iterator

import pytest

from tests import proof
from tests.ministack import aws_identity, dynamodb_endpoint

__all__ = ["aws_identity", "dynamodb_endpoint"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--proof", action="store_true", help="fail unless the run shows all that a whole run must"
    )


def _leads(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if _leads(config):
        os.environ["HOLDFAST_PROOF"] = str(os.getpid())  # the workers inherit it


def pytest_unconfigure(config: pytest.Config) -> None:
    if _leads(config):
        proof.forget()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    wanted = session.config.getoption("--proof")
    if _leads(session.config) and wanted and not exitstatus and proof.missing(proof.collect()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = proof.collect()
    if not any(figures.values()):
        return
    proof.keep(figures, afresh=config.getoption("--proof"))
    terminalreporter.section("what stands behind the invariants")
    for line in proof.lines(figures):
        terminalreporter.write_line(line)
    if config.getoption("--proof"):
        for line in proof.missing(figures):
            terminalreporter.write_line(f"MISSING: {line}", red=True)


@pytest.fixture(autouse=True, scope="session")
def seldom_collected() -> Iterator[None]:
    """Searches hold many objects and make few cycles; looking for those all the time costs a third of it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 20, 1_000)
    yield
    gc.set_threshold(*before)
