"""Whether a node would take a pod: golden cases for each rule of scheduling that is considered."""

from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.scheduling.fit import Doubt, HostPort, Room, doubts, refusal
from holdfast.cloud.kubernetes import Pod, Taint
from holdfast.cloud.requests import Amount, amount_of, requests_of
from tests.workloads import pod

GI = 1 << 30
MI = 1 << 20
LABELS = {"disk": "ssd", "cpus": "8", "kubernetes.io/arch": "amd64", "empty": ""}


def room(**said: Any) -> Room:
    usual = {"name": "n-1", "free": Amount(2_000, 4 * GI, 10), "labels": LABELS}
    return Room(**{**usual, **said})


def asks(cpu: str = "", memory: str = "", **more: Any) -> dict[str, Any]:
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    return {"resources": {"requests": requests}, **more}


def affine(*terms: dict[str, Any]) -> Pod:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return pod(spec={"affinity": {"nodeAffinity": required}})


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_containers_add_up() -> None:
    two = pod(spec={"containers": [asks("100m", "1Gi"), asks("1", "64Mi")]})

    assert requests_of(two) == Amount(1_100, GI + 64 * MI, 1)


@pytest.mark.parametrize(
    ("init", "cpu_m"),
    [
        ([asks("300m")], 500),
        ([asks("700m")], 700),
        ([asks("700m"), asks("600m")], 700),
        ([asks("100m", restartPolicy="Always")], 600),
        ([asks("100m", restartPolicy="Always"), asks("550m")], 650),
        ([asks("550m"), asks("100m", restartPolicy="Always")], 600),
        ([asks("100m", restartPolicy="Always"), asks("200m", restartPolicy="Always")], 800),
        ([asks("400m", restartPolicy="Always"), asks("450m"), asks("50m", restartPolicy="Always")], 950),
    ],
)
def test_the_greater_of_starting_and_running_counts(init: list[dict[str, Any]], cpu_m: int) -> None:
    starting = pod(spec={"containers": [asks("500m")], "initContainers": init})

    assert requests_of(starting).cpu_m == cpu_m


def test_the_overhead_comes_on_top_and_a_whole_pods_requests_outrank_its_containers() -> None:
    spec = {
        "containers": [asks("500m", "1Gi")],
        "initContainers": [asks("900m")],
        "overhead": {"cpu": "250m", "memory": "120Mi"},
    }

    assert requests_of(pod(spec=spec)) == Amount(1_150, GI + 120 * MI, 1)
    whole = {**spec, "resources": {"requests": {"cpu": "600m"}}}
    assert requests_of(pod(spec=whole)) == Amount(850, GI + 120 * MI, 1)


def test_other_resources_are_counted_by_name() -> None:
    gpu = pod(requests={"cpu": "1", "nvidia.com/gpu": "2", "ephemeral-storage": "1Gi"})

    assert requests_of(gpu) == Amount(1_000, 0, 1, (("ephemeral-storage", GI), ("nvidia.com/gpu", 2)))
    assert amount_of({"cpu": "2", "pods": "110", "hugepages-1Gi": "0"}) == Amount(2_000, 0, 110)


def test_amounts_add_subtract_and_compare() -> None:
    one, two = Amount(1, 2, 3, (("gpu", 1),)), Amount(10, 20, 30, (("disk", 5), ("gpu", 4)))

    assert one + two == Amount(11, 22, 33, (("disk", 5), ("gpu", 5)))
    assert two - one - one == Amount(8, 16, 24, (("disk", 5), ("gpu", 2)))
    assert one * 3 == Amount(3, 6, 9, (("gpu", 3),))
    assert one.within(two)
    assert not two.within(one)
    assert one.times_within(two, 100) == 4
    assert one.times_within(two, 2) == 2
    assert Amount(pods=1).times_within(Amount(-5, -5, 3), 9) == 3, "nothing asked for fits a full node"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"cpu": "2", "memory": "4Gi"}, ""),
        ({"cpu": "2001m"}, "not enough CPU: 2001m needed, 2000m free"),
        ({"memory": "4097Mi"}, "not enough memory: 4097Mi needed, 4096Mi free"),
        ({"nvidia.com/gpu": "1"}, "no nvidia.com/gpu"),
    ],
)
def test_what_is_asked_for_must_be_free(asked: dict[str, str], why: str) -> None:
    assert refusal(pod(requests=asked), room()) == why


