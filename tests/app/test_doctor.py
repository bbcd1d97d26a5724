"""The doctor: whatever is missing is found and named with its fix, and nothing is touched."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from holdfast.app.autoscaler import clients, wiring
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.app.doctor import Check, cluster, machines, tables
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cli import main
from holdfast.cli.autoscaler import doctor
from holdfast.cloud.launches import launch_token
from tests.adapters.kubernetes.kubernetes_stub import Said, saying
from tests.ministack import client_for


def by_what(checks: Iterator[Check]) -> dict[str, Check]:
    return {check.what: check for check in checks}


@pytest.fixture
def stored(dynamodb_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that name two tables which are not there yet."""
    monkeypatch.setattr(clients, "dynamodb_client", lambda *_: client_for(dynamodb_endpoint))
    name = uuid.uuid4().hex[:8]
    return Settings(state_table=f"{name}-state", logs_table=f"{name}-logs")


def made(settings: Settings) -> None:
    client = clients.dynamodb_client(settings, {})
    dynamodb_cluster_store(
        client, state_table=settings.state_table, logs_table=settings.logs_table, create_tables=True
    )


def test_missing_tables_are_named_with_the_command_that_makes_them(stored: Settings) -> None:
    state, logs = tables.dynamodb(stored, {})

    assert (state.ok, state.says) == (False, "there is no such table")
    assert (logs.ok, logs.says) == (False, "there is no such table")
    assert "--create-tables" in state.fix


def test_tables_are_read_and_tried_without_a_trace(stored: Settings) -> None:
    made(stored)

    found = by_what(tables.dynamodb(stored, {}))

    assert all(check.ok for check in found.values()), found
    assert set(found) == {
        f"table {stored.state_table}",
        f"table {stored.logs_table}",
        f"read the record in {stored.state_table}",
        f"dynamodb:UpdateItem on {stored.state_table}",
        f"dynamodb:PutItem on {stored.logs_table}",
        f"dynamodb:BatchWriteItem on {stored.logs_table}",
        f"expiry of {stored.logs_table}",
    }
    client = clients.dynamodb_client(stored, {})
    for table in (stored.state_table, stored.logs_table):
        assert client.scan(TableName=table)["Items"] == []


def test_a_table_of_another_shape_is_refused(stored: Settings) -> None:
    made(stored)

    found = tables.dynamodb(Settings(state_table=stored.logs_table, logs_table=stored.state_table), {})

    assert [(check.ok, check.says) for check in found] == [
        (False, "its key is pk, sk, not pk"),
        (False, "its key is pk, not pk, sk"),
    ]


class DenyingTables:
    """Lets everything be described, and denies one call."""

    def __init__(self, client: Any, denied: str) -> None:
        self._client, self._denied = client, denied

    def __getattr__(self, name: str) -> Any:
        if name != self._denied:
            return getattr(self._client, name)

        def deny(**_: object) -> None:
            raise ClientError(
                {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}},
                "TransactWriteItems",
            )

        return deny


@pytest.mark.parametrize(
    ("denied", "what"),
    [
        ("transact_write_items", "dynamodb:UpdateItem on"),
        ("batch_write_item", "dynamodb:BatchWriteItem on"),
        ("get_item", "read the record in"),
        ("query", "read the record in"),
    ],
)
def test_each_denial_of_dynamodb_is_found(
    stored: Settings, monkeypatch: pytest.MonkeyPatch, denied: str, what: str
) -> None:
    made(stored)
    client = DenyingTables(clients.dynamodb_client(stored, {}), denied)
    monkeypatch.setattr(clients, "dynamodb_client", lambda *_: client)

    wrong = [check for check in tables.dynamodb(stored, {}) if check.ok is False]

    assert wrong
    assert wrong[0].what.startswith(what)
    assert "grant the role this action" in wrong[0].fix


def test_a_sqlite_file_is_not_made_by_looking_for_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"

    (absent,) = tables.sqlite(Settings(database=str(path)), {})
    (nowhere,) = tables.sqlite(Settings(database=str(tmp_path / "no" / "state.db")), {})

    assert absent.ok is None
    assert nowhere.ok is False
    assert not path.exists()


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("not a database at all, whatever its name says" * 100)

    (check,) = tables.sqlite(Settings(database=str(path)), {})

    assert check.ok is False
    assert "not a database" in check.says


