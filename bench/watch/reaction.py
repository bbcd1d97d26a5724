"""How soon a loop that watches asks for what is needed, on a real control plane with an EC2 stand-in.

No waiting period and no pause between scale-ups: what is measured is what the loop itself takes.  The time
of a pod counts from its creation, so the scheduler's is in it; that of a notice from EC2's own event, by the
queue, until the replacement is asked for and the node is cordoned.
"""

import os
from typing import Final

from bench import Row
from tests.real.product.autoscaler.reacting import reacting

PROMISE_S: Final = 1.0
COUNT: Final = int(os.environ.get("HOLDFAST_REACTIONS", "50"))


def run() -> list[Row]:
    pods_s: list[float] = []
    notices_s: list[float] = []
    with reacting() as made:
        for n in range(COUNT):
            pods_s.append(made.pod_to_launch_s(f"pod-{n}"))
            made.at_rest()
        made.keep_pods()
        for worker in made.workers()[:COUNT]:
            notices_s.append(made.notice_to_answer_s(*worker))
            made.at_rest()
    return [
        _row(f"pod to RunInstances, p95 of {len(pods_s)}", pods_s),
        _row(f"notice to replacement and cordon, p95 of {len(notices_s)}", notices_s),
    ]


def _row(what: str, took_s: list[float]) -> Row:
    p95_s = sorted(took_s)[max(0, -(-95 * len(took_s) // 100) - 1)]
    return Row(what, p95_s, "promised", PROMISE_S, p95_s / PROMISE_S, 1.0, " s")
