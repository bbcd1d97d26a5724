"""Settings become a wired autoscaler: the right parts, lazily, and clear words where that cannot be."""

import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.kubernetes.metrics import MetricsServer, RequestsOnly
from holdfast.adapters.prometheus import Prometheus
from holdfast.app.autoscaler import clients, wiring
from holdfast.app.autoscaler.stores import open_stores
from holdfast.app.clients import aws_client
from holdfast.app.leases import open_store
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Event, Happened, Invalid, Outcome, Write
from holdfast.leases.settings import Settings as LeasesSettings
from tests.adapters.kubernetes.kubernetes_stub import Said, saying
from tests.ministack import client_for


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An EC2 that knows nothing but the control plane's address, and counts the questions."""
    known: dict[str, Any] = {"address": "10.0.0.5", "asked": 0}

    class Cloud:
        def __init__(self, client: object, settings: Settings, price_list: object) -> None:
            self.settings = settings

        def control_plane_address(self) -> str:
            known["asked"] += 1
            return str(known["address"])

    monkeypatch.setattr("holdfast.app.autoscaler.cloud.Ec2Cloud", Cloud)
    monkeypatch.setattr(clients, "ec2_client", lambda *_: None)
    return known


def test_addresses_that_are_left_open_are_the_control_planes(cloud: dict[str, Any]) -> None:
    left_open = Settings(k8s_api_token_param="/api", k3s_cluster_token_param="/join", prom_nodeport=31_000)

    found, made = wiring.locate(left_open, {})

    assert found.prometheus_url == "http://10.0.0.5:31000"
    assert found.k8s_api_url == "https://10.0.0.5:6443"
    assert found.k3s_url == "https://10.0.0.5:6443"
    assert made.settings == found  # type: ignore[attr-defined]  # machines join the address that was found


def test_addresses_that_are_given_stay_and_ec2_is_not_asked(cloud: dict[str, Any]) -> None:
    given = Settings(metrics="requests", k8s_api_url="https://api", k8s_api_token_param="/api")

    assert wiring.locate(given, {})[0] == given
    assert cloud["asked"] == 0


def test_without_a_control_plane_the_load_is_a_problem_in_words(cloud: dict[str, Any]) -> None:
    cloud["address"] = ""
    found, _ = wiring.locate(Settings(cluster_name="blue"), {})
    with saying(Said()) as stub:
        load = wiring.metrics_of(found, stub.api()).load([], [], 600)

    assert load.cpu is None
    assert "Cluster=blue and Role=k3s-control-plane: set PROMETHEUS_URL" in load.problem


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        (Settings(metrics="prometheus", prometheus_url="http://10.0.0.5:30900"), Prometheus),
        (Settings(metrics="metrics-server"), MetricsServer),
        (Settings(metrics="requests"), RequestsOnly),
    ],
)
def test_the_source_of_the_load_is_the_one_that_is_named(settings: Settings, source: type) -> None:
    with saying(Said()) as stub:
        assert isinstance(wiring.metrics_of(settings, stub.api()), source)


def test_a_file_holds_record_and_inbox(tmp_path: Path) -> None:
    with open_stores(Settings(database=str(tmp_path / "state.db")), {}) as stores:
        write = Write(Cluster(worker_count=3), (Event("decision", 1.0),))
        stores.store.commit(SUBJECT, stores.store.read(SUBJECT), write, "c-1")

        assert stores.store.read(SUBJECT).value.worker_count == 3
        assert list(stores.inbox.waiting()) == []


@pytest.mark.parametrize("path", ["/proc/nowhere/state.db", "."])
def test_a_file_that_cannot_be_opened_names_the_setting(path: str) -> None:
    with pytest.raises(Invalid, match=r"database = .*; name a file in a folder"):
        open_stores(Settings(database=path), {})
    with pytest.raises(Invalid, match=r"database = .*; name a file in a folder"):
        open_store(LeasesSettings(database=path, stream_name="orders", app_name="billing"), {})


def test_missing_tables_are_made_only_when_asked(
    dynamodb_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "dynamodb_client", lambda *_: client_for(dynamodb_endpoint))
    name = uuid.uuid4().hex[:8]
    settings = Settings(state_table=f"{name}-state", logs_table=f"{name}-logs")

    with open_stores(settings, {}) as stores, pytest.raises(Invalid, match=f"{name}-state"):
        stores.store.read(SUBJECT)
    with open_stores(settings, {}) as stores, pytest.raises(Invalid, match=f"{name}-logs"):
        stores.inbox.waiting()
    with open_stores(settings, {}, create_tables=True) as stores:
        assert stores.store.read(SUBJECT).version == 0
        assert list(stores.inbox.waiting()) == []


def test_no_region_is_told_with_the_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(Invalid, match="set region, AWS_REGION"):
        open_stores(Settings(), {})


def test_the_region_is_the_settings_then_the_environments() -> None:
    asked: list[object] = []

    def make(*, region: str | None) -> None:
        asked.append(region)

    for region in ("eu-west-1", ""):
        aws_client(make, region, {"AWS_REGION": "us-east-1"})

    assert asked == ["eu-west-1", "us-east-1"]


def test_calls_run_side_by_side_and_answer_in_order() -> None:
    together = threading.Barrier(3, timeout=30)

    def call(n: int) -> Outcome:
        together.wait()  # no call passes before all are there
        return Happened(n)

    assert wiring.side_by_side([lambda n=n: call(n) for n in range(3)]) == [Happened(n) for n in range(3)]  # type: ignore[misc]
    assert wiring.side_by_side([]) == []


LIGHT = """
import sys, holdfast.app.autoscaler.wiring
heavy = {"boto3", "botocore", "rich", "click", "prometheus_client", "yaml", "sqlite3"} & set(sys.modules)
sys.exit(f"loaded for nothing: {sorted(heavy)}" if heavy else 0)
"""


def test_importing_the_assembly_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