def test_a_node_takes_only_so_many_pods() -> None:
    assert refusal(pod(requests={}), room(free=Amount(1, 1, 0))) == "no place for another pod"


def test_what_is_used_up_is_short_and_not_absent() -> None:
    used_up = Amount(2_000, GI, 9, (("gpu", 2),)) - Amount(0, 0, 0, (("gpu", 2),))
    assert refusal(pod(requests={"gpu": "1"}), room(free=used_up)) == "not enough gpu: 1 needed, 0 free"


def test_cordoned_and_broken_nodes_take_nothing() -> None:
    assert refusal(pod(), room(cordoned=True)) == "cordoned"
    assert refusal(pod(), room(ready=False)) == "not ready"


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ({"disk": "ssd"}, ""),
        ({"disk": "ssd", "cpus": "8"}, ""),
        ({"empty": ""}, ""),
        ({"disk": "hdd"}, "no label disk=hdd"),
        ({"disk": "ssd", "gpu": "yes"}, "no label gpu=yes"),
        ({"kubernetes.io/arch": "arm64"}, "no label kubernetes.io/arch=arm64"),
        ({"absent": ""}, "no label absent="),
    ],
)
def test_node_selectors(selector: dict[str, str], why: str) -> None:
    assert refusal(pod(spec={"nodeSelector": selector}), room()) == why


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (expression("disk", "In", "ssd", "nvme"), True),
        (expression("disk", "In", "hdd"), False),
        (expression("absent", "In", "x"), False),
        (expression("disk", "NotIn", "hdd"), True),
        (expression("disk", "NotIn", "ssd"), False),
        (expression("absent", "NotIn", "x"), True),
        (expression("disk", "Exists"), True),
        (expression("empty", "Exists"), True),
        (expression("absent", "Exists"), False),
        (expression("disk", "DoesNotExist"), False),
        (expression("absent", "DoesNotExist"), True),
        (expression("cpus", "Gt", "7"), True),
        (expression("cpus", "Gt", "8"), False),
        (expression("cpus", "Lt", "9"), True),
        (expression("cpus", "Lt", "8"), False),
        (expression("cpus", "Gt", "10"), False),
        (expression("disk", "Gt", "1"), False),
        (expression("absent", "Lt", "1"), False),
        (expression("cpus", "Gt", "few"), False),
        (expression("cpus", "Like", "8"), False),
    ],
)
def test_operators_of_node_affinity(wanted: dict[str, Any], matches: bool) -> None:
    why = refusal(affine({"matchExpressions": [wanted]}), room())

    assert why == ("" if matches else "its required node affinity does not match")


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        ([{"matchExpressions": [expression("disk", "Exists"), expression("cpus", "Exists")]}], True),
        ([{"matchExpressions": [expression("disk", "Exists"), expression("absent", "Exists")]}], False),
        (
            [
                {"matchExpressions": [expression("absent", "Exists")]},
                {"matchExpressions": [expression("disk", "Exists")]},
            ],
            True,
        ),
        ([{}], False),
        ([{}, {"matchExpressions": [expression("disk", "Exists")]}], True),
        ([], False),
        ([{"matchFields": [expression("metadata.name", "In", "n-1")]}], True),
        ([{"matchFields": [expression("metadata.name", "In", "n-2")]}], False),
        ([{"matchFields": [expression("metadata.name", "NotIn", "n-2")]}], True),
        ([{"matchFields": [expression("metadata.uid", "NotIn", "n-2")]}], False),
        (
            [
                {
                    "matchFields": [expression("metadata.name", "In", "n-1")],
                    "matchExpressions": [expression("absent", "Exists")],
                }
            ],
            False,
        ),
    ],
)
def test_one_term_is_enough_and_all_of_a_term_must_hold(terms: list[dict[str, Any]], matches: bool) -> None:
    assert (refusal(affine(*terms), room()) == "") == matches


def test_what_is_only_preferred_keeps_no_pod_off() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    affinity = {"nodeAffinity": preferred, "podAffinity": {}, "podAntiAffinity": preferred}

    assert refusal(pod(spec={"affinity": affinity}), room()) == ""


DEDICATED = Taint(key="dedicated", value="batch", effect="NoSchedule")


