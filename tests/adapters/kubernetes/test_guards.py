"""What is sent to the API server, call by call: which object it names, under which precondition."""

from typing import Any

import msgspec
import pytest

from holdfast.adapters.kubernetes.client import JSON_PATCH
from holdfast.adapters.kubernetes.errors import Answer
from holdfast.adapters.kubernetes.writes import is_another, node_patch, translate_eviction
from holdfast.cloud.kubernetes import Eviction
from holdfast.kernel import Busy, Conflict, HoldfastError, Unknown
from tests.adapters.kubernetes.kubernetes_stub import Said, saying
from tests.adapters.kubernetes.test_writes import (
    BUDGET,
    CROWDED,
    NEEDS,
    OTHER,
    TERMINATING,
    TIRED,
    TWO,
    answer,
)
from tests.workloads import node, pod

HERE = {"metadata": {"name": "n-1", "uid": "uid-n-1", "resourceVersion": "1"}}


def sent(body: bytes) -> Any:
    return msgspec.json.decode(body)


def test_pods_are_asked_for_by_node_or_all_of_them() -> None:
    with saying(Said(body={"items": []})) as stub:
        stub.api().pods("n-1")
        stub.api().pods()

    of_node, everywhere = stub.asked
    assert "fieldSelector=spec.nodeName%3Dn-1" in of_node
    assert "fieldSelector" not in everywhere


def test_a_node_is_read_or_is_not_there_or_cannot_be_told() -> None:
    with saying(Said(body=HERE)) as stub:
        found = stub.api().node("a/b")
        assert found is not None
        assert found.metadata.uid == "uid-n-1"
    assert stub.asked == ["GET /api/v1/nodes/a%2Fb"]
    with saying(Said(404)) as stub:
        assert stub.api().node("n-1") is None
    with saying(Said(503)) as stub, pytest.raises(Busy):
        stub.api().node("n-1")


def test_a_node_is_changed_by_a_patch_that_demands_the_node_that_was_read() -> None:
    before, after = node("n-1"), node("n-1", cordon_owners=["act"])
    with saying(Said(body=HERE)) as stub:
        stub.api().change_node(before, after)

    assert stub.asked == ["PATCH /api/v1/nodes/n-1"]
    assert stub.kinds == [JSON_PATCH]
    assert sent(stub.bodies[0]) == node_patch(before, after)
    assert sent(stub.bodies[0])[0] == {"op": "test", "path": "/metadata/resourceVersion", "value": "1"}
    with saying(Said(409)) as stub, pytest.raises(Conflict):
        stub.api().change_node(before, after)
    with saying(Said(503)) as stub, pytest.raises(Unknown):
        stub.api().change_node(before, after)


def test_an_eviction_is_of_the_very_pod_and_a_dry_one_says_so() -> None:
    with saying(Said(201)) as stub:
        assert stub.api().evict(pod("we/b"), grace_s=7).outcome is Eviction.ACCEPTED
        stub.api().evict(pod("web"), dry_run=True)

    assert stub.asked == [
        "POST /api/v1/namespaces/shop/pods/we%2Fb/eviction",
        "POST /api/v1/namespaces/shop/pods/web/eviction",
    ]
    real, dry = (sent(body)["deleteOptions"] for body in stub.bodies)
    assert (real["preconditions"], real["gracePeriodSeconds"]) == ({"uid": "uid-shop-we/b"}, 7)
    assert "dryRun" not in real
    assert (dry["preconditions"], dry["dryRun"]) == ({"uid": "uid-shop-web"}, ["All"])


def test_an_eviction_whose_answer_is_lost_is_unknown() -> None:
    with saying(Said(503)) as stub, pytest.raises(Unknown):
        stub.api().evict(pod("web"))


def test_a_deletion_is_of_the_very_pod_or_node() -> None:
    with saying(Said(200)) as stub:
        stub.api().delete_pod(pod("web"), grace_s=5)
        stub.api().delete_node("n-1", "uid-n-1")

    assert [asked.rpartition("/")[2] for asked in stub.asked] == ["web", "n-1"]
    of_pod, of_node = (sent(body) for body in stub.bodies)
    assert (of_pod["preconditions"], of_pod["gracePeriodSeconds"]) == ({"uid": "uid-shop-web"}, 5)
    assert of_node["preconditions"] == {"uid": "uid-n-1"}
    assert "gracePeriodSeconds" not in of_node
    with saying(Said(503)) as stub, pytest.raises(Unknown):
        stub.api().delete_pod(pod(), grace_s=1)
    with saying(Said(503)) as stub, pytest.raises(Unknown):
        stub.api().delete_node("n", "uid")


def test_a_request_without_a_body_says_nothing_about_one() -> None:
    with saying(Said(body={"items": []})) as stub:
        stub.api().nodes()

    assert (stub.kinds, stub.bodies) == ([""], [b""])


def test_only_what_differs_is_patched_and_a_persons_cordon_stays_noted() -> None:
    before = node("n-1", cordon_owners=["one"], cordon_found=True)
    after = node("n-1", cordon_owners=["one", "two"], cordon_found=True)

    _, *changes = node_patch(before, after)

    assert [(each["op"], each["value"]) for each in changes] == [("add", "one,two")]
    assert node_patch(before, before)[1:] == []


@pytest.mark.parametrize(
    ("said", "is_it"),
    [
        (answer(409, OTHER), True),
        (answer(422, OTHER), False),
        (answer(409, "Precondition failed: the resourceVersion in the precondition"), False),
        (answer(409, "the UID is another"), False),
    ],
)
def test_a_pod_is_another_only_if_its_uid_is(said: Answer, is_it: bool) -> None:
    assert is_another(said) is is_it


@pytest.mark.parametrize(
    "said",
    [
        answer(503, TWO),
        answer(503, BUDGET, cause=("DisruptionBudget", NEEDS)),
        answer(500, TIRED),
        answer(500, "no", cause=TERMINATING),
        answer(300, "elsewhere"),
    ],
    ids=["two budgets", "budget", "conflicts", "namespace", "redirect"],
)
def test_words_alone_make_no_answer_about_the_pod(said: Answer) -> None:
    with pytest.raises(HoldfastError):
        translate_eviction(pod(terminating=True), said)


def test_a_forbidden_eviction_is_done_only_where_the_namespace_goes() -> None:
    assert translate_eviction(pod(terminating=True), answer(403, CROWDED)).outcome is Eviction.REFUSED
    other = answer(403, "no", cause=("SomethingElse", "x"))
    assert translate_eviction(pod(terminating=True), other).outcome is Eviction.REFUSED


@pytest.mark.parametrize("message", ["pods cannot be evicted now", "User quota is used up"])
def test_a_lack_of_rights_names_the_user_and_what_it_cannot(message: str) -> None:
    assert translate_eviction(pod(), answer(403, message)).outcome is Eviction.REFUSED


def test_a_list_whose_first_page_has_expired_is_busy() -> None:
    with saying(Said(410)) as stub, pytest.raises(Busy):
        stub.api().nodes()
    assert len(stub.asked) == 1
