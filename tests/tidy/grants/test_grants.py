"""What the deployment grants is what the code calls: nothing is missing, and nothing is granted in vain."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from holdfast.adapters.aws import price_list, sns, ssm
from holdfast.adapters.aws.ec2 import calls as ec2
from holdfast.adapters.kubernetes.calls import CALLS, MANIFEST, REVIEW_ACCESS
from tests.deploy.sam_template import properties
from tests.tidy.repository import ROOT, assert_none, nodes, python, tree
from tools import aws_calls

ADAPTERS = "src/holdfast/adapters"

MEANS: Mapping[str, frozenset[str]] = {
    "dynamodb:TransactWriteItems": frozenset({"dynamodb:UpdateItem", "dynamodb:PutItem"}),
}
"""Calls that need the permission for what is inside them."""

NOT_THE_FUNCTION: Mapping[str, str] = {
    "dynamodb:CreateTable": "the deployment makes the tables; only the command line and the tests do it here",
    "dynamodb:DescribeTimeToLive": "as above",
    "dynamodb:UpdateTimeToLive": "as above",
    "dynamodb:DescribeTable": "as above",
    "dynamodb:Scan": "the leases part",
    "dynamodb:DeleteItem": "the leases part: a worker that leaves",
}
"""What the function never calls, although its zip has the code."""

SERVICE_ITSELF = "lambda"
"""The policy of what Lambda does in the function's name."""


def statements(role: str, *, without: str = "") -> Iterator[Mapping[str, Any]]:
    """The allowing statements of a role; one that depends on a condition is taken as there."""
    for policy in properties(role)["Policies"]:
        if policy["PolicyName"] == without:
            continue
        for statement in policy["PolicyDocument"]["Statement"]:
            there = statement["If"][1] if "If" in statement else statement
            if there["Effect"] == "Allow":
                yield there


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def actions(some: Iterable[Mapping[str, Any]]) -> set[str]:
    return {action for statement in some for action in listed(statement["Action"])}


def called(service: str) -> set[str]:
    """Every action of a service that the sources call."""
    return {f"{service}:{operation}" for operation in aws_calls.called(service)}


def granted() -> set[str]:
    return actions(statements("AutoscalerRole", without=SERVICE_ITSELF))


def needed(service: str) -> set[str]:
    """What a call of the function needs to be granted."""
    calls = called(service) - set(NOT_THE_FUNCTION)
    return {action for call in calls for action in MEANS.get(call, {call})}


def test_every_call_to_ec2_is_in_its_list_and_the_list_has_no_other() -> None:
    assert called("ec2") == {call.action for call in ec2.CALLS if not call.indirect}


def test_every_call_to_ssm_is_in_its_list() -> None:
    assert called("ssm") == {action for action in ssm.CALLS if action.startswith("ssm:")}


def test_every_call_to_sns_is_in_its_list() -> None:
    assert called("sns") == set(sns.CALLS)


def test_every_call_to_the_price_list_is_in_its_list() -> None:
    assert called("pricing") == set(price_list.CALLS)


def test_the_function_may_do_what_it_calls_and_no_more() -> None:
    others = {*ssm.CALLS, *sns.CALLS, *price_list.CALLS}
    wanted = {call.action for call in ec2.CALLS} | others | needed("dynamodb")
    assert granted() == wanted


def test_what_a_transaction_holds_is_what_it_is_taken_to_need() -> None:
    """A transaction needs the permission of each kind of write that is put into it."""
    kinds = {"Put", "Update", "Delete", "ConditionCheck"}
    put = {
        str(key.value)
        for source in python(f"{ADAPTERS}/aws/dynamodb")
        for node in nodes(tree(source))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and key.value in kinds
    }
    named = {"ConditionCheck": "ConditionCheckItem"}
    meant = {f"dynamodb:{named.get(kind, f'{kind}Item')}" for kind in put}
    assert meant == MEANS["dynamodb:TransactWriteItems"]


def test_no_exception_outlives_its_reason() -> None:
    assert_none(
        f"{action} is called nowhere" for action in NOT_THE_FUNCTION if action not in called("dynamodb")
    )


def test_no_other_service_is_talked_to() -> None:
    """A client of a new service must be granted, and listed here."""
    assert aws_calls.talked_to() == set(aws_calls.SERVICES)


