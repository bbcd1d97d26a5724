"""What goes over the wire to DynamoDB: strong reads, one transaction a commit, tables made once."""

from typing import Any

import pytest

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore, ensure_cap_tables
from holdfast.adapters.aws.dynamodb.tables import ensure_table
from holdfast.adapters.clock import new_id
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Busy, Event, Write
from tests.adapters.contract.trials import side_by_side
from tests.ministack import client_for


def recorded(client: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every request from here on: the operation, and what was sent."""
    sent: list[tuple[str, dict[str, Any]]] = []

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        sent.append((model.name, params))

    client.meta.events.register("provide-client-params.dynamodb", note)
    return sent


def test_every_read_is_strongly_consistent(dynamodb_endpoint: str) -> None:
    client = client_for(dynamodb_endpoint)
    store = dynamodb_cluster_store(
        client, state_table=f"wire-{new_id()[:8]}", logs_table=f"wire-{new_id()[:8]}-logs", create_tables=True
    )
    sent = recorded(client)

    found = store.read("cluster")
    store.commit("cluster", found, Write(Cluster(), (Event("noted", 1.0),)), new_id())
    store.commit_id_at("cluster", 1)
    store.events("cluster")

    reads = [params for name, params in sent if name in ("GetItem", "Query", "Scan")]
    assert len(reads) >= 4
    assert all(params.get("ConsistentRead") is True for params in reads)


def test_the_rows_of_all_workers_are_read_strongly_too(dynamodb_endpoint: str) -> None:
    client, table = client_for(dynamodb_endpoint), f"wire-{new_id()[:8]}"
    ensure_cap_tables(client, table)
    sent = recorded(client)

    DynamoCapStore(client, stream_name="orders", app_name="shop", meta_table=table).rows()

    assert [(name, params.get("ConsistentRead")) for name, params in sent] == [("Scan", True)]


def test_a_commit_is_one_transaction_with_the_commit_id_as_its_token(dynamodb_endpoint: str) -> None:
    client = client_for(dynamodb_endpoint)
    store = dynamodb_cluster_store(
        client, state_table=f"wire-{new_id()[:8]}", logs_table=f"wire-{new_id()[:8]}-logs", create_tables=True
    )
    found, commit_id, sent = store.read("cluster"), new_id(), recorded(client)

    store.commit("cluster", found, Write(Cluster(), (Event("first", 1.0), Event("second", 1.0))), commit_id)

    ((name, params),) = sent
    assert name == "TransactWriteItems"
    assert params["ClientRequestToken"] == commit_id
    update, *puts = params["TransactItems"]
    assert "attribute_not_exists(#version)" in update["Update"]["ConditionExpression"]
    assert "attribute_not_exists(#scalingInProgress)" in update["Update"]["ConditionExpression"]
    assert [put["Put"]["Item"]["kind"] for put in puts] == [{"S": "first"}, {"S": "second"}]
    assert all(put["Put"]["ConditionExpression"] == "attribute_not_exists(sk)" for put in puts)


def test_losing_the_race_to_create_a_table_is_success(dynamodb_endpoint: str) -> None:
    name = f"wire-{new_id()[:8]}"

    def create() -> str:
        client = client_for(dynamodb_endpoint)
        ensure_table(client, name, "pk", "sk", expiry="expiresEpoch")
        return str(client.describe_table(TableName=name)["Table"]["TableStatus"])

    assert side_by_side([create] * 8) == ["ACTIVE"] * 8
    ttl = client_for(dynamodb_endpoint).describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "expiresEpoch"


def test_a_throttled_look_is_not_a_missing_table(dynamodb_endpoint: str) -> None:
    """Creating a table because one could not look would be a guess."""
    from botocore.exceptions import ClientError

    client = client_for(dynamodb_endpoint)
    sent = recorded(client)

    def throttled(model: Any, **_: Any) -> None:
        if model.name == "DescribeTable":
            raise ClientError(
                {"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "DescribeTable"
            )

    client.meta.events.register("before-call.dynamodb", throttled)

    with pytest.raises(Busy, match="slow down"):
        ensure_table(client, f"wire-{new_id()[:8]}", "pk")

    assert [name for name, _ in sent] == ["DescribeTable"]
