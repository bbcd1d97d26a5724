"""What the tests of a run cost, and which cost too much for every commit."""

import subprocess
import sys
from types import SimpleNamespace

from tests import costs


def report(test: str, **properties: float) -> SimpleNamespace:
    return SimpleNamespace(nodeid=test, user_properties=list(properties.items()))


def test_the_cost_of_a_test_is_read_from_its_reports() -> None:
    reports = [report("a", core_seconds=1.5, other=9.0), report("b"), report("c", core_seconds=0.5)]

    assert costs.by_test([*reports, "no report"]) == {"a": 1.5, "c": 0.5}


def test_those_over_the_limit_are_named_the_dearest_first() -> None:
    said = list(costs.lines({"a": 1.0, "b": 4.0, "c": 12.0}))

    assert said[0] == "3 tests took 17 core-seconds"
    assert "2 took more than 3" in said[1]
    assert [line.split() for line in said[2:]] == [["12.0", "c"], ["4.0", "b"]]


def test_where_none_is_over_the_limit_that_is_said() -> None:
    assert list(costs.lines({"a": 3.0})) == ["1 tests took 3 core-seconds", "none took more than 3"]


def test_only_what_no_slow_machine_explains_is_refused() -> None:
    limit_s = costs.GENEROUS * costs.LIMIT_S

    assert costs.refused({"slow": limit_s}) == []
    assert costs.refused({"long": limit_s + 1}) == ["long took 16 core-seconds, 3 is the limit"]


def test_sleeping_costs_nothing_and_what_a_child_works_is_counted() -> None:
    before_s = costs.spent_s()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    worked_s = costs.spent_s() - before_s
    before_s = costs.spent_s()
    subprocess.run(["sleep", "0.5"], check=True)

    assert 0 < costs.spent_s() - before_s < worked_s
