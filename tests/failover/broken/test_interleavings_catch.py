"""The explorer is shown takeovers with one guard taken out, and must find what breaks."""

import pytest

from holdfast.testing.explore import Violation
from tests.failover.explore.test_taking_over import CASES, POLICY, search
from tests.proof import prove
from tests.variants import failover_without

Changes = dict[str, dict[str, str]]

VARIANTS: dict[str, tuple[Changes, str, str]] = {
    "H2: the promotion does not wait for the old lease": (
        {"takeover": {"    if left_s <= 0:\n": "    if left_s <= 1_000_000:\n"}},
        "a notice, one server",
        "serve at once",
    ),
    "H2: the lease is judged before the revocation, not after it": (
        {
            "takeover": {
                "takeover=replace(takeover, started_s=now_s),": (
                    "takeover=replace(takeover, started_s=now_s, "
                    "fenced=situation.of(takeover.old).lease_left_s <= 0),"
                )
            }
        },
        "a lease is lost, one server",
        "serve at once",
    ),
    "L-F1: a takeover waits for an answer of the old primary for ever": (
        {"takeover": {"    if left_s <= 0:\n        return None\n": ""}},
        "the primary is dead",
        "never settles",
    ),
    "H32: the old primary is not reinstated when none is left to take over": (
        {"takeover": {"    if old is None or unfit:\n": "    if old is None or unfit or True:\n"}},
        "the only candidate fails",
        "never settles",
    ),
    "H39: a failed promotion is waited for": (
        {"takeover": {"    failure = _failure(situation, candidate)\n": '    failure = ""\n'}},
        "the only candidate fails",
        "never settles",
    ),
    "S-F4: the epoch does not rise when a primary is revoked": (
        {"takeover": {"        epoch=group.epoch + 1,\n        takeover=": "        takeover="}},
        "a lease is lost, one server",
        "its epoch 1 goes on|serve at once",
    ),
    "S-F4: a failed candidate's epoch goes on with the next one": (
        {"takeover": {"takeover=again, epoch=group.epoch + 1)": "takeover=again)"}},
        "the only candidate fails",
        "its epoch 2 goes on",
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_taking_over_without(name: str) -> None:
    changes, case, complaint = VARIANTS[name]

    with pytest.raises(Violation, match=complaint) as violation:
        search(failover_without(changes).workflow(POLICY), **CASES[case])

    print(f"{name}\n{violation.value}")
    prove("variant", name, caught_by="every interleaving", path=len(str(violation.value).splitlines()) - 1)
