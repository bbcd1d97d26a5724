"""What a failover server is granted is what it calls: nothing is missing, and nothing is granted in vain."""

import ast
import json
from typing import Any

from holdfast.adapters.aws import sqs
from holdfast.app.failover.machines import SCHEME
from tests.tidy.repository import ROOT
from tools.aws_calls import SOURCE, calls_in

USED = ("launch.py", "listing.py", "templates.py", "terminate.py")
"""The modules of the EC2 adapter that failover's machines are made of."""
BESIDE = {"DescribeSubnets"}
"""Of the catalog it asks for the zones of subnets, and for nothing else."""
FOLLOWS = {"ec2:CreateTags", "iam:PassRole"}
"""What EC2 asks for when a call tags or gives a role, without a call of its own."""


def statements() -> list[Any]:
    found: list[Any] = json.loads((ROOT / "deploy" / "iam" / "failover.json").read_text())["Statement"]
    return found


def actions(statement: Any) -> set[str]:
    named = statement["Action"]
    return {named} if isinstance(named, str) else set(named)


def test_the_policy_allows_what_is_called_and_no_more() -> None:
    called = {
        f"ec2:{call}"
        for name in USED
        for call in calls_in(ast.parse((SOURCE / "adapters/aws/ec2" / name).read_text()), "ec2")
    }
    called |= {f"ec2:{call}" for call in BESIDE} | set(sqs.CALLS)
    assert set().union(*map(actions, statements())) == called | FOLLOWS


def test_nothing_without_failovers_own_tag_can_be_ended() -> None:
    wanted = {f"aws:ResourceTag/{SCHEME.cluster_key}": SCHEME.cluster_name}
    ending = [each for each in statements() if "ec2:TerminateInstances" in actions(each)]
    assert ending
    assert all(each["Condition"]["StringEquals"] == wanted for each in ending)


def test_only_looking_is_allowed_everywhere() -> None:
    for each in statements():
        if each["Resource"] == "*" and "Condition" not in each:
            assert all(action.startswith("ec2:Describe") for action in actions(each)), each["Sid"]
