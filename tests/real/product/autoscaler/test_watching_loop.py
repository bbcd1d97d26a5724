"""Two loops that watch: pods that wait and notices are answered between two turns, once each."""

from pathlib import Path

from tests.real.presence import present
from tests.real.product.autoscaler.reacting import Reaction, reacting
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK


def launched(made: Reaction) -> int:
    calls = [entry for entry in made.site.ec2.log() if entry["kind"] == "call"]
    return sum(len(entry.get("instances", [])) for entry in calls if entry["action"] == "RunInstances")


def test_what_waits_is_answered_long_before_the_next_turn_and_by_one_of_two_loops() -> None:
    for part in (EC2, KUBERNETES, KWOK):
        present(part)
    with reacting(loops=2) as made:
        before, took_s = launched(made), []
        for n in range(2):
            took_s.append(made.pod_to_launch_s(f"pod-{n}"))
            made.at_rest()
        assert launched(made) == before + 2, "two loops, and one machine for each pod"
        took_s.append(made.notice_to_answer_s(*made.workers()[0]))
        made.at_rest()
        assert launched(made) == before + 3, "one replacement"
        print("seconds until it was asked for:", [f"{each:.2f}" for each in took_s])
        logs = [Path(made.running.log(name)).read_text() for name in made.names]
        for log in logs:
            assert "are not followed now" not in log, log
            assert "Traceback" not in log, log
        for name in made.names:
            assert made.running.end(name) == 0, "stopped by SIGTERM"
