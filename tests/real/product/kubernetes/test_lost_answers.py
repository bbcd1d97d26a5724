"""A network that fails at the worst moment: what was only read is busy, what may be done is unknown."""

from collections.abc import Callable

import pytest

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.cloud.kubernetes import Eviction
from holdfast.kernel import Busy, Conflict, Unknown
from holdfast.testing.proxy import HALF_ANSWER, RESET_AFTER, RESET_BEFORE, Fate, black_hole
from tests.real.corner import Corner
from tests.real.product.kubernetes.relay import faulty
from tests.real.product.kubernetes.seeing import TRIES_MAX, cordoned, node_of, pod_of, raw
from tools.parts.cluster import Cluster

IMPATIENT_S = 2.0
LOST = [RESET_AFTER, HALF_ANSWER]


@pytest.mark.parametrize("fate", [RESET_BEFORE, *LOST], ids=repr)
def test_a_read_that_breaks_is_busy_and_not_tried_again(cluster: Cluster, fate: Fate) -> None:
    with faulty(cluster, fate) as (api, proxy):
        with pytest.raises(Busy, match="list nodes"):
            api.nodes()
        assert len(proxy.log) == 1
        assert api.version().startswith("v"), "the next one has a connection of its own"


def test_silence_ends_by_itself(cluster: Cluster) -> None:
    with faulty(cluster, black_hole(delivered=True), read_timeout_s=IMPATIENT_S) as (api, proxy):
        with pytest.raises(Busy, match="timed out"):
            api.nodes()
        assert len(proxy.log) == 1


@pytest.mark.parametrize("fate", LOST, ids=repr)
def test_a_cordon_whose_answer_is_lost_is_unknown_and_is_set(
    corner: Corner, api: KubernetesApi, fate: Fate
) -> None:
    name = corner.add_node()
    for _ in range(TRIES_MAX):  # the cluster's own controllers may write between reading and changing
        seen = node_of(api, name)
        with faulty(corner.cluster, fate) as (broken, proxy):
            with pytest.raises(Unknown, match="patch nodes"):
                broken.change_node(seen, cordoned(seen))
            assert len(proxy.log) == 1
        if node_of(api, name).spec.unschedulable:
            break
    assert node_of(api, name).spec.unschedulable
    with pytest.raises(Conflict):
        api.change_node(seen, cordoned(seen))


def test_a_cordon_that_never_arrived_is_unknown_too_and_is_not_set(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node()
    seen = node_of(api, name)
    with faulty(corner.cluster, RESET_BEFORE) as (broken, _), pytest.raises(Unknown):
        broken.change_node(seen, cordoned(seen))
    assert not node_of(api, name).spec.unschedulable


def test_an_eviction_whose_answer_is_lost_can_be_asked_for_again(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    pod = pod_of(api, corner)
    with faulty(corner.cluster, RESET_AFTER) as (broken, _):
        with pytest.raises(Unknown, match="create pods/eviction"):
            broken.evict(pod)
        assert broken.evict(pod).outcome in (Eviction.ACCEPTED, Eviction.GONE)
    corner.wait_until_gone()


def test_a_dry_run_whose_answer_is_lost_is_only_busy(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    with faulty(corner.cluster, RESET_AFTER) as (broken, _), pytest.raises(Busy):
        broken.evict(pod_of(api, corner), dry_run=True)
    assert "deletionTimestamp" not in raw(corner, corner.path("pods", "web"))["metadata"]


def deleting_node(api: KubernetesApi, corner: Corner) -> Callable[[KubernetesApi], None]:
    node = node_of(api, corner.add_node())
    return lambda broken: broken.delete_node(node.metadata.name, node.metadata.uid)


def deleting_pod(api: KubernetesApi, corner: Corner) -> Callable[[KubernetesApi], None]:
    corner.add_node()
    corner.running_pod()
    pod = pod_of(api, corner)
    return lambda broken: broken.delete_pod(pod, grace_s=1)


@pytest.mark.parametrize("deleting", [deleting_node, deleting_pod])
def test_a_deletion_whose_answer_is_lost_is_unknown_and_a_second_one_is_fine(
    corner: Corner,
    api: KubernetesApi,
    deleting: Callable[[KubernetesApi, Corner], Callable[[KubernetesApi], None]],
) -> None:
    delete = deleting(api, corner)
    with faulty(corner.cluster, RESET_AFTER) as (broken, proxy):
        with pytest.raises(Unknown):
            delete(broken)
        delete(broken)
        assert len(proxy.log) == 2
