"""The tables agree with each other, with the agent's, with the events that are told, and with their page."""

from itertools import pairwise

from holdfast.failover.agent.goals import CONDUCT
from holdfast.failover.agent.goals import Do as AgentDo
from holdfast.failover.asks.rules import ASKED
from holdfast.failover.goals import GOALS, Do, goal_of
from holdfast.failover.roles import Status
from holdfast.failover.rules.table import RULES
from tests.failover.model.bench import Bench, standing
from tools.lifecycle_page import PAGE, ordered, page


def test_the_agent_can_do_all_that_a_server_may_ask() -> None:
    assert {do.value for do in Do} == {do.value for do in AgentDo}
    assert {do.value for do in GOALS.values()} <= {do.value for do in CONDUCT}
    assert set(GOALS) == set(Status)


def test_numbers_only_rise_and_the_hundreds_are_the_concern() -> None:
    numbers = [rule.number for rule in RULES]
    assert all(before < after for before, after in pairwise(numbers))
    assert {number // 100 for number in numbers} == {2, 3, 4, 5}
    assert {rule.number // 100 for rule in ASKED} == {1}
    everything = ordered()
    assert len({rule.number for rule in everything}) == len(everything)


def test_the_page_is_drawn_from_the_tables() -> None:
    assert PAGE.read_text() == page(), "write it anew: python -m tools.lifecycle_page"


def test_every_event_names_a_rule_that_there_is() -> None:
    bench = standing()
    bench.silent.add("i-1")
    bench.live(30)
    known = {rule.number for rule in ordered()}
    for logged in bench.store.events("acme/db"):
        assert logged.event.numbers["rule"] in known, logged
        assert logged.event.code, logged


def test_goals_of_each_status() -> None:
    bench = standing()
    assert goal_of(bench.group, "i-1", 7, bench.now).do is Do.SERVE
    follow = goal_of(bench.group, "i-2", 7, bench.now)
    assert follow.do is Do.FOLLOW
    assert follow.primary is not None
    assert (follow.primary.instance_id, follow.primary.address) == ("i-1", "i-1:5432")
    stranger = goal_of(bench.group, "i-9", 7, bench.now)
    assert not stranger.enabled
    bench.silent.add("i-1")
    bench.now += 11
    bench.beat()
    bench.step()
    old = goal_of(bench.group, "i-1", 8, bench.now)
    assert (old.do, old.epoch) == (Do.DEMOTE, 2)
    bench.step()
    bench.now += 2
    chosen = goal_of(bench.group, "i-2", 9, bench.now)
    assert (chosen.do, chosen.epoch, chosen.deadline_in_s) == (Do.PROMOTE, 2, 58.0)
    assert goal_of(bench.group, "i-2", 9, bench.now + 600).deadline_in_s == 0.0
    waits = goal_of(bench.group, "i-3", 9, bench.now)
    assert (waits.do, waits.primary, waits.epoch) == (Do.FOLLOW, None, 1), "keep on as before"


def test_an_empty_group_asks_nothing() -> None:
    assert not goal_of(Bench().group, "i-1", 0, 1.0).enabled
