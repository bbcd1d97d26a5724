"""deploy/kubernetes/autoscaler.yaml: what it starts can be started, and stands where nothing removes it."""

import tomllib
from typing import Any

import yaml
from click.testing import CliRunner

from holdfast.autoscaler.settings.load import load
from holdfast.cli import main
from holdfast.cli.autoscaler.loop import TURN_S
from holdfast.cli.autoscaler.run import command
from holdfast.cloud.kubernetes import POOL_LABEL
from tests.tidy.repository import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"


def documents(name: str) -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


OURS = documents("autoscaler.yaml")
POD = OURS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def test_its_command_is_one_that_the_command_line_knows() -> None:
    words = CONTAINER["args"]
    assert words[:2] == ["autoscaler", "run"]
    parsed = command.make_context(
        "run", [word for word in words[2:] if word != "/etc/holdfast/holdfast.toml"][:1]
    )
    assert parsed.params["watch"] is True
    options = {name for option in command.params for name in option.opts}
    assert {word for word in words if word.startswith("--")} <= options
    assert CliRunner().invoke(main, [*words[:2], "--help"]).exit_code == 0


def test_its_settings_are_settings() -> None:
    written = tomllib.loads(OURS["ConfigMap"]["data"]["holdfast.toml"])
    read = load(written, {})
    assert read.settings.observe, "it looks before it acts"


def test_it_keeps_off_the_nodes_that_it_removes() -> None:
    required = POD["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": POOL_LABEL, "operator": "DoesNotExist"}]


def test_two_of_them_with_a_budget_and_the_account_of_the_grants() -> None:
    deployment, budget = OURS["Deployment"], OURS["PodDisruptionBudget"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["maxUnavailable"] == 1
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert (
        budget["spec"]["selector"]["matchLabels"] == labels == deployment["spec"]["selector"]["matchLabels"]
    )
    account = documents("rbac.yaml")["ServiceAccount"]["metadata"]
    assert POD["serviceAccountName"] == account["name"]
    assert {each["metadata"]["namespace"] for each in OURS.values()} == {account["namespace"]}


def test_probes_ask_what_the_daemon_answers_and_a_turn_may_end() -> None:
    (port,) = CONTAINER["ports"]
    assert str(port["containerPort"]) == CONTAINER["args"][CONTAINER["args"].index("--metrics-port") + 1]
    probes = {name: CONTAINER[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert {probe["path"] for probe in probes.values()} == {"/health", "/ready"}
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert POD["terminationGracePeriodSeconds"] > TURN_S
