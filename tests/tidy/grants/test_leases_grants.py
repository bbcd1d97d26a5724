"""What a stream worker is granted is what it calls: nothing is missing, and nothing is granted in vain."""

from typing import Any

import yaml

from holdfast.adapters.aws import kinesis
from holdfast.adapters.kubernetes.expected_workers import CALLS, MANIFEST
from tests.tidy.repository import ROOT
from tools import aws_calls


def role() -> Any:
    documents = yaml.safe_load_all((ROOT / MANIFEST).read_text())
    (found,) = (document for document in documents if document["kind"].endswith("Role"))
    return found


def test_every_call_to_kinesis_is_in_its_list() -> None:
    assert {f"kinesis:{call}" for call in aws_calls.called("kinesis")} == set(kinesis.CALLS)


def test_the_manifest_grants_what_is_called_and_no_more() -> None:
    rules = [
        (verb, resource, group)
        for rule in role()["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert len(rules) == len(set(rules)), "a rule stands there twice"
    assert set(rules) == {(call.verb, call.resource, call.group) for call in CALLS}


def test_it_grants_nothing_outside_of_the_workers_own_namespace() -> None:
    kinds = [document["kind"] for document in yaml.safe_load_all((ROOT / MANIFEST).read_text())]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding"]
