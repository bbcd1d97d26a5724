"""The shipped IAM policy grants what workers are seen to call, table by table, and nothing else."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.adapters.aws.client import _session
from holdfast.adapters.aws.dynamodb.caps import ensure_cap_tables
from holdfast.adapters.aws.dynamodb.client import make_client
from holdfast.app.clients import aws_client
from holdfast.app.leases import open_store
from holdfast.kernel import Invalid
from holdfast.leases import restart
from holdfast.leases.cap import coordinator
from holdfast.leases.settings import Settings
from holdfast.leases.settings.load import load
from holdfast.stream.live import LiveCap
from holdfast.stream.supervise.orders import CapOrders
from holdfast.stream.told import told_at_start
from tests.real.product.leases.dynamodbs import denied
from tests.real.product.leases.site import Site
from tests.real.traces import wait_until
from tests.tidy.repository import ROOT

POLICY = ROOT / "deploy" / "aws-iam" / "leases.json"
Call = tuple[str, str]
"""An action, and the resource by its name."""


def granted(site: Site) -> list[Call]:
    names = {"STREAM": site.stream, "APP": site.app, "REGION": "us-east-1", "ACCOUNT": "000000000000"}
    text = POLICY.read_text()
    for placeholder in ("STREAM", "APP", "REGION", "ACCOUNT"):
        text = text.replace(placeholder, names[placeholder])
    return [
        (action, resource.rpartition("/")[2])
        for statement in json.loads(text)["Statement"]
        for action in _listed(statement["Action"])
        for resource in _listed(statement["Resource"])
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.fixture
def called() -> Iterator[set[Call]]:
    """Every call to AWS that this process makes."""
    found: set[Call] = set()

    def note(params: Any, model: Any, **_: Any) -> None:
        service = model.service_model.service_name
        for item in params.get("TransactItems", []):
            # A transaction needs the permission of each write inside it.
            ((kind, request),) = item.items()
            found.add((f"{service}:{kind}Item", request["TableName"]))
        if "TransactItems" not in params:
            found.add((f"{service}:{model.name}", params.get("TableName") or params.get("StreamName", "")))

    session: Any = _session()
    session.register("before-parameter-build", note)
    yield found
    session.unregister("before-parameter-build", note)


@pytest.fixture
def settings(site: Site, monkeypatch: pytest.MonkeyPatch) -> Settings:
    environment = site.environment("worker-1", KDS_WORKER_COUNT="2")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return load({}, environment).settings


def test_what_workers_call_is_granted_and_nothing_else_is(
    site: Site, settings: Settings, called: set[Call]
) -> None:
    site.streams.make(site.stream, 4)
    assert told_at_start(settings).max_leases == 2
    with LiveCap(settings=settings) as live:
        assert live.max_leases == 2
        worker = live.worker
        found, own = worker.found, worker.row
        assert found is not None
        assert own is not None
        write = restart.take(found.value, own, worker.living, "a test", 0.0)
        assert write is not None
        worker.ports.store.commit(coordinator(site.app), found, write, worker.ports.new_id())
    with open_store(settings) as opened:
        assert list(opened.store.events(coordinator(site.app)))
        assert opened.store.commit_id_at(coordinator(site.app), 1)
    policy = granted(site)
    assert len(policy) == len(set(policy)), "an action stands there twice"
    # Kinesis' later pages are asked for by a token alone; this stream has one page.
    assert called == set(policy)


def test_nothing_is_granted_by_a_pattern(site: Site) -> None:
    assert "*" not in POLICY.read_text()
    assert {resource for _, resource in granted(site)} == {
        site.stream,
        site.app,
        f"{site.stream}_meta",
        f"{site.stream}_meta_events",
    }


AT_ITS_START = [
    ("kinesis:ListShards", "{stream}"),
    ("dynamodb:Scan", "{app}"),
    *(("dynamodb:" + call, "{stream}_meta") for call in ("GetItem", "Scan", "UpdateItem")),
    ("dynamodb:PutItem", "{stream}_meta_events"),
    ("dynamodb:Query", "{stream}_meta_events"),
    *(
        ("dynamodb:" + call, table)
        for call in ("DescribeTable", "CreateTable", "DescribeTimeToLive", "UpdateTimeToLive")
        for table in ("{stream}_meta", "{stream}_meta_events")
    ),
]
ON_A_NEW_TABLE = ("CreateTable", "DescribeTimeToLive", "UpdateTimeToLive")
LATER = [
    ("dynamodb:DeleteItem", "{stream}_meta"),
    ("dynamodb:GetItem", "{stream}_meta_events"),
]
"""When a worker leaves, and after a lost answer."""


def test_these_are_all(site: Site) -> None:
    every = {
        (action, table.format(stream=site.stream, app=site.app)) for action, table in AT_ITS_START + LATER
    }
    assert every == set(granted(site))


@pytest.mark.parametrize(("action", "resource"), AT_ITS_START)
def test_a_worker_that_is_denied_a_call_says_what_to_grant_and_agrees_on_nothing(
    site: Site, settings: Settings, action: str, resource: str
) -> None:
    site.streams.make(site.stream, 2)
    if action.endswith(ON_A_NEW_TABLE):
        named = resource.format(stream=site.stream)
    else:
        ensure_cap_tables(aws_client(make_client, "us-east-1", {}), settings.meta_table_name)
        named = resource.format(stream=site.stream, app=site.app)
    with denied(action, named), pytest.raises(Invalid) as refused:
        told_at_start(settings)
    assert "AccessDeniedException" in str(refused.value)
    assert "grant the role this action" in str(refused.value)
    assert named.removesuffix("_events") in str(refused.value)
    if not action.endswith(ON_A_NEW_TABLE):
        assert site.rows() == {}, "nothing was written"


def test_a_worker_that_may_not_delete_its_row_leaves_all_the_same(site: Site, settings: Settings) -> None:
    site.streams.make(site.stream, 2)
    orders = CapOrders()
    with denied("dynamodb:DeleteItem", f"{site.stream}_meta"):
        orders.join(lambda: LiveCap(settings=settings, on_pulse=orders.pulsed))
        wait_until(lambda: orders.first() is not None, "it has joined")
        orders.leave()
    assert "worker-1" in site.rows(), "it is dead when its beat has not moved for a while"