@pytest.mark.parametrize(
    ("taint", "toleration", "tolerated"),
    [
        (DEDICATED, None, False),
        (
            DEDICATED,
            {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"},
            True,
        ),
        (DEDICATED, {"key": "dedicated", "value": "batch"}, True),
        (DEDICATED, {"key": "dedicated", "operator": "", "value": "batch"}, True),
        (DEDICATED, {"key": "dedicated", "value": "web"}, False),
        (DEDICATED, {"key": "dedicated", "operator": "Exists"}, True),
        (DEDICATED, {"key": "other", "operator": "Exists"}, False),
        (DEDICATED, {"operator": "Exists"}, True),
        (DEDICATED, {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False),
        (DEDICATED, {"key": "dedicated", "operator": "Gt", "value": "1"}, False),
        (Taint(key="down", effect="NoExecute"), None, False),
        (Taint(key="down", effect="NoExecute"), {"key": "down", "effect": "NoExecute"}, True),
        (Taint(key="hint", effect="PreferNoSchedule"), None, True),
    ],
)
def test_taints_and_tolerations(taint: Taint, toleration: dict[str, str] | None, tolerated: bool) -> None:
    here = pod(spec={"tolerations": [toleration] if toleration else []})

    assert (refusal(here, room(taints=(taint,))) == "") == tolerated


def test_every_taint_must_be_tolerated_and_the_first_that_is_not_is_named() -> None:
    here = pod(spec={"tolerations": [{"key": "a", "operator": "Exists"}]})
    both = (Taint(key="a"), DEDICATED)

    assert refusal(here, room(taints=both)) == "taint dedicated=batch:NoSchedule is not tolerated"


def test_a_host_port_is_had_once_a_node() -> None:
    here = pod(spec={"containers": [{"ports": [{"hostPort": 8080}, {"hostPort": 0}]}]})

    assert refusal(here, room()) == ""
    assert refusal(here, room(ports=frozenset({HostPort(8080, "TCP", "0.0.0.0")}))) == "host port taken: 8080"


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ({"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 81}, False),
    ],
)
def test_a_host_port_is_taken_on_its_address_and_protocol(wanted: dict[str, Any], taken: bool) -> None:
    here = pod(spec={"containers": [{"ports": [wanted]}]})
    held = frozenset({HostPort(80, "TCP", "10.0.0.1")})

    assert (refusal(here, room(ports=held)) == "host port taken: 80") == taken


DOUBTFUL = [
    ({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]}, Doubt.VOLUME),
    ({"volumes": [{"name": "data", "ephemeral": {}}]}, Doubt.VOLUME),
]


@pytest.mark.parametrize(("spec", "doubt"), DOUBTFUL)
def test_what_is_not_considered_is_named_and_only_a_new_node_is_expected_to_take_it(
    spec: dict[str, Any], doubt: Doubt
) -> None:
    here = pod(spec=spec)

    assert doubts(here) == (doubt,)
    assert refusal(here, room()) == f"it has {doubt}, which is not considered yet"
    assert refusal(here, room(new=True)) == ""


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"schedulingGates": [{"name": "quota"}]}, "scheduling gate quota"),
        ({"schedulerName": "volcano"}, "scheduler volcano"),
        ({"resourceClaims": [{"name": "gpu"}]}, "resource claims"),
    ],
)
def test_no_node_of_ours_helps_what_waits_for_something_else(spec: dict[str, Any], why: str) -> None:
    assert why in refusal(pod(spec=spec), room(new=True))
    assert why in refusal(pod(spec=spec), room())


def test_a_pod_as_the_api_sends_it_is_considered() -> None:
    sent = b"""{"metadata": {"name": "a", "namespace": "b", "creationTimestamp": "2026-01-01T00:00:00Z"},
      "spec": {"containers": [{"name": "c", "image": "x", "resources": {
      "requests": {"cpu": 1, "memory": "1e9"}, "limits": {"cpu": "2"}},
      "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
      "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
      "tolerationSeconds": 300}], "affinity": {}, "securityContext": {}}, "status": {"phase": "Pending"}}"""
    here = msgspec.json.decode(sent, type=Pod)

    assert requests_of(here) == Amount(1_000, 10**9, 1)
    assert refusal(here, room()) == ""
