"""Random histories of goals, losses, pauses and failing hooks: the service never serves without its lease."""

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.failover.agent.goals import Do, Hook
from tests.failover.agent.body import Body

HOOKS = [Hook.ON_PROMOTE, Hook.ON_DEMOTE, Hook.ON_FOLLOW, Hook.SYNC_STATUS]

moves = st.one_of(
    st.tuples(st.just("goal"), st.sampled_from(list(Do)), st.integers(0, 2)),
    st.tuples(st.just("server"), st.booleans(), st.just(0)),
    st.tuples(st.just("disk"), st.booleans(), st.just(0)),
    st.tuples(st.just("slow"), st.sampled_from(HOOKS), st.sampled_from([0.0, 1.0, 12.0])),
    st.tuples(st.just("fails"), st.sampled_from(HOOKS), st.booleans()),
    st.tuples(st.just("late"), st.sampled_from([0.0, 0.5, 2.5]), st.just(0)),
    st.tuples(st.just("pause"), st.sampled_from([1.0, 9.5, 30.0]), st.just(0)),
)
waits = st.sampled_from([0.25, 1.0, 3.0, 9.0, 11.0])


@settings(max_examples=60)
@given(st.lists(st.tuples(moves, waits), min_size=4, max_size=16))
def test_no_history_lets_it_serve_without_its_lease(
    history: list[tuple[tuple[str, object, object], float]],
) -> None:
    body = Body().start()
    for (kind, what, how), wait_s in history:
        play(body, kind, what, how)
        body.run(wait_s)
    assert not body.accidents


def play(body: Body, kind: str, what: object, how: object) -> None:
    match kind, what, how:
        case "goal", Do() as do, int() as more:
            body.tell(do, body.epoch + (more if do is not Do.SERVE else 0))
        case "server", bool() as up, _:
            body.up = up
        case "disk", bool() as full, _:
            body.disk_full = full
        case "slow", Hook() as hook, float() as takes_s:
            body.takes_s[hook] = takes_s
        case "fails", Hook() as hook, bool() as fails:
            body.fails = body.fails | {hook} if fails else body.fails - {hook}
        case "late", float() as after_s, _:
            body.answers_after_s = after_s
        case "pause", float() as for_s, _:
            body.agent_runs = False  # SIGSTOP: hooks and the watchdog go on
            body.run(for_s)
            body.agent_runs = True


def test_what_a_history_leaves_behind_heals() -> None:
    body = Body(takes_s={Hook.ON_PROMOTE: 3.0, Hook.ON_DEMOTE: 12.0}).start()
    for epoch in range(1, 6):
        body.tell(Do.PROMOTE, epoch)
        body.run(4.5)
        body.up = epoch % 2 == 0
        body.run(7)
        body.up = True
    body.takes_s = {}
    body.tell(Do.PROMOTE, 6)
    body.run(20)
    assert body.serves() == 6
    assert not body.accidents
