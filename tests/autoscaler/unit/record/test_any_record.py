"""From any record and any snapshot: a step has an answer, each write is a legal move, and there is an end."""

from hypothesis import HealthCheck, given, settings

from holdfast.autoscaler.codec import CODEC
from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import workflow
from holdfast.kernel import Outcome, Write
from holdfast.testing.legal import illegal
from tests.autoscaler.model import anything

WRITES_MAX = 40
"""More than six machines can need, whatever has befallen each of them."""

many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(anything.clusters(), anything.snapshots(), anything.settings)
def test_writes_come_to_an_end_while_the_world_stands_still(
    cluster: Cluster, snapshot: Snapshot, wanted: Settings
) -> None:
    """A step that wrote the same again and again would never come to its effects."""
    step, told = workflow(wanted).step, []
    for _ in range(WRITES_MAX):
        ahead = step(cluster, snapshot, anything.NOW_S)
        if not isinstance(ahead, Write):
            return
        problems = illegal(cluster, ahead.value, ahead.events, anything.NOW_S, wanted)
        assert not problems, "\n".join([*problems, f"{cluster}", f"{ahead.value}"])
        told.append(ahead.events[0].kind)
        cluster = ahead.value
    raise AssertionError(f"it writes for ever: {told}")


@many
@given(anything.clusters(), anything.effects, anything.outcomes, anything.settings)
def test_any_news_can_be_noted_on_any_record(
    cluster: Cluster, effect: Effect, outcome: Outcome, wanted: Settings
) -> None:
    write = workflow(wanted).settle(cluster, effect, outcome, anything.NOW_S)

    if write is not None:
        problems = illegal(cluster, write.value, write.events, anything.NOW_S, wanted)
        assert not problems, "\n".join([*problems, f"{cluster}", f"{write.value}"])


@many
@given(anything.clusters())
def test_every_record_is_stored_and_read_back_as_it_was(cluster: Cluster) -> None:
    read = CODEC.load(dict(CODEC.encode(cluster)), table="t", key="k")

    assert {one.instance_id for one in cluster.condemned} <= {one.instance_id for one in read.condemned}
    assert CODEC.encode(read) == CODEC.encode(CODEC.load(dict(CODEC.encode(read)), table="t", key="k"))
    assert (read.scale_up, read.interrupted, read.gone, read.spent) == (
        cluster.scale_up,
        cluster.interrupted,
        cluster.gone,
        cluster.spent,
    )
