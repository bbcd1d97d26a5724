"""The real API server is followed through cuts, stalls, throttling, its own restart and a compaction.

After each trouble what is watched equals a fresh list again; and at no moment is a picture offered that lacks
what happened before the last few seconds.  Variants without their guards show that this would be seen.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.watch import follower, watches
from holdfast.adapters.kubernetes.watch.course import PACE
from holdfast.adapters.kubernetes.watch.watches import Watches
from holdfast.cloud.kubernetes import Budget, KubeNode, Namespace, Pod
from tests.proof import prove
from tests.real.corner import Corner
from tests.real.product.kubernetes.gate import Gate, gate_before
from tests.real.product.kubernetes.relay import plain_way_to
from tests.variants import broken
from tools.parts.cluster import Cluster
from tools.parts.kubernetes import commands
from tools.parts.kubernetes.compaction import compact

STALE_S = PACE.fed_s + 3.0
"""What happened longer ago than this is in every picture that is offered: the server's own way included."""
PATIENCE_S = 300.0
"""For what hangs."""


@contextmanager
def followed(cluster: Cluster) -> Iterator[tuple[Watches, Gate]]:
    with plain_way_to(cluster) as port, gate_before(port) as gate:
        following = Watches(lambda before, after: None, print)
        access = Access(gate.url, "a test", None, lambda: cluster.admin_token)
        following.start(lambda: Client(lambda: access))
        try:
            eventually(lambda: following.current(1) is not None, "it is current")
            yield following, gate
        finally:
            following.stop.set()


