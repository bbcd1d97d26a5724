"""The explorer is shown workflows with one guard taken out, and must find what breaks."""

import pytest

from holdfast.testing.explore import Violation
from tests.autoscaler.explore import test_removing_nodes as removing
from tests.autoscaler.model.legal import any_move
from tests.proof import prove
from tests.variants import autoscaler_without

Changes = dict[str, dict[str, str]]

REMOVING: dict[str, tuple[Changes, str, str]] = {
    "S1: an expired lock lets a second action begin over the first": (
        {
            "workflow": {
                "    elif cluster.scale_down is not None:\n": (
                    "    elif cluster.scale_down is not None and cluster.lock.until_s > now_s:\n"
                )
            }
        },
        "three hands",
        "S-A1",
    ),
    "S2: giving up also takes condemned nodes back": (
        {
            "scale_down": {
                "kept = action.having(Status.PLANNED, Status.DRAINED) if action else ()": (
                    "kept = action.having(Status.PLANNED, Status.DRAINED, Status.CONDEMNED) if action else ()"
                )
            }
        },
        "a reclaim, and the load comes back",
        "S-A4: .* were condemned and are kept",
    ),
    "S3: the cordon of an ended action is forgotten": (
        {"workflow": {"tidying = scale_down.tidy_up(cluster, snapshot, now_s)": "tidying = None"}},
        "a long sleep",
        "never settles: L-A2",
    ),
    "H4: a removed node counts for as long as a listing shows it": (
        {
            "fleet": {
                "        [stone.instance_id for stone in cluster.gone]\n        + [one": "        [one",
            }
        },
        "an old listing, and a pod that stays",
        "S-A5",
    ),
    "a stray cordon is lifted without being written down first": (
        {
            "scale_down": {
                "    return Write(replace(cluster, strays=tuple(found)), events)\n": (
                    "    return Do(tuple(Uncordon(stray.instance_id, stray.action_id) for stray in found))\n"
                )
            }
        },
        "three hands",
        "terminated in service",
    ),
    "a node is terminated before it is condemned": (
        {
            "scale_down": {
                "        return _condemn(cluster, action, emptied, snapshot, settings, now_s)\n": (
                    "        return Do(tuple(Terminate(i) for i in action.having(Status.DRAINED)))\n"
                )
            }
        },
        "three hands",
        "without being condemned",
    ),
}
"""What is changed, the case that shows it, and what is said."""


def caught(name: str, violation: pytest.ExceptionInfo[Violation]) -> None:
    print(f"{name}\n{violation.value}")
    prove("variant", name, caught_by="every interleaving", path=len(str(violation.value).splitlines()) - 1)


@pytest.mark.parametrize("name", REMOVING)
def test_removing_nodes_without(name: str) -> None:
    changes, case, complaint = REMOVING[name]
    _, settings = removing.CASES[case]

    with pytest.raises(Violation, match=complaint) as violation:
        removing.visit(autoscaler_without(changes).workflow(settings), case, allowed=any_move)

    caught(name, violation)