class ScriptedEc2:
    """Answers listings from a script, and every dry run with yes, but for what is denied."""

    LISTS: Mapping[str, dict[str, Any]] = {
        "describe_instances": {"Reservations": []},
        "describe_subnets": {"Subnets": [{"SubnetId": "subnet-a", "AvailabilityZone": "us-east-1a"}]},
        "describe_instance_types": {
            "InstanceTypes": [
                {
                    "InstanceType": "t3.medium",
                    "VCpuInfo": {"DefaultVCpus": 2},
                    "MemoryInfo": {"SizeInMiB": 4096},
                    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
                }
            ]
        },
        "describe_spot_price_history": {"SpotPriceHistory": []},
        "describe_launch_template_versions": {"LaunchTemplateVersions": []},
    }

    def __init__(self, denied: str = "", code: str = "UnauthorizedOperation") -> None:
        self.denied, self.code, self.lists = denied, code, dict(self.LISTS)
        self.changed: list[str] = []

    def get_paginator(self, name: str) -> Any:
        ec2 = self

        class Pages:
            def paginate(self, **_: object) -> list[dict[str, Any]]:
                ec2.check(name)
                return [ec2.lists[name]]

        return Pages()

    def __getattr__(self, name: str) -> Any:
        def call(**said: Any) -> Any:
            self.check(name)
            if name in self.lists:
                return self.lists[name]
            if not said.get("DryRun"):
                self.changed.append(name)
            raise refused("DryRunOperation", 412)

        return call

    def check(self, name: str) -> None:
        if name == self.denied:
            raise refused(self.code, 403)


def refused(code: str, status: int) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": f"{code}!"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "Call",
    )


OF_THE_CLOUD = Settings(
    pools=(Pool(ami_id="ami-1", subnet_ids=("subnet-a",)),),
    prometheus_url="http://10.0.0.5:30900",
    k3s_url="https://10.0.0.5:6443",
    k3s_cluster_token_param="/k3s/token",
    usd_per_hour={"t3.medium": 0.0416},
)
AN_OLDER_VERSION = {"LaunchTemplateId": "lt-1", "VersionNumber": 1, "VersionDescription": "older"}
OURS = {
    "InstanceId": "i-1",
    "State": {"Name": "running"},
    "LaunchTime": datetime(2026, 1, 1, tzinfo=UTC),
    "Tags": [{"Key": "holdfast:action", "Value": "1-req"}],
    "ClientToken": launch_token("1-req", 1, 1),
}


def asked(
    ec2: ScriptedEc2, monkeypatch: pytest.MonkeyPatch, settings: Settings = OF_THE_CLOUD
) -> dict[str, Check]:
    monkeypatch.setattr(clients, "ec2_client", lambda *_: ec2)
    found = by_what(machines.ec2(settings, {}))
    assert ec2.changed == []
    return found


def test_a_cloud_that_allows_everything_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    ec2 = ScriptedEc2()
    ec2.lists["describe_instances"] = {"Reservations": [{"Instances": [OURS]}]}

    found = asked(ec2, monkeypatch)

    assert not [check for check in found.values() if check.ok is False], found
    assert found["ec2:TerminateInstances"].ok
    assert found["pool default: ec2:RunInstances"].ok


