"""The loop hears of a spot notice from its queue, and from EC2 itself: the node is drained before it dies."""

import pytest

from tests.real.product.command_line.shell import Shell
from tests.real.traces import wait_until
from tools.parts.site import Site


def told(shell: Shell, instance_id: str) -> list[str]:
    return [event.kind for event in shell.events() if event.about == instance_id]


@pytest.mark.parametrize(
    ("every_s", "queue"), [(600, {}), (2, {"NOTICE_QUEUE_URL": ""})], ids=["from the queue", "from EC2"]
)
def test_a_noticed_machine_is_drained_and_a_dead_one_is_told_of(
    shell: Shell, site: Site, every_s: int, queue: dict[str, str]
) -> None:
    with shell.looping(every_s, **queue):
        wait_until(lambda: shell.record().worker_count == 2, "two workers serve")
        victim = next(event.about for event in shell.events() if event.kind == "joined")
        site.ec2.interrupt(victim, in_s=120)
        wait_until(lambda: "drained" in told(shell, victim), "the noticed node is empty")
        assert site.ec2.instance(victim)["state"] == "running", "and its machine still lives"
        assert "interrupted" in told(shell, victim)

        site.ec2.fail(victim)
        wait_until(lambda: "reclaimed" in told(shell, victim), "its end is told of")
        wait_until(lambda: shell.record().worker_count == 2, "and it was made good")
