"""The explorer is shown workflows with one guard taken out, and must find what breaks."""

from typing import Any

import pytest

from holdfast.failover import takeover
from holdfast.sim.explore import Violation
from tests.explore import test_removing_nodes as removing
from tests.explore import test_taking_over as taking_over
from tests.model.legal import any_move
from tests.proof import prove
from tests.variants import broken

SHRINK = "holdfast.autoscaler.shrink"
TAKEOVER = "holdfast.failover.takeover"

REMOVING: dict[str, tuple[dict[str, str], str]] = {
    "S1: an expired lock lets a second action begin over the first": (
        {
            "    if cluster.scale_down is None:\n": (
                "    if cluster.scale_down is None or cluster.lock.until_s <= now_s:\n"
            )
        },
        "S-A1",
    ),
    "S2: giving up also takes condemned nodes back": (
        {
            "kept = action.having(Status.PLANNED, Status.DRAINED) if action else ()": (
                "kept = action.having(Status.PLANNED, Status.DRAINED, Status.CONDEMNED) if action else ()"
            )
        },
        "S-A4",
    ),
    "S3: the cordon of an ended action is forgotten": (
        {"return tidy_up(cluster, seen, now_s) or begin(": "return begin("},
        "never settles",
    ),
    "H4: a removed node counts for as long as a listing shows it": (
        {
            "        cluster.is_gone(instance_id)\n        or cluster.is_condemned(instance_id)\n": (
                "        cluster.is_condemned(instance_id)\n"
            )
        },
        "S-A5",
    ),
    "a stray cordon is lifted without being written down first": (
        {
            "    return Write(replace(cluster, strays=strays), found)\n": (
                "    return Do(tuple(Uncordon(stray.instance_id, stray.action_id) for stray in strays))\n"
            )
        },
        "terminated in service",
    ),
    "a node is terminated before it is condemned": (
        {
            "        return _condemn(cluster, action, seen, now_s, policy)\n": (
                "        return Do(tuple(Terminate(i) for i in action.having(Status.DRAINED)))\n"
            )
        },
        "without being condemned",
    ),
}

TAKING_OVER: dict[str, tuple[dict[str, str], str]] = {
    "H2: the promotion does not wait for the old lease": (
        {"if not takeover.fenced and left_s > 0:": "if not takeover.fenced and left_s > 1_000_000:"},
        "serve at once",
    ),
    "H2: the lease is judged before the revocation, not after it": (
        {
            "    return _revoke(group, primary, why, now_s)\n": (
                "    revoked = _revoke(group, primary, why, now_s)\n"
                "    if seen.leases_left_s.get(primary, 0) > 0:\n"
                "        return revoked\n"
                "    return _promote(revoked.value, seen, now_s, why) or revoked\n"
            )
        },
        "serve at once",
    ),
}


NEVER_AGAIN = "L-F1: a takeover waits for an answer of the old primary for ever"


def test_a_takeover_that_relies_on_being_heard() -> None:
    variant: Any = broken(TAKEOVER, {"if not takeover.fenced and left_s > 0:": "if not takeover.fenced:"})

    with pytest.raises(Violation, match="never settles") as violation:
        taking_over.search(
            variant.workflow(takeover.Policy(grace_s=float("inf"))), hands=1, doomed=("i-1",), lively=True
        )

    caught(NEVER_AGAIN, violation)


def caught(name: str, violation: pytest.ExceptionInfo[Violation]) -> None:
    print(f"{name}\n{violation.value}")
    prove("variant", name, caught_by="every interleaving", path=len(str(violation.value).splitlines()) - 1)


@pytest.mark.parametrize("name", REMOVING)
def test_removing_nodes_without(name: str) -> None:
    changes, complaint = REMOVING[name]
    variant: Any = broken(SHRINK, changes)
    policy = variant.Policy(min_workers=2, max_batch_down=1, cooldown_down_s=0)

    with pytest.raises(Violation, match=complaint) as violation:
        removing.search(
            variant.workflow(policy), removing.start(hands=2), give_up=variant.give_up, allowed=any_move
        )

    caught(name, violation)


@pytest.mark.parametrize("name", TAKING_OVER)
def test_taking_over_without(name: str) -> None:
    changes, complaint = TAKING_OVER[name]
    variant: Any = broken(TAKEOVER, changes)

    with pytest.raises(Violation, match=complaint) as violation:
        taking_over.search(
            variant.workflow(takeover.Policy(grace_s=0.0)), hands=2, doomed=("i-1",), lively=False
        )

    caught(name, violation)
