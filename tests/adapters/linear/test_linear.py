"""The checker agrees with brute force, and catches each way in which a store can lie."""

from dataclasses import dataclass
from itertools import count
from math import inf
from random import Random
from typing import Any, Literal

import pytest

from holdfast.testing.linear import (
    Commit,
    NotLinearizable,
    Operation,
    Read,
    RegisterAnswer,
    RegisterCall,
    VersionedRegister,
    check,
)
from tests.adapters.linear.histories import Recorder, Registered, bent, register_rule, some_order_fits

REGISTER = VersionedRegister()


def did(
    client: str, call: RegisterCall, called_at: float, returned_at: float, answer: RegisterAnswer
) -> Registered:
    return Operation(client, call, called_at, returned_at, answer)


def lost(client: str, call: RegisterCall, called_at: float) -> Registered:
    return Operation(client, call, called_at, inf, None)


def accepts(history: list[Registered]) -> bool:
    try:
        check(REGISTER, history)
    except NotLinearizable:
        return False
    return True


def test_it_agrees_with_brute_force_on_small_histories() -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(1_500):
        random = Random(seed)
        history = Recorder(random, clients=3, lost_share=0.15).record(random.randint(3, 6))
        for _ in range(random.randint(0, 2)):
            history = bent(history, random)
        expected = some_order_fits(register_rule, (0, ""), history)
        assert accepts(history) == expected, f"seed {seed}: {history}"
        verdicts[expected] += 1
    assert min(verdicts.values()) >= 300, verdicts


def test_the_shortcuts_of_a_model_change_no_verdict() -> None:
    class Plain:
        start = staticmethod(REGISTER.start)
        apply = staticmethod(REGISTER.apply)

    verdicts = {True: 0, False: 0}
    for seed in range(200):
        random = Random(seed)
        history = bent(Recorder(random, clients=5, lost_share=0.1).record(40), random)
        expected = accepts(history)
        try:
            check(Plain(), history)
            verdict = True
        except NotLinearizable:
            verdict = False
        assert verdict == expected, f"seed {seed}"
        verdicts[expected] += 1
    assert min(verdicts.values()) >= 20, verdicts


@dataclass(frozen=True)
class Bag:
    """Another model, whose calls may lead to several states: `drop` removes one thing, untold which."""

    def start(self) -> frozenset[str]:
        return frozenset()

    def apply(self, state: frozenset[str], call: str, answer: frozenset[str] | None) -> list[frozenset[str]]:
        if call == "look":
            return [state] if answer in (None, state) else []
        if call == "drop":
            dropped = [state - {one} for one in sorted(state)]
            return [*dropped, state] if answer is None else dropped
        added = state | {call}
        return [state, added] if answer is None else [added]


def test_it_agrees_with_brute_force_when_a_call_may_lead_to_several_states() -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(1_000):
        random = Random(seed)
        history = [_bag_operation(random, f"c{n}") for n in range(random.randint(2, 6))]
        expected = some_order_fits(Bag().apply, Bag().start(), history)
        try:
            check(Bag(), history)
            verdict = True
        except NotLinearizable:
            verdict = False
        assert verdict == expected, f"seed {seed}: {history}"
        verdicts[expected] += 1
    assert min(verdicts.values()) >= 100, verdicts


def _bag_operation(random: Random, client: str) -> Operation[str, frozenset[str]]:
    call = random.choice(["a", "b", "drop", "look", "look"])
    called_at = random.uniform(0, 10)
    if random.random() < 0.2:
        return Operation(client, call, called_at, inf, None)
    seen = frozenset(thing for thing in "ab" if random.random() < 0.5) if call == "look" else frozenset()
    return Operation(client, call, called_at, called_at + random.uniform(0, 5), seen)


def test_an_empty_history_is_linearizable() -> None:
    check(REGISTER, [])


def test_a_lost_write_may_be_seen_later() -> None:
    check(
        REGISTER,
        [
            lost("a", Commit(0, "A"), 1),
            did("b", Read(), 2, 3, (0, "")),
            did("b", Commit(0, "B"), 4, 5, "conflict"),
            did("b", Read(), 6, 7, (1, "A")),
        ],
    )


def test_a_lost_write_may_never_happen() -> None:
    check(REGISTER, [lost("a", Commit(0, "A"), 1), did("b", Commit(0, "B"), 2, 3, "done")])


def test_a_lost_write_is_not_seen_before_it_was_called() -> None:
    with pytest.raises(NotLinearizable):
        check(REGISTER, [did("b", Read(), 1, 2, (1, "A")), lost("a", Commit(0, "A"), 3)])


def test_a_lost_write_takes_effect_once() -> None:
    with pytest.raises(NotLinearizable):
        check(
            REGISTER,
            [
                lost("a", Commit(0, "A"), 1),
                did("b", Read(), 2, 3, (1, "A")),
                did("b", Commit(1, "B"), 4, 5, "done"),
                did("b", Read(), 6, 7, (1, "A")),
            ],
        )


def test_a_read_does_not_go_back_in_time() -> None:
    with pytest.raises(NotLinearizable) as caught:
        check(
            REGISTER,
            [
                did("a", Commit(0, "A"), 1, 2, "done"),
                did("b", Read(), 3, 4, (1, "A")),
                did("c", Read(), 5, 6, (0, "")),
            ],
        )
    assert [operation.client for operation in caught.value.stuck] == ["c"]


def test_concurrent_reads_may_see_either_side_of_a_write_but_not_both_ways_round() -> None:
    write = did("a", Commit(0, "A"), 1, 10, "done")
    old, new = (0, ""), (1, "A")
    check(REGISTER, [write, did("b", Read(), 2, 3, old), did("c", Read(), 4, 5, new)])
    with pytest.raises(NotLinearizable):
        check(REGISTER, [write, did("b", Read(), 2, 3, new), did("c", Read(), 4, 5, old)])


