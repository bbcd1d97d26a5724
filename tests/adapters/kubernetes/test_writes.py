"""What is sent to change a node, and what the answers to an eviction mean."""

from typing import Any

import msgspec
import pytest

from holdfast.adapters.kubernetes.errors import Answer, Denied, Throttled
from holdfast.adapters.kubernetes.writes import eviction, node_patch, translate_eviction
from holdfast.cloud.kubernetes import (
    CORDON_FOUND,
    CORDON_OWNERS,
    Evicted,
    Eviction,
    KubeNode,
    Meta,
    NodeSpec,
    Taint,
)
from holdfast.kernel import Busy, Conflict, Invalid, Unknown
from tests.adapters.kubernetes.kubernetes_stub import Said, saying
from tests.workloads import pod

OWNERS = "/metadata/annotations/holdfast.dev~1cordon-owners"
FOUND = "/metadata/annotations/holdfast.dev~1cordon-found"
PRECONDITION = {"op": "test", "path": "/metadata/resourceVersion", "value": "41"}
A, B, C = Taint(key="a"), Taint(key="b", value="x", effect="NoExecute"), Taint(key="c")


def node(*taints: Taint, cordoned: bool = False, **annotations: str) -> KubeNode:
    named = {"owners": CORDON_OWNERS, "found": CORDON_FOUND}
    notes = {named.get(name, name): value for name, value in annotations.items()}
    return KubeNode(
        metadata=Meta(name="n", resource_version="41", annotations=notes),
        spec=NodeSpec(unschedulable=cordoned, taints=taints),
    )


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (node(), node(), []),
        (node(), node(cordoned=True), [{"op": "add", "path": "/spec/unschedulable", "value": True}]),
        (node(cordoned=True), node(), [{"op": "add", "path": "/spec/unschedulable", "value": False}]),
        (
            node(),
            node(owners="x", found="true"),
            [
                {"op": "add", "path": "/metadata/annotations", "value": {}},
                {"op": "add", "path": OWNERS, "value": "x"},
                {"op": "add", "path": FOUND, "value": "true"},
            ],
        ),
        (node(other="o"), node(other="o", owners="x"), [{"op": "add", "path": OWNERS, "value": "x"}]),
        (node(owners="x"), node(owners="x,y"), [{"op": "add", "path": OWNERS, "value": "x,y"}]),
        (node(owners="x"), node(), [{"op": "remove", "path": OWNERS}]),
        (node(other="o"), node(), []),
        (node(A, B, C), node(B), [{"op": "remove", "path": f"/spec/taints/{n}"} for n in (2, 0)]),
        (
            node(A),
            node(A, B),
            [
                {
                    "op": "add",
                    "path": "/spec/taints/-",
                    "value": {"key": "b", "value": "x", "effect": "NoExecute"},
                }
            ],
        ),
        (
            node(),
            node(A),
            [
                {
                    "op": "add",
                    "path": "/spec/taints",
                    "value": [{"key": "a", "value": "", "effect": "NoSchedule"}],
                }
            ],
        ),
    ],
    ids=[
        "nothing",
        "cordon",
        "uncordon",
        "first annotations",
        "one more annotation",
        "another owner",
        "no owner",
        "annotations of others are not ours to remove",
        "taints go one by one, the last first",
        "one more taint",
        "first taint",
    ],
)
def test_a_patch_says_what_differs_and_first_of_which_node(
    before: KubeNode, after: KubeNode, lines: list[Any]
) -> None:
    assert node_patch(before, after) == [PRECONDITION, *lines]


@pytest.mark.parametrize(
    "said",
    [
        Said(409, {"message": "the object has been modified"}),
        Said(404, {"message": 'nodes "n" not found'}),
        Said(422, {"message": "the server rejected our request", "reason": "Invalid", "details": {}}),
    ],
    ids=["modified", "gone", "not the version that was read"],
)
def test_a_node_that_has_changed_is_a_conflict(said: Said) -> None:
    with saying(said) as stub, pytest.raises(Conflict, match="n is no longer at 41"):
        stub.api().change_node(node(), node(cordoned=True))


def test_a_change_that_kubernetes_finds_invalid_is_told_as_such() -> None:
    cause = {"reason": "FieldValueInvalid", "message": "name part must consist of", "field": "taints[0].key"}
    said = Said(422, {"message": 'Node "n" is invalid', "details": {"name": "n", "causes": [cause]}})
    with saying(said) as stub, pytest.raises(Invalid, match='Node "n" is invalid'):
        stub.api().change_node(node(), node(A))


def test_a_change_whose_answer_makes_no_sense_may_have_happened() -> None:
    with saying(Said(200, b"{")) as stub, pytest.raises(Unknown):
        stub.api().change_node(node(), node(cordoned=True))


