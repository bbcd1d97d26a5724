"""The agent's table covers all that a server may ask."""

import re
from dataclasses import asdict
from pathlib import Path

import msgspec

from holdfast.agent import calls
from holdfast.agent.wire import goal
from holdfast.failover import goals as asked
from holdfast.failover.agent.goals import CONDUCT, Do
from holdfast.failover.agent.report import HookState, Report
from holdfast.failover.api import wire
from holdfast.failover.api.operations import OPERATIONS, Caller
from holdfast.failover.roles import Status
from holdfast.server.desk.agents import goal_view


def test_every_goal_of_every_status_has_a_row() -> None:
    assert set(asked.GOALS) == set(Status)
    assert {Do(do.value) for do in asked.Do} == set(CONDUCT)
    assert {Do(do.value) for do in asked.GOALS.values()} == set(CONDUCT)


def test_every_goal_is_understood_as_it_is_sent() -> None:
    for do in asked.Do:
        sent = asked.Goal(7, 3, do, asked.Primary("i-2", "10.0.0.2:5432"), 12.5)
        heard = goal(goal_view(sent))
        assert heard is not None
        assert (heard.do.value, heard.epoch, heard.version) == (do.value, 3, 7)
        assert (heard.primary, heard.address, heard.deadline_in_s) == ("i-2", "10.0.0.2:5432", 12.5)


def test_the_report_has_the_fields_and_words_of_the_wire() -> None:
    report = Report(
        status="running", hook_goal="promote", hook_epoch=1, hook_state="done", hook_output="", position="",
        lag_s=None, sync_age_s=None, sync_epoch=0, healthy=None, health_reason="", highest_epoch=1,
        served_epoch=1, watchdog_ok=True, address="",
    )  # fmt: skip
    assert tuple(asdict(report)) == wire.Report.__struct_fields__
    for state in HookState:
        for conduct in CONDUCT.values():
            said = {**asdict(report), "hook_state": state.value, "hook_goal": conduct.says.value}
            msgspec.convert(said, wire.Report)


def test_what_is_no_goal_is_none() -> None:
    fine = {"version": 1, "epoch": 1, "do": "serve", "primary": None, "deadline_in_s": None}
    assert goal(fine) is not None
    odd: list[object] = [None, [], "serve", {}, {**fine, "do": "dance"}, {**fine, "epoch": "x"}]
    for each in odd:
        assert goal(each) is None


def test_every_route_that_an_agent_asks_for_is_one_of_the_servers() -> None:
    """B.9.6: by the text of the calls, so that none is forgotten."""
    source = Path(calls.__file__).read_text()
    named = [name.partition("?")[0] for name in re.findall(r'_path\(f?"([^"]+)"\)', source)]
    kinds = [name.replace("{notice.kind}", kind) for name in named for kind in ("rebalance", "termination")]
    asked_for = {f"/api/agents/{{agent_id}}/{name}" for name in kinds} | {"/api/agents/register"}
    of_agents = {Caller.AGENT, Caller.ENROLMENT}
    assert '"/api/agents/register"' in source
    assert asked_for == {each.path for each in OPERATIONS if each.caller in of_agents}
