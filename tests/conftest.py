"""Fixtures that several folders share, and the closing tables: what the run has proven, and what it cost."""

import gc
import os
import signal
from collections.abc import Generator, Iterator

import hypothesis
import pytest

from tests import costs, lanes, proof, seeds
from tests.ministack import aws_identity, dynamodb_endpoint

__all__ = ["aws_identity", "dynamodb_endpoint"]

BEGAN_S = pytest.StashKey[float]()

# A busy machine is slow, and not broken; what a test costs is counted below.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--proof", action="store_true", help="fail unless every required variant is caught")
    parser.addoption("--quotas", action="store_true", help="the same, and fail unless every quota is met")
    parser.addoption(
        "--costs", action="store_true", help="name the tests that cost too much for every commit"
    )


def _leads(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    # A shell without a terminal starts what runs beside it deaf to Ctrl-C, and so would be what tests start.
    for number, heard in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)  # an interrupted run stops what it has started
    if _leads(config):
        os.environ["HOLDFAST_PROOF"] = str(os.getpid())  # the workers inherit both
        os.environ[seeds.BASE] = str(seeds.base())


def pytest_unconfigure(config: pytest.Config) -> None:
    if _leads(config):
        proof.forget()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return lanes.scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[BEGAN_S] = costs.spent_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """With what the test's fixtures cost: one that several share is paid for by the first."""
    try:
        return (yield)
    finally:
        item.user_properties.append((costs.COST, round(costs.spent_s() - item.stash[BEGAN_S], 3)))


def _missing(config: pytest.Config) -> list[str]:
    """What this run had to show, and has not."""
    figures = proof.collect()
    if config.getoption("--quotas"):
        return proof.missing(figures)
    return proof.not_caught(figures) if config.getoption("--proof") else []


def _costs(config: pytest.Config) -> dict[str, float]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not config.getoption("--costs"):
        return {}
    return costs.by_test(report for reports in reporter.stats.values() for report in reports)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not _leads(session.config) or exitstatus:
        return
    if _missing(session.config) or costs.refused(_costs(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--costs"):
        found = _costs(config)
        terminalreporter.section("what the tests cost")
        for line in costs.lines(found):
            terminalreporter.write_line(line)
        for line in costs.refused(found):
            terminalreporter.write_line(f"TOO DEAR: {line}", red=True)
    figures = proof.collect()
    if not any(figures.values()):
        return
    proof.keep(figures, afresh=config.getoption("--proof") or config.getoption("--quotas"))
    terminalreporter.section("what stands behind the invariants")
    for line in proof.lines(figures):
        terminalreporter.write_line(line)
    if figures["virtual_hours"]:
        terminalreporter.write_line(f"seeds of this commit: {seeds.told()}")
    for line in _missing(config):
        terminalreporter.write_line(f"MISSING: {line}", red=True)


@pytest.fixture(autouse=True, scope="session")
def seldom_collected() -> Iterator[None]:
    """Searches hold many objects and make few cycles; looking for those all the time costs a third of it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 20, 1_000)
    yield
    gc.set_threshold(*before)
