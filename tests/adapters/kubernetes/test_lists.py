"""Lists come in chunks, whole or not at all."""

import pytest

from holdfast.adapters.kubernetes.lists import CHUNK
from holdfast.kernel import Busy, Invalid
from tests.adapters.kubernetes.kubernetes_stub import Said, saying

EXPIRED = Said(410, {"reason": "Expired", "message": "The provided continue parameter is too old"})


def page(*names: str, more: str = "") -> Said:
    items = [{"metadata": {"name": name}} for name in names]
    return Said(200, {"metadata": {"continue": more, "resourceVersion": "7"}, "items": items})


def test_pages_are_joined_in_order() -> None:
    with saying(page("a", "b", more="t/1="), page("c", more="t2"), page("d")) as stub:
        assert [node.metadata.name for node in stub.api().nodes()] == ["a", "b", "c", "d"]
        assert stub.asked == [
            f"GET /api/v1/nodes?limit={CHUNK}",
            f"GET /api/v1/nodes?limit={CHUNK}&continue=t%2F1%3D",
            f"GET /api/v1/nodes?limit={CHUNK}&continue=t2",
        ]


def test_no_read_may_be_served_from_an_old_cache() -> None:
    with saying(page("a")) as stub:
        stub.api().nodes()
        stub.api().pods("n-1")
        assert all("resourceVersion" not in asked for asked in stub.asked)


def test_the_pods_of_one_node_are_chosen_by_the_server() -> None:
    with saying(page("a")) as stub:
        stub.api().pods("ip-10-0-0-1")
        assert stub.asked == [f"GET /api/v1/pods?fieldSelector=spec.nodeName%3Dip-10-0-0-1&limit={CHUNK}"]


def test_a_list_that_expires_in_the_middle_is_begun_anew() -> None:
    with saying(page("a", more="t1"), EXPIRED, page("b", more="t2"), page("c")) as stub:
        assert [node.metadata.name for node in stub.api().nodes()] == ["b", "c"]
        assert "continue" not in stub.asked[2]


def test_a_list_that_expires_again_and_again_is_busy() -> None:
    with saying(page("a", more="t1"), EXPIRED, page("a", more="t1"), EXPIRED) as stub:
        with pytest.raises(Busy, match="expired while it was read, 2 times"):
            stub.api().nodes()
        assert len(stub.asked) == 4


def test_a_page_that_fails_gives_no_half_list() -> None:
    with saying(page("a", more="t1"), Said(503, {"message": "shutting down"})) as stub:
        with pytest.raises(Busy, match="shutting down"):
            stub.api().nodes()
        assert len(stub.asked) == 2


def test_a_list_of_nothing_is_empty_however_it_is_written() -> None:
    with saying(Said(200, {"metadata": {}, "items": None}), Said(200, {"metadata": {}, "items": []})) as stub:
        assert list(stub.api().nodes()) == []
        assert list(stub.api().budgets()) == []


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"", b'{"items": [{"metadata": 7}]}', b"[]"])
def test_what_is_not_a_list_of_kubernetes_is_told_and_not_taken_for_an_empty_one(body: bytes) -> None:
    with saying(Said(200, body)) as stub, pytest.raises(Invalid, match="not what Kubernetes sends"):
        stub.api().nodes()


def test_names_cannot_reach_other_paths() -> None:
    with saying(Said(404)) as stub:
        assert stub.api().node("../pods?x=") is None
        assert stub.asked == ["GET /api/v1/nodes/..%2Fpods%3Fx%3D"]
