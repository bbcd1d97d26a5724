"""What only a cluster of k3s and a fleet on spot need: releases, tokens, and a way for notices."""

from typing import Any

import pytest

from holdfast.app.autoscaler import clients, wiring
from holdfast.app.doctor import Check, cluster
from holdfast.app.doctor.notices import notices
from holdfast.autoscaler.settings import Pool, Settings
from tests.adapters.kubernetes.kubernetes_stub import Said, saying
from tests.app.test_doctor import ScriptedEc2, by_what, refused


@pytest.mark.parametrize(
    ("nodes", "server", "ok"),
    [
        ("v1.33.5+k3s1", "v1.33.5+k3s1", True),
        ("v1.32.1+k3s1", "v1.33.5+k3s1", None),
        ("v1.33.9+k3s1", "v1.33.5+k3s1", None),
        ("v1.34.1+k3s1", "v1.33.5+k3s1", False),
        ("v1.29.1+k3s1", "v1.33.5+k3s1", False),
        ("v1.33.5+k3s1", "v1.33.5-eks-1", None),
    ],
)
def test_the_release_of_new_nodes_is_compared_with_the_servers(
    nodes: str, server: str, ok: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    yes = Said(201, {"status": {"allowed": True}})
    with saying(Said(body={"gitVersion": server}), *[yes] * 10, Said(body={"items": []})) as stub:
        monkeypatch.setattr(wiring, "connect_kubernetes", lambda *_: stub.api())
        found = by_what(cluster.kubernetes(Settings(k3s_version=nodes), {}))

    assert found[f"k3s {nodes} of new nodes"].ok is ok


@pytest.mark.parametrize(
    ("token", "ok"),
    [(f"K10{'a' * 64}::server:s3cret", False), (f"K10{'a' * 64}::node:s3cret", True), ("s3cret", None)],
)
def test_the_token_to_join_with_must_be_an_agents_and_is_never_shown(
    token: str, ok: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Store:
        def get_parameter(self, **_: object) -> Any:
            return {"Parameter": {"Value": token}}

    monkeypatch.setattr(clients, "ssm_client", lambda *_: Store())

    check = by_what(cluster.ssm(Settings(k3s_cluster_token_param="/k3s/token"), {}))["join token /k3s/token"]

    assert check.ok is ok
    assert "s3cret" not in f"{check}"
    assert ok or "agent-token" in check.fix + check.says


class Queue:
    """Answers, or is denied."""

    def __init__(self, *, denied: bool = False) -> None:
        self._denied = denied

    def get_queue_attributes(self, **_: object) -> Any:
        if self._denied:
            raise refused("AccessDenied", 403)
        return {"Attributes": {"ApproximateNumberOfMessages": "2"}}


def way(
    monkeypatch: pytest.MonkeyPatch, *, url: str = "", queue: Queue | None = None, denied: bool = False
) -> dict[str, Check]:
    ec2 = ScriptedEc2(denied="describe_spot_instance_requests" if denied else "")
    ec2.lists["describe_spot_instance_requests"] = {"SpotInstanceRequests": []}
    monkeypatch.setattr(clients, "ec2_client", lambda *_: ec2)
    monkeypatch.setattr(clients, "sqs_client", lambda *_: queue)
    return by_what(notices(Settings(notice_queue_url=url), {}))


ASKED = "ec2:DescribeSpotInstanceRequests"
URL = "https://sqs.us-east-1.amazonaws.com/1/notices"


def test_without_a_queue_ec2_itself_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = way(monkeypatch)

    assert found[ASKED].ok
    assert "each turn asks EC2" in found[ASKED].says


def test_a_queue_is_the_quicker_way(monkeypatch: pytest.MonkeyPatch) -> None:
    found = way(monkeypatch, url=URL, queue=Queue())

    assert found["queue notices"].ok
    assert "about 2 wait now" in found["queue notices"].says


def test_where_no_way_is_open_it_is_wrong_and_says_both(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = way(monkeypatch, denied=True)
    both = way(monkeypatch, url=URL, queue=Queue(denied=True), denied=True)

    assert alone[ASKED].ok is False
    assert "notice_queue_url" in alone[ASKED].fix
    assert both["queue notices"].ok is False
    assert both[ASKED].ok is False


def test_a_fleet_without_spot_needs_no_notice() -> None:
    (check,) = notices(Settings(pools=(Pool(market="on-demand"),)), {})

    assert check.ok