def eventually(holds: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, f"never: {what}"
        time.sleep(0.02)


def fresh(api: KubernetesApi) -> dict[type[Any], set[tuple[str, str]]]:
    """Without what changes all the while: a kubelet's reports."""
    return {
        KubeNode: {_told(each) for each in api.nodes()},
        Pod: {(_told(each)[0], each.metadata.resource_version) for each in api.pods()},
        Budget: {_told(each) for each in api.budgets()},
        Namespace: {_told(each) for each in api.namespaces()},
    }


def watched(following: Watches) -> dict[type[Any], set[tuple[str, str]]] | None:
    lists = following.current(1)
    if lists is None:
        return None
    found = {kind: {_told(each) for each in lists[kind]} for kind in (KubeNode, Budget, Namespace)}
    return {**found, Pod: {(_told(each)[0], each.metadata.resource_version) for each in lists[Pod]}}


def _told(each: Any) -> tuple[str, str]:
    meta = each.metadata
    return f"{meta.namespace}/{meta.name}", meta.uid


def pods_in(following: Watches, corner: Corner) -> set[str] | None:
    lists = following.current(1)
    if lists is None:
        return None
    return {pod.metadata.name for pod in lists[Pod] if pod.metadata.namespace == corner.name}


def change(corner: Corner, gone: str, new: str) -> float:
    """One pod goes and another comes; returns when both have happened."""
    corner.cluster.request("DELETE", corner.path("pods", gone), {"gracePeriodSeconds": 0}).ok()
    corner.create_pod(new)
    return time.monotonic()


def restart(cluster: Cluster) -> None:
    """Another process with an empty cache: it cannot go on from an old version."""
    running, at = cluster.running, cluster.layout
    running.kill("kube-apiserver")
    running.start("kube-apiserver", commands.apiserver(at))

    def answers() -> bool:
        try:
            return cluster.request("GET", "/readyz").status == 200
        except OSError:
            return False

    running.wait_until("kube-apiserver", answers)


def never_stale_while(
    following: Watches, corner: Corner, changed_s: float, expected: set[str], lasts: Callable[[float], bool]
) -> None:
    """Watched for as long as `lasts` says of the seconds since the change."""
    while lasts(since_s := time.monotonic() - changed_s):
        offered = pods_in(following, corner)
        assert offered is None or since_s < STALE_S or offered == expected, f"stale after {since_s:.1f} s"
        time.sleep(0.05)


def through(trouble: str, following: Watches, gate: Gate, corner: Corner, gone: str, new: str) -> float:
    """Seconds from its end until the picture is right again."""
    expected = {new}
    if trouble == "restarted":
        changed_s = change(corner, gone, new)
        restart(corner.cluster)
    elif trouble == "compacted":
        # No watch is told of the change as it happens, and neither etcd nor the new process knows it later.
        gate.throttled.set()
        gate.cut()
        changed_s = change(corner, gone, new)
        compact(corner.cluster.layout.etcd_socket)
        restart(corner.cluster)
        gate.throttled.clear()
    elif trouble == "cut":
        gate.cut()
        changed_s = change(corner, gone, new)
    else:
        shut = gate.stalled if trouble == "stalled" else gate.throttled
        shut.set()
        if trouble == "throttled":
            gate.cut()
        changed_s = change(corner, gone, new)
        shut_s = STALE_S + 1.0 if trouble == "stalled" else 3.0
        never_stale_while(following, corner, changed_s, expected, lambda since_s: since_s < shut_s)
        if trouble == "stalled":
            assert pods_in(following, corner) is None, "a dead connection is noticed"
        shut.clear()
    began_s = time.monotonic()

    def right() -> bool:
        offered, since_s = pods_in(following, corner), time.monotonic() - changed_s
        assert offered in (None, expected) or since_s < STALE_S, f"stale after {since_s:.1f} s"
        return offered == expected

    eventually(right, f"{trouble}: right again")
    took_s = time.monotonic() - began_s
    with KubernetesApi(
        Client(lambda: Access(gate.url, "a test", None, lambda: corner.cluster.admin_token))
    ) as api:
        eventually(lambda: fresh(api) == watched(following), f"{trouble}: as a fresh list")
    return took_s


def test_after_each_trouble_the_picture_is_right_again_and_never_offered_stale(
    cluster: Cluster, corner: Corner
) -> None:
    corner.add_node()
    corner.create_pod("pod-0")
    troubles = ("cut", "throttled", "stalled", "restarted", "compacted")
    took_s = {}
    with followed(cluster) as (following, gate):
        for n, trouble in enumerate(troubles):
            listings, gone = following.listings, gate.gone
            took_s[trouble] = through(trouble, following, gate, corner, f"pod-{n}", f"pod-{n + 1}")
            listed, gone = following.listings - listings, gate.gone - gone
            took = f"right again after {took_s[trouble]:.1f} s"
            print(f"{trouble}: {took}, {listed} listings, {gone} times 410")
        assert 0 < gone <= listed, "after 410 all is listed anew"
    told = {name: round(s, 1) for name, s in took_s.items()}
    prove("watch", "real API server", **told, gone_after_compaction=gone)


def test_a_watch_whose_silence_counts_as_current_is_seen(
    cluster: Cluster, corner: Corner, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {
        "        if not each.in_step:": "        if not each.heard_s:",
        "        if now_s - each.heard_s > pace.fed_s:": "        if False:",
    }
    variant = broken("holdfast.adapters.kubernetes.watch.current", changes)
    monkeypatch.setattr(watches, "doubt", variant.doubt)
    corner.create_pod("pod-0")
    with followed(cluster) as (following, gate), pytest.raises(AssertionError, match="stale"):
        through("stalled", following, gate, corner, "pod-0", "pod-1")


def test_what_was_deleted_before_a_compaction_and_is_kept_is_seen(
    cluster: Cluster, corner: Corner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed anew after 410 is added to what was known, and not put in its place."""
    changes = {
        "        self._coming = {}\n": "        self._coming = dict(self.things)\n",
        "        self.things = {_key(thing)": "        self.things |= {_key(thing)",
    }
    monkeypatch.setattr(follower, "Store", broken("holdfast.adapters.kubernetes.watch.store", changes).Store)
    corner.create_pod("pod-0")
    with followed(cluster) as (following, gate):
        with pytest.raises(AssertionError, match="stale"):
            through("compacted", following, gate, corner, "pod-0", "pod-1")
        assert gate.gone