def test_what_can_be_limited_to_resources_is_limited() -> None:
    unlimited = {call.action for call in ec2.CALLS if not call.resource_level} | {*price_list.CALLS}
    for statement in statements("AutoscalerRole", without=SERVICE_ITSELF):
        if "*" in listed(statement["Resource"]):
            assert actions([statement]) <= unlimited, statement["Sid"]
        else:
            assert not actions([statement]) & unlimited, f"{statement['Sid']} would never match"


@pytest.mark.parametrize("role", ["AutoscalerRole", "WorkerRole"])
def test_no_statement_grants_by_a_pattern(role: str) -> None:
    assert not [action for action in actions(statements(role)) if "*" in action]


def having(action: str) -> list[Mapping[str, Any]]:
    return [s for s in statements("AutoscalerRole") if action in listed(s["Action"])]


CLUSTER = {"Ref": "ClusterName"}


def test_only_what_an_action_of_this_cluster_launched_may_be_terminated() -> None:
    (statement,) = having("ec2:TerminateInstances")
    assert statement["Condition"] == {
        "StringEquals": {"aws:ResourceTag/Cluster": CLUSTER},
        "Null": {"aws:ResourceTag/holdfast:action": "false"},
    }


def test_a_launch_needs_our_tags_and_a_template_of_this_cluster() -> None:
    by_kind = {
        listed(s["Resource"])[0]["Sub"].rpartition(":")[2].split("/")[0]: s["Condition"]
        for s in having("ec2:RunInstances")
    }
    assert by_kind["instance"]["StringEquals"] == {"aws:RequestTag/Cluster": CLUSTER}
    assert by_kind["instance"]["Null"] == {"aws:RequestTag/holdfast:action": "false"}
    assert "ec2:LaunchTemplate" in by_kind["instance"]["ArnLike"]
    assert by_kind["launch-template"] == {"StringEquals": {"aws:ResourceTag/Cluster": CLUSTER}}
    assert by_kind["subnet"] == {"StringEquals": {"ec2:SubnetID": {"Ref": "WorkerSubnetIds"}}}
    assert by_kind["security-group"] == {
        "StringEquals": {"ec2:SecurityGroupID": {"Ref": "WorkerSecurityGroupIds"}}
    }
    assert all(by_kind.values()), "no part of a launch is without a condition"


def test_tags_are_set_at_birth_and_never_later() -> None:
    (statement,) = having("ec2:CreateTags")
    assert statement["Condition"]["StringEquals"]["ec2:CreateAction"] == [
        "RunInstances",
        "CreateLaunchTemplate",
    ]


def test_only_the_workers_role_may_be_handed_on_and_only_to_machines() -> None:
    (statement,) = having("iam:PassRole")
    assert statement["Resource"] == {"GetAtt": "WorkerRole.Arn"}
    assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_the_function_reads_the_apis_token_and_a_worker_the_join_token() -> None:
    (function,) = having("ssm:GetParameter")
    (worker,) = (s for s in statements("WorkerRole") if "ssm:GetParameter" in listed(s["Action"]))
    assert function["Resource"]["Sub"].endswith("parameter${K8sApiTokenParam}")
    assert worker["Resource"]["Sub"].endswith("parameter${K3sClusterTokenParam}")
    assert actions(statements("WorkerRole")) == {"ssm:GetParameter", "kms:Decrypt"}


def test_only_the_two_tables_are_open_to_it() -> None:
    tables = {"StateTable.Arn", "LogsTable.Arn"}
    for action in needed("dynamodb"):
        for statement in having(action):
            assert {arn["GetAtt"] for arn in listed(statement["Resource"])} <= tables


def test_the_manifest_grants_what_is_called_and_no_more() -> None:
    documents = yaml.safe_load_all((ROOT / MANIFEST).read_text())
    (role,) = (document for document in documents if document["kind"] == "ClusterRole")
    rules = [
        (verb, resource, group)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert len(rules) == len(set(rules)), "a rule stands there twice"
    assert set(rules) == {(call.verb, call.resource, call.group) for call in (*CALLS, REVIEW_ACCESS)}


def test_calls_are_found_however_they_are_made() -> None:
    code = 'client.run_instances()\nself._client.get_paginator("describe_instances")\nclient.images()'
    assert set(aws_calls.calls_in(ast.parse(code), "ec2")) == {"RunInstances", "DescribeInstances"}
