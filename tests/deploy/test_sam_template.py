"""The template is valid, and says what the code it deploys expects."""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.adapters.aws.events import READERS, STATE_CHANGE
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.gauges import gauges
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.settings.load import InvalidSettings, load
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import ALIVE, State
from holdfast.lambda_handler import MARGIN_S
from tests.deploy.sam_template import PATH, properties, template
from tools.package_lambda import OUT

GIVEN: Mapping[str, str] = {
    "K8sApiUrl": "https://10.0.1.10:6443",
    "K8sCa": "-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----",
    "WorkerAmiId": "ami-0123456789abcdef0",
    "WorkerSubnetIds": "subnet-0a1b2c3d,subnet-0a1b2c3e",
    "WorkerSecurityGroupIds": "sg-0a1b2c3d",
    "K3sUrl": "https://10.0.1.10:6443",
    "StateTable": "a-state",
    "LogsTable": "a-logs",
    "WorkerProfile": "a-profile",
}
"""What a person, or another resource, would give."""


def resolved(value: Any) -> str:
    match value:
        case {"Ref": name}:
            return str(GIVEN.get(name, template()["Parameters"].get(name, {}).get("Default", "")))
        case {"Join": [delimiter, {"Ref": name}]}:
            return str(delimiter).join(GIVEN[name].split(","))
    return str(value)


def environment() -> dict[str, str]:
    variables = properties("Autoscaler")["Environment"]["Variables"]
    return {name: resolved(value) for name, value in variables.items()}


