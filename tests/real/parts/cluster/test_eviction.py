"""Evictions are granted and refused with the answers that the product is built on."""

from tests.real.corner import Corner


def test_an_eviction_is_refused_while_a_budget_forbids_it_and_passes_afterwards(corner: Corner) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("strict", min_available=1, allows=0)
    refused = corner.evict()
    assert refused.status == 429
    assert refused.body["reason"] == "TooManyRequests"
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    corner.set_budget("strict", min_available=0, allows=1)
    assert corner.evict().status == 201
    corner.wait_until_gone()


def test_a_budget_grants_one_eviction_and_not_two(corner: Corner) -> None:
    corner.add_node()
    for name in ("web-1", "web-2", "web-3"):
        corner.running_pod(name)
    corner.set_budget("two-stay", min_available=2, allows=1)
    assert corner.evict("web-1").status == 201
    assert corner.evict("web-2").status == 429


def test_two_budgets_over_one_pod_are_an_error_of_the_server(corner: Corner) -> None:
    corner.add_node()
    corner.running_pod()
    corner.set_budget("one", min_available=0, allows=1)
    corner.set_budget("other", min_available=0, allows=1)
    answer = corner.evict()
    assert answer.status == 500
    assert "more than one PodDisruptionBudget" in answer.body["message"]


def test_an_eviction_meant_for_another_pod_of_that_name_is_a_conflict(corner: Corner) -> None:
    corner.add_node()
    pod = corner.running_pod()
    somebody_else = "00000000-0000-0000-0000-000000000000"
    answer = corner.evict(preconditions={"uid": somebody_else})
    assert answer.status == 409
    assert answer.body["reason"] == "Conflict"
    assert corner.evict(preconditions={"uid": pod["metadata"]["uid"]}).status == 201
    corner.wait_until_gone()


def test_a_dry_run_says_whether_an_eviction_would_pass_and_evicts_nothing(corner: Corner) -> None:
    corner.add_node()
    pod = corner.running_pod()
    assert corner.evict(dryRun=["All"]).status == 201
    seen = corner.cluster.request("GET", corner.path("pods", "web")).ok()
    assert seen["metadata"]["uid"] == pod["metadata"]["uid"]
    assert "deletionTimestamp" not in seen["metadata"]
    corner.set_budget("strict", min_available=1, allows=0)
    assert corner.evict(dryRun=["All"]).status == 429


def test_an_eviction_of_a_pod_that_is_not_there_is_not_found(corner: Corner) -> None:
    assert corner.evict("absent").status == 404
