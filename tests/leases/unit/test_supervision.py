"""A KCL is started anew when shards would stay unread, never for less, and never out of turn."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.leases.supervision import Move, Situation, next_move

UNREAD = Situation(running=4, told=12, unread_for_s=5.0, has_turn=False)


def move(now: Situation) -> Move:
    return next_move(now, steady_s=5.0, settle_s=20.0)


def test_shards_that_stay_unread_take_the_turn_and_then_restart() -> None:
    assert move(UNREAD) is Move.TAKE_TURN
    assert move(replace(UNREAD, has_turn=True)) is Move.RESTART


@pytest.mark.parametrize(
    "now",
    [
        replace(UNREAD, unread_for_s=None),
        replace(UNREAD, unread_for_s=4.9),
        replace(UNREAD, told=4),
        replace(UNREAD, told=3),
        replace(UNREAD, running=None),
    ],
    ids=["all are read", "not for long", "the same number", "a lower number", "not started yet"],
)
def test_without_need_it_runs_on_and_gives_back_a_turn_that_it_has(now: Situation) -> None:
    assert move(now) is Move.RUN_ON
    assert move(replace(now, has_turn=True)) is Move.END_TURN


def test_the_turn_ends_only_when_the_restarted_kcl_was_up_for_a_while() -> None:
    ordered = replace(UNREAD, has_turn=True, ordered=True)
    assert move(ordered) is Move.RUN_ON
    assert move(replace(ordered, up_for_s=19.9)) is Move.RUN_ON
    assert move(replace(ordered, up_for_s=20.0)) is Move.END_TURN


SITUATIONS = st.builds(
    Situation,
    running=st.none() | st.integers(1, 80),
    told=st.integers(1, 80),
    unread_for_s=st.none() | st.floats(0, 60),
    has_turn=st.booleans(),
    ordered=st.booleans(),
    up_for_s=st.none() | st.floats(0, 60),
)


@given(SITUATIONS)
def test_a_restart_always_has_its_turn_a_higher_number_and_unread_shards(now: Situation) -> None:
    if move(now) is Move.RESTART:
        assert now.has_turn
        assert now.running is not None
        assert now.told > now.running
        assert now.unread_for_s is not None
        assert not now.ordered