def test_an_operation_called_at_the_moment_another_returns_is_concurrent_with_it() -> None:
    read = did("b", Read(), 2, 3, (0, ""))
    check(REGISTER, [did("a", Commit(0, "A"), 1, 2, "done"), read])
    with pytest.raises(NotLinearizable) as caught:
        check(REGISTER, [did("a", Commit(1, "A"), 1, 2, "done"), did("b", Read(), 2, 3, (1, ""))])
    assert len(caught.value.history) == 2


def test_one_version_has_one_winner() -> None:
    with pytest.raises(NotLinearizable):
        check(REGISTER, [did("a", Commit(0, "A"), 1, 3, "done"), did("b", Commit(0, "B"), 2, 4, "done")])


def test_an_acknowledged_write_is_not_lost() -> None:
    with pytest.raises(NotLinearizable):
        check(REGISTER, [did("a", Commit(0, "A"), 1, 2, "done"), did("b", Read(), 3, 4, (0, ""))])


def test_no_commit_conflicts_over_a_version_that_has_not_moved_yet() -> None:
    with pytest.raises(NotLinearizable):
        check(REGISTER, [did("a", Commit(0, "A"), 1, 2, "conflict"), did("b", Commit(0, "B"), 3, 4, "done")])


def test_a_writer_that_met_its_own_first_try_is_told_from_one_that_lost() -> None:
    """A retry inside a client turns our own write into a conflict: the record then shows our id."""
    with pytest.raises(NotLinearizable):
        check(REGISTER, [did("a", Commit(0, "A"), 1, 2, "conflict"), did("a", Read(), 3, 4, (1, "A"))])


def test_busy_changes_nothing_in_any_state() -> None:
    busy = did("a", Commit(0, "A"), 1, 2, "busy")
    check(REGISTER, [busy, did("b", Commit(0, "B"), 3, 4, "done")])
    with pytest.raises(NotLinearizable):
        check(REGISTER, [busy, did("b", Read(), 3, 4, (1, "A"))])


def test_a_register_may_start_anywhere() -> None:
    history = [did("a", Read(), 1, 2, (7, "G")), did("a", Commit(7, "H"), 3, 4, "done")]
    check(VersionedRegister(7, "G"), history)
    with pytest.raises(NotLinearizable):
        check(REGISTER, history)


def test_an_answer_that_does_not_belong_to_its_call_is_an_error_of_the_recorder() -> None:
    with pytest.raises(ValueError, match="never answered 'done'"):
        check(REGISTER, [did("a", Read(), 1, 2, "done")])


@pytest.mark.parametrize(
    ("called_at", "returned_at", "answer"),
    [(2, 1, "done"), (1, inf, "done"), (1, 2, None), (float("nan"), 2, "done")],
)
def test_an_operation_refuses_times_that_contradict_its_answer(
    called_at: float, returned_at: float, answer: Literal["done"] | None
) -> None:
    with pytest.raises(ValueError, match="Operation"):
        Operation("a", Commit(0, "A"), called_at, returned_at, answer)


def test_the_message_fails_again_when_it_is_replayed() -> None:
    history = Recorder(Random(1), clients=5, lost_share=0.1).record(60)
    middle = sorted(history, key=lambda operation: operation.called_at)[30].called_at
    lie = did("liar", Read(), middle, middle + 0.5, (1, "no one's"))

    with pytest.raises(NotLinearizable) as first:
        check(REGISTER, [*history, lie])
    source = str(first.value).partition("replay (from math import inf):\n")[2]
    words: dict[str, Any] = {
        "check": check, "model": REGISTER, "Operation": Operation, "Commit": Commit, "Read": Read, "inf": inf,
    }  # fmt: skip
    with pytest.raises(NotLinearizable) as second:
        eval(source, words)

    assert str(second.value) == str(first.value)
    assert lie in first.value.stuck
    assert len(first.value.history) < len(history), "what was called after the failure is left out"


def test_the_reported_prefix_is_legal_and_nothing_stuck_can_follow_it() -> None:
    failures = 0
    for seed in count():
        random = Random(seed)
        history = bent(Recorder(random, clients=5, lost_share=0.1).record(60), random)
        try:
            check(REGISTER, history)
            continue
        except NotLinearizable as caught:
            failure = caught
        state = REGISTER.start()
        for operation, after in failure.prefix:
            assert after in register_rule(state, operation.call, operation.answer)
            state = after
        assert state == failure.state
        assert failure.stuck
        assert not any(register_rule(state, one.call, one.answer) for one in failure.stuck)
        failures += 1
        if failures == 50:
            return


def test_a_history_of_two_thousand_operations_is_checked() -> None:
    history = Recorder(Random(5), clients=8, lost_share=0.05).record(2_000)
    assert len(history) == 2_000

    check(REGISTER, history)

    end = max(operation.called_at for operation in history) + 10_000
    with pytest.raises(NotLinearizable):
        check(REGISTER, [*history, did("late", Read(), end, end + 1, (0, ""))])


def test_two_hundred_undecidable_losses_do_not_multiply() -> None:
    """Two writers lose their answers at every version: which one won is never told, nor asked twice."""
    history: list[Registered] = []
    for version in range(0, 200, 2):
        history += [
            lost("a", Commit(version, f"a{version}"), version),
            lost("b", Commit(version, f"b{version}"), version),
        ]
        history.append(did("c", Commit(version + 1, f"c{version}"), version + 0.5, version + 0.75, "done"))

    check(REGISTER, history)
    with pytest.raises(NotLinearizable):
        check(REGISTER, [*history, did("c", Read(), 500, 501, (1, "a0"))])