@pytest.mark.parametrize(
    ("call", "what", "action"),
    [
        ("describe_instances", "ec2:DescribeInstances", "ec2:DescribeInstances"),
        ("describe_subnets", "pool default: subnets", "ec2:DescribeSubnets"),
        ("describe_instance_types", "pool default: instance types", "ec2:DescribeInstanceTypes"),
        ("describe_spot_price_history", "pool default: prices", "ec2:DescribeSpotPriceHistory"),
        ("describe_launch_template_versions", "pool default: launch template",
         "ec2:DescribeLaunchTemplateVersions"),
        ("create_launch_template", "pool default: ec2:CreateLaunchTemplate", "ec2:CreateLaunchTemplate"),
        ("create_launch_template_version", "pool default: ec2:CreateLaunchTemplateVersion",
         "ec2:CreateLaunchTemplateVersion"),
        ("run_instances", "pool default: ec2:RunInstances", "ec2:RunInstances"),
        ("terminate_instances", "ec2:TerminateInstances", "ec2:TerminateInstances"),
        ("get_console_output", "ec2:GetConsoleOutput", "ec2:GetConsoleOutput"),
    ],
)  # fmt: skip
def test_each_denial_of_ec2_is_found_with_its_fix(
    call: str, what: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ec2 = ScriptedEc2(denied=call)
    ec2.lists["describe_instances"] = {"Reservations": [{"Instances": [OURS]}]}
    ec2.lists["describe_launch_template_versions"] = {"LaunchTemplateVersions": [AN_OLDER_VERSION]}

    check = asked(ec2, monkeypatch)[what]

    assert check.ok is False
    assert check.fix == f"grant the role this action: {action}"


def test_a_template_that_is_not_there_yet_is_no_missing_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(ScriptedEc2(denied="create_launch_template_version"), monkeypatch)

    assert found["pool default: ec2:CreateLaunchTemplateVersion"].ok is None


def test_what_only_a_machine_of_ours_can_show_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(ScriptedEc2(), monkeypatch)

    assert found["ec2:TerminateInstances"].ok is None


def test_a_wrong_image_is_named_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    check = asked(ScriptedEc2("run_instances", "InvalidAMIID.NotFound"), monkeypatch)[
        "pool default: ec2:RunInstances"
    ]

    assert check.ok is False
    assert "setting ami_id of pool default" in check.says


def test_a_pool_that_cannot_work_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Settings(
        pools=(Pool(ami_id="ami-1", subnet_ids=("subnet-a",), architecture="arm64"),), usd_per_hour_max=1.0
    )

    found = asked(ScriptedEc2(), monkeypatch, arm)

    assert "t3.medium of pool default is not arm64" in found["pool default: instance types"].says
    assert found["pool default: prices"].ok is False  # with a ceiling, nothing without a price is launched
    assert "k3s_url is empty" in found["pool default: launch template"].says
    assert found["control plane tagged Role=k3s-control-plane"].ok is False


def test_a_price_list_that_does_not_answer_is_found_with_its_fix(
    monkeypatch: pytest.MonkeyPatch, aws_identity: None
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", "http://127.0.0.1:1")
    client = ScriptedEc2()
    vars(client)["meta"] = SimpleNamespace(region_name="eu-central-1")
    settings = replace(OF_THE_CLOUD, usd_per_hour={}, on_demand_prices="price-list")

    check = asked(client, monkeypatch, settings)["pool default: prices"]

    assert check.ok is False
    assert "the price list does not answer: pricing:GetProducts: Could not connect" in check.says
    assert check.fix.startswith("grant pricing:GetProducts, and let a function in a VPC reach the internet")


def test_each_denial_of_kubernetes_is_found_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    yes, no = ({"status": {"allowed": allowed}} for allowed in (True, False))
    version, nodes = Said(body={"gitVersion": "v1.33.5"}), Said(body={"items": []})
    with saying(version, *[Said(201, yes)] * 8, Said(201, no), *[Said(201, yes)] * 7, nodes) as stub:
        monkeypatch.setattr(wiring, "connect_kubernetes", lambda *_: stub.api())
        found = by_what(cluster.kubernetes(Settings(), {}))

    assert (found["API server"].ok, found["API server"].says) == (True, "v1.33.5")
    assert [what for what, check in found.items() if check.ok is False] == ["create pods/eviction"]
    assert "grant verb `create` on `pods/eviction`" in found["create pods/eviction"].fix
    assert not [each for each in stub.asked if each.startswith(("PATCH", "DELETE"))]


def test_an_api_that_does_not_let_us_in_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with saying(Said(401, {"message": "Unauthorized"})) as stub:
        monkeypatch.setattr(wiring, "connect_kubernetes", lambda *_: stub.api())
        (check,) = cluster.kubernetes(Settings(), {})

    assert check.ok is False
    assert check.what == "API server"


def test_a_load_that_is_not_known_is_wrong_only_if_there_is_a_worker_to_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Silent:
        def load(self, *_: object) -> Load:
            return Load(None, problem="no answer")

    monkeypatch.setattr(wiring, "metrics_of", lambda *_: Silent())
    node = {"metadata": {"name": "n-1"}, "spec": {"providerID": "aws:///a/i-1"}}
    yes = Said(201, {"status": {"allowed": True}})
    answers: dict[bool, Check] = {}
    for there in (True, False):
        named = node if there else {"metadata": {"name": "n-1"}}
        with saying(Said(body={"gitVersion": "v1"}), *[yes] * 8, Said(body={"items": [named]})) as stub:
            monkeypatch.setattr(wiring, "connect_kubernetes", lambda *_, stub=stub: stub.api())
            answers[there] = by_what(cluster.kubernetes(Settings(), {}))["load by prometheus"]

    assert (answers[True].ok, answers[True].says) == (False, "no answer")
    assert answers[False].ok is None


def test_doctor_shows_a_table_and_the_fixes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    checks = [
        Check("EC2", "ec2:RunInstances", False, "UnauthorizedOperation", "grant the role this action"),
        Check("EC2", "ec2:DescribeInstances", True, "3 workers"),
        Check("SSM", "read /k3s/token", None, "not tried here"),
    ]
    monkeypatch.setattr(doctor, "all_checks", lambda config: iter(checks))
    monkeypatch.chdir(tmp_path)

    shown = CliRunner().invoke(main, ["autoscaler", "doctor"])
    told = CliRunner().invoke(main, ["autoscaler", "doctor", "--json"])

    assert (shown.exit_code, told.exit_code) == (1, 1)
    assert "  wrong  ec2:RunInstances" in shown.output
    assert "→ grant the role this action" in shown.output
    assert "1 wrong, 1 fine, 1 not checked" in shown.output
    assert json.loads(told.stdout)["ok"] is False


def test_doctor_of_wrong_settings_stops_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(main, ["autoscaler", "doctor"], env={"CPU_UP": "7", "MIN_WORKERS": "99"})

    assert done.exit_code == 2
    assert "CPU_UP = 7.0" in done.output
    assert "2 wrong, 0 fine" in done.output
