"""Each answer that a real API server gives to an eviction, and what becomes of the pod."""

import contextlib
import os
import signal
from collections.abc import Iterator

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.cloud.kubernetes import Eviction
from tests.real.corner import Corner
from tests.real.product.kubernetes.seeing import node_of, pod_of, raw, with_uid
from tests.real.traces import processes_naming

PROGRAM = "kube-controller-manager"
ANOTHER_UID = "00000000-0000-0000-0000-000000000000"


def is_leaving(corner: Corner, name: str = "web") -> bool:
    return "deletionTimestamp" in raw(corner, corner.path("pods", name))["metadata"]


def held(corner: Corner, name: str = "web") -> None:
    """A pod that stays, terminating, until its finalizer is taken away."""
    finalizers = {"metadata": {"finalizers": ["test.holdfast/held"]}}
    corner.cluster.request("PATCH", corner.path("pods", name), finalizers).ok()


def release(corner: Corner, name: str = "web") -> None:
    corner.cluster.request("PATCH", corner.path("pods", name), {"metadata": {"finalizers": None}}).ok()


def test_an_eviction_is_accepted_and_again_while_the_pod_is_leaving(
    corner: Corner, api: KubernetesApi
) -> None:
    corner.add_node()
    corner.running_pod()
    held(corner)
    pod = pod_of(api, corner)
    assert api.evict(pod).outcome is Eviction.ACCEPTED
    assert is_leaving(corner)
    assert api.evict(pod).outcome is Eviction.ACCEPTED
    release(corner)
    corner.wait_until_gone()
    assert api.evict(pod).outcome is Eviction.GONE


def test_a_shorter_grace_is_passed_on(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    corner.running_pod()
    corner.cluster.silence_node(name)  # a kubelet would end the pod before it is looked at
    corner.add_node("proves-it")
    assert api.evict(pod_of(api, corner), grace_s=7).outcome is Eviction.ACCEPTED
    assert raw(corner, corner.path("pods", "web"))["metadata"]["deletionGracePeriodSeconds"] == 7


def test_an_exhausted_budget_refuses_and_says_what_it_needs(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("strict", min_available=1, allows=0)
    pod = pod_of(api, corner)
    for dry_run in (True, False):
        answer = api.evict(pod, dry_run=dry_run)
        assert answer.outcome is Eviction.REFUSED
        assert answer.message == "The disruption budget strict needs 1 healthy pods and has 1 currently"
        assert answer.retry_after_s == 0.0
    assert not is_leaving(corner)
    corner.set_budget("strict", min_available=0, allows=1)
    assert api.evict(pod).outcome is Eviction.ACCEPTED


@contextlib.contextmanager
def no_controller_manager(corner: Corner) -> Iterator[None]:
    """The controllers stand still, and go on at the end."""
    (found,) = (
        line for line in processes_naming(str(corner.cluster.layout.folder)) if PROGRAM in line.split()[1]
    )
    pid = int(found.partition(":")[0])
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_budget_that_no_controller_has_looked_at_refuses_and_says_when_to_come_again(
    corner: Corner, api: KubernetesApi
) -> None:
    corner.add_node()
    corner.running_pod()
    budget = {"metadata": {"name": "new"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
    with no_controller_manager(corner):
        path = corner.path("poddisruptionbudgets", api="/apis/policy/v1")
        corner.cluster.request("POST", path, budget).ok()
        answer = api.evict(pod_of(api, corner))
    assert answer.outcome is Eviction.REFUSED
    assert "new is still being processed" in answer.message
    assert answer.retry_after_s == 10.0


def test_two_budgets_make_it_impossible(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("one", min_available=0, allows=1)
    corner.set_budget("other", min_available=0, allows=1)
    for dry_run in (True, False):
        answer = api.evict(pod_of(api, corner), dry_run=dry_run)
        assert answer.outcome is Eviction.IMPOSSIBLE
        assert "more than one PodDisruptionBudget" in answer.message
    assert not is_leaving(corner)


def test_another_pod_of_that_name_is_not_touched(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    pod = pod_of(api, corner)
    assert api.evict(with_uid(pod, ANOTHER_UID)).outcome is Eviction.GONE
    api.delete_pod(with_uid(pod, ANOTHER_UID), grace_s=0)
    assert raw(corner, corner.path("pods", "web"))["metadata"]["uid"] == pod.metadata.uid
    assert not is_leaving(corner)


def test_a_dry_run_leaves_everything_as_it_is(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("one-may-go", min_available=0, allows=1)
    before = raw(corner, corner.path("pods", "web"))["metadata"]["resourceVersion"]
    for _ in range(3):
        assert api.evict(pod_of(api, corner), dry_run=True).outcome is Eviction.ACCEPTED
    assert raw(corner, corner.path("pods", "web"))["metadata"]["resourceVersion"] == before


def test_a_pod_that_was_never_there_is_gone(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    pod = pod_of(api, corner)
    corner.cluster.request("DELETE", corner.path("pods", "web"))
    corner.wait_until_gone()
    assert api.evict(pod, dry_run=True).outcome is Eviction.GONE
    api.delete_pod(pod, grace_s=1)
    assert api.evict(pod).outcome is Eviction.GONE


def test_a_namespace_that_is_ending_refuses_or_has_its_pods_leaving(
    corner: Corner, api: KubernetesApi
) -> None:
    corner.add_node()
    corner.running_pod()
    held(corner)
    before = pod_of(api, corner)
    corner.cluster.request("DELETE", f"/api/v1/namespaces/{corner.name}").ok()
    corner.cluster.wait_for(
        corner.path("pods", "web"),
        lambda pod: "deletionTimestamp" in pod["metadata"],
        what="the pod leaves with its namespace",
    )
    refused = api.evict(before)
    assert refused.outcome is Eviction.REFUSED
    assert "because it is being terminated" in refused.message
    assert api.evict(pod_of(api, corner)).outcome is Eviction.ACCEPTED
    release(corner)


def test_a_pod_is_deleted_without_asking_its_budget(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("strict", min_available=1, allows=0)
    pod = pod_of(api, corner)
    api.delete_pod(pod, grace_s=1)
    corner.wait_until_gone()
    api.delete_pod(pod, grace_s=1)
    assert not any(each.called == pod.called for each in api.pods())


def test_a_node_is_deleted_by_uid_and_a_newer_one_of_that_name_is_not(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node()
    first = node_of(api, name)
    api.delete_node(name, ANOTHER_UID)
    assert node_of(api, name).metadata.uid == first.metadata.uid
    api.delete_node(name, first.metadata.uid)
    assert api.node(name) is None
    api.delete_node(name, first.metadata.uid)
    corner.add_node()
    api.delete_node(name, first.metadata.uid)
    assert node_of(api, name).metadata.uid not in ("", first.metadata.uid)