def answer(code: int, message: str = "", *, cause: tuple[str, str] | None = None, after_s: int = 0) -> Answer:
    causes = [{"reason": cause[0], "message": cause[1]}] if cause else []
    status = {"message": message, "details": {"causes": causes, "retryAfterSeconds": after_s}}
    return Answer(code, msgspec.json.encode(status), float(after_s))


BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
NEEDS = "The disruption budget pdb-a needs 1 healthy pods and has 1 currently"
WAITS = "The disruption budget pdb-d is still being processed by the server."
TWO = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
OTHER = "Precondition failed: the UID in the precondition (a) does not match the UID in record (b)"
COLLIDED = 'Operation cannot be fulfilled on poddisruptionbudgets.policy "a": the object has been modified'
CROWDED = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
TIRED = 'couldn\'t update PodDisruptionBudget "a" due to conflicts'
TERMINATING = ("NamespaceTerminating", "namespace shop is being terminated")


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (answer(201), Evicted(Eviction.ACCEPTED)),
        (answer(404, "not found"), Evicted(Eviction.GONE, "not found")),
        (answer(409, OTHER), Evicted(Eviction.GONE, OTHER)),
        (answer(409, COLLIDED), Evicted(Eviction.REFUSED, COLLIDED)),
        (answer(429, BUDGET, cause=("DisruptionBudget", NEEDS)), Evicted(Eviction.REFUSED, NEEDS)),
        (
            answer(429, BUDGET, cause=("DisruptionBudget", WAITS), after_s=10),
            Evicted(Eviction.REFUSED, WAITS, 10.0),
        ),
        (answer(500, TWO), Evicted(Eviction.IMPOSSIBLE, TWO)),
        (answer(403, "no", cause=TERMINATING), Evicted(Eviction.REFUSED, "no")),
        (answer(403, CROWDED), Evicted(Eviction.REFUSED, CROWDED)),
        (answer(504, TIRED, after_s=10), Evicted(Eviction.REFUSED, TIRED, 10.0)),
    ],
    ids=[
        "accepted",
        "no such pod",
        "another pod of that name",
        "collided over a budget",
        "budget exhausted",
        "budget not yet processed",
        "two budgets",
        "namespace is going",
        "too many at once",
        "gave up colliding",
    ],
)
def test_an_answer_to_an_eviction_has_one_meaning(said: Answer, means: Evicted) -> None:
    assert translate_eviction(pod(), said) == means


def test_a_pod_that_goes_with_its_namespace_is_on_its_way() -> None:
    said = answer(403, "no", cause=TERMINATING)
    assert translate_eviction(pod(terminating=True), said).outcome is Eviction.ACCEPTED


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (answer(429, "Too many requests, please try again later."), Throttled),
        (answer(403, 'User "limited" cannot create resource "pods/eviction"'), Denied),
        (answer(500, "etcdserver: leader changed"), Unknown),
        (answer(503, "shutting down"), Unknown),
        (answer(504, "the server was unable to return a response in the time allotted"), Unknown),
    ],
    ids=["throttled", "no right", "broken", "away", "late"],
)
def test_answers_that_are_not_about_the_pod_are_raised(said: Answer, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        translate_eviction(pod(), said)
    assert type(raised.value) is error


def test_a_dry_run_that_failed_has_changed_nothing() -> None:
    with saying(Said(503)) as stub, pytest.raises(Busy):
        stub.api().evict(pod(), dry_run=True)


def test_an_eviction_names_the_very_pod_and_no_grace_unless_told() -> None:
    plain = eviction(pod("web"), None, dry_run=False)
    assert plain["deleteOptions"]["preconditions"] == {"uid": "uid-shop-web"}
    assert not {"gracePeriodSeconds", "dryRun"} & set(plain["deleteOptions"])
    hurried = eviction(pod("web"), 0, dry_run=True)
    assert hurried["deleteOptions"]["gracePeriodSeconds"] == 0
    assert hurried["deleteOptions"]["dryRun"] == ["All"]


@pytest.mark.parametrize(
    "said",
    [Said(200), Said(202), Said(404), Said(409, {"message": OTHER})],
    ids=["ok", "later", "gone", "another"],
)
def test_deleting_what_is_gone_or_has_become_another_is_fine(said: Said) -> None:
    with saying(said) as stub:
        stub.api().delete_pod(pod(), grace_s=1)
        stub.api().delete_node("n", "uid")
        assert [asked.split()[0] for asked in stub.asked] == ["DELETE", "DELETE"]
        assert b'"gracePeriodSeconds":1' in stub.bodies[0]
        assert b'"preconditions":{"uid":"uid"}' in stub.bodies[1]


def test_a_deletion_that_collided_is_not_taken_for_done() -> None:
    with saying(Said(409, {"message": COLLIDED})) as stub, pytest.raises(Conflict):
        stub.api().delete_node("n", "uid")