def test_it_is_valid_in_the_linters_eyes() -> None:
    lint = "import sys; from cfnlint.runner import main; sys.exit(main())"
    argv = [sys.executable, "-c", lint, "--non-zero-exit-code", "informational", "-t", str(PATH)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_environment_is_a_whole_and_sound_configuration() -> None:
    loaded = load({}, {name: value for name, value in environment().items() if name != "LOG_LEVEL"})
    assert loaded.warnings == ()
    settings = loaded.settings
    assert (settings.cluster_name, settings.state_table) == ("k3s-autoscaler", "a-state")
    assert settings.pools[0].subnet_ids == ("subnet-0a1b2c3d", "subnet-0a1b2c3e")
    assert settings.pools[0].instance_profile == "a-profile"
    assert settings.observe, "a first deployment touches nothing"


def test_every_variable_means_something() -> None:
    """A variable that is never read would be taken for a setting that works."""
    read = {"LOG_LEVEL"}
    for name in environment():
        wrong = {**environment(), name: "\0"}
        assert name in read or _differs(wrong), f"{name} is set and never read"


def _differs(environ: Mapping[str, str]) -> bool:
    before = {name: value for name, value in environment().items() if name != "LOG_LEVEL"}
    try:
        return load({}, {n: v for n, v in environ.items() if n != "LOG_LEVEL"}) != load({}, before)
    except InvalidSettings:
        return True


def test_every_parameter_says_what_it_is_for_and_stands_in_a_group() -> None:
    grouped = {
        name
        for group in template()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        for name in group["Parameters"]
    }
    parameters = template()["Parameters"]
    assert grouped == set(parameters)
    assert all(parameter.get("Description") for parameter in parameters.values())
    assert all(output.get("Description") for output in template()["Outputs"].values())


def test_the_handler_and_its_zip_are_the_ones_that_are_built() -> None:
    function = properties("Autoscaler")
    module, _, name = function["Handler"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    assert (PATH.parent / function["CodeUri"]).resolve() == PATH.parents[2] / OUT


def test_a_message_comes_again_no_sooner_than_the_function_ends_and_no_later() -> None:
    timeout_s = properties("Autoscaler")["Timeout"]
    assert timeout_s > 2 * MARGIN_S
    assert properties("NoticeQueue")["VisibilityTimeout"] == timeout_s


def test_failed_messages_come_back_alone() -> None:
    batches = properties("Autoscaler")["Events"]["Notices"]["Properties"]
    assert batches["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert batches["BatchSize"] <= 10 or batches["MaximumBatchingWindowInSeconds"] >= 1
    assert properties("NoticeQueue")["RedrivePolicy"]["deadLetterTargetArn"] == {"GetAtt": "DeadNotices.Arn"}


def test_the_rules_send_exactly_what_is_understood() -> None:
    rules = [properties(name) for name in ("InterruptionRule", "RebalanceRule", "StateChangeRule")]
    kinds = [kind for rule in rules for kind in rule["EventPattern"]["detail-type"]]
    assert sorted(kinds) == sorted(READERS)
    assert {source for rule in rules for source in rule["EventPattern"]["source"]} == {"aws.ec2"}
    (states,) = (
        rule["EventPattern"]["detail"]["state"]
        for rule in rules
        if STATE_CHANGE in rule["EventPattern"]["detail-type"]
    )
    assert set(states) == set(State) - ALIVE


class Recorded:
    """Takes down how the code itself would make the tables."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.expiry: dict[str, str] = {}
        self.exceptions = type("Codes", (), {"ResourceNotFoundException": KeyError})

    def describe_table(self, TableName: str) -> Any:  # noqa: N803
        return {"Table": {"TableStatus": "ACTIVE", **self.tables[TableName]}}

    def create_table(self, TableName: str, **told: Any) -> Any:  # noqa: N803
        self.tables[TableName] = told
        return {"TableDescription": {"TableStatus": "ACTIVE", **told}}

    def describe_time_to_live(self, **_: Any) -> Any:
        return {"TimeToLiveDescription": {}}

    def update_time_to_live(self, TableName: str, TimeToLiveSpecification: Any) -> None:  # noqa: N803
        self.expiry[TableName] = TimeToLiveSpecification["AttributeName"]


@pytest.mark.parametrize(("resource", "table"), [("StateTable", "state"), ("LogsTable", "logs")])
def test_the_tables_are_those_that_the_code_would_make(resource: str, table: str) -> None:
    made: Any = Recorded()
    dynamodb_cluster_store(made, state_table="state", logs_table="logs", create_tables=True)
    deployed = properties(resource)
    for part in ("KeySchema", "AttributeDefinitions", "BillingMode"):
        assert deployed[part] == made.tables[table][part]
    expiry = deployed.get("TimeToLiveSpecification", {}).get("AttributeName")
    assert expiry == made.expiry.get(table)


@pytest.mark.parametrize("resource", ["StateTable", "LogsTable"])
def test_what_is_remembered_outlives_the_stack(resource: str) -> None:
    whole = template()["Resources"][resource]
    assert (whole["DeletionPolicy"], whole["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_record_can_be_brought_back_to_any_minute() -> None:
    recovery = properties("StateTable")["PointInTimeRecoverySpecification"]
    assert recovery == {"PointInTimeRecoveryEnabled": True}


def test_the_alarm_for_silence_watches_a_metric_that_every_tick_gives() -> None:
    alarm = properties("SilentAlarm")
    assert (alarm["Namespace"], alarm["MetricName"]) == ("Holdfast", "holdfast_tick_ok")
    assert alarm["Dimensions"] == [{"Name": "cluster", "Value": {"Ref": "ClusterName"}}]
    assert alarm["TreatMissingData"] == "breaching"


@pytest.mark.parametrize(
    ("alarm", "metric"), [("TroubleAlarm", "holdfast_troubles"), ("ProblemAlarm", "holdfast_problems")]
)
def test_what_a_person_must_look_at_rings(alarm: str, metric: str) -> None:
    found = properties(alarm)
    assert (found["MetricName"], found["Threshold"]) == (metric, 0)
    names = {gauge[0] for gauge in gauges(Cluster(), Snapshot(owner="me"), Settings(), 0.0)}
    assert metric in names, "every tick gives it"


def test_the_environment_fits_lambdas_limit_with_room_for_a_real_authority() -> None:
    assert len(json.dumps(environment())) < 4_096 - 1_500
