"""A listing that cannot be all there is: by what it is told, and what it keeps from happening."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.autoscaler.record import Cluster, Condemned, Launch, LaunchStatus, ScaleUp, Tombstone
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Worker
from holdfast.autoscaler.snapshot.brake import doubts
from holdfast.cloud import Market, State
from tests.autoscaler.unit.snapshots import NOW_S, booting, worker

SETTINGS = Settings()
AT_S = int(NOW_S)
TEN = [worker(f"i-{n}") for n in range(10)]
JOINED = Cluster(joined_since_s=AT_S, joined=tuple(each.instance_id for each in TEN))
LOST = [booting(f"i-{n}") for n in range(2)]


def told(workers: Sequence[Worker], cluster: Cluster = JOINED, *, nodes: int = 10) -> list[str]:
    return list(doubts(workers, (), nodes, cluster, SETTINGS))


def test_two_of_ten_that_lost_their_nodes_are_a_doubt_and_one_is_none() -> None:
    assert told([*LOST, *TEN[2:]])[0].startswith("2 of 10 machines have no node at once")
    assert told([LOST[0], *TEN[1:]]) == []


def test_machines_that_were_stopped_count_whatever_their_nodes_say() -> None:
    stopped = [worker(f"i-{n}", state=State.STOPPED) for n in range(2)]

    assert "machines that were stopped" in told([*stopped, *TEN[2:]])[0]


UP = ScaleUp(
    "1-up",
    AT_S,
    2,
    launches=(
        Launch(
            group=1,
            attempt=1,
            pool="default",
            zone="a",
            subnet_id="s-a",
            market=Market.SPOT,
            instance_type="m5.large",
            template_id="lt-1",
            template_version=1,
            count=2,
            status=LaunchStatus.ANSWERED,
            instance_ids=("i-0", "i-1"),
        ),
    ),
)


@pytest.mark.parametrize(
    "cluster",
    [
        replace(JOINED, condemned=tuple(Condemned(f"i-{n}", "1-a", "scale-down", AT_S) for n in range(2))),
        replace(JOINED, gone=tuple(Tombstone(f"i-{n}", AT_S) for n in range(2))),
        replace(JOINED, scale_up=UP),
        replace(JOINED, joined=JOINED.joined[2:], joined_since_s=1),
    ],
)
def test_what_leaves_or_has_never_joined_is_no_sign_of_anything(cluster: Cluster) -> None:
    assert told([booting(f"i-{n}", launched_s=AT_S - 60) for n in range(2)] + TEN[2:], cluster) == []


def test_machines_of_others_and_those_that_a_foreign_name_may_stand_for_are_no_sign_either() -> None:
    assert told([*(booting(f"i-{n}", action_id="") for n in range(2)), *TEN[2:]]) == []
    assert told([*(booting(f"i-{n}", namesake=f"ip-{n}") for n in range(2)), *TEN[2:]]) == []


def test_no_node_at_all_is_a_doubt_where_any_machine_must_have_one() -> None:
    made_by_hand = worker("i-hand", action_id="")
    nothing = "the API lists no node at all: another cluster behind the kubeconfig, or lost data"

    assert told([], JOINED, nodes=0) == [nothing]
    assert told([made_by_hand], Cluster(), nodes=0) == [nothing]
    assert told([booting("i-0")], Cluster(), nodes=0) == [], "it may be the first of a new cluster"
