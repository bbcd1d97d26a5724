"""Every client tries each call once, and waits no longer than it was told: a hidden retry
looks like a lost race, and repeats what may have happened."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore import exceptions

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws import dynamodb, ec2, ssm
from holdfast.adapters.aws.dynamodb import errors as dynamodb_errors
from holdfast.adapters.aws.dynamodb.errors import cancellation_error
from holdfast.adapters.aws.errors import translate_errors
from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown

ENDPOINT = "http://127.0.0.1:1"
CLIENTS: dict[str, Callable[..., Any]] = {
    "ec2": ec2.make_client,
    "dynamodb": dynamodb.make_client,
    "ssm": ssm.make_client,
}


@pytest.mark.parametrize("service", CLIENTS)
def test_a_call_is_made_once_and_not_waited_for_without_end(service: str, aws_identity: None) -> None:
    client = CLIENTS[service](endpoint_url=ENDPOINT, region="eu-central-1")

    config = client.meta.config
    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout == aws.CONNECT_TIMEOUT_S
    assert 0 < config.read_timeout <= 30
    assert (client.meta.region_name, client.meta.endpoint_url) == ("eu-central-1", ENDPOINT)


def test_a_read_waits_as_long_as_it_was_told(aws_identity: None) -> None:
    for make in (ec2.make_client, dynamodb.make_client):
        made: Any = make(endpoint_url=ENDPOINT, region="eu-central-1", read_timeout_s=2.5)
        assert made.meta.config.read_timeout == 2.5


NEVER_LEFT = [
    exceptions.EndpointConnectionError(endpoint_url=ENDPOINT),
    exceptions.ConnectTimeoutError(endpoint_url=ENDPOINT),
]
WRONG = [
    exceptions.NoCredentialsError(),
    exceptions.NoRegionError(),
    exceptions.ParamValidationError(report="x"),
]
LOST = [
    exceptions.ReadTimeoutError(endpoint_url=ENDPOINT),
    exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2),
]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        *((error, Busy) for error in NEVER_LEFT),
        *((error, Invalid) for error in WRONG),
        *((error, Unknown) for error in LOST),
        (exceptions.ClientError({"Error": {}}, "Put"), Unknown),
        (exceptions.ClientError({}, "Put"), Unknown),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_a_failed_write_means(error: Exception, outcome: type[HoldfastError]) -> None:
    with pytest.raises(outcome), dynamodb_errors.translate_errors("write the table"):
        raise error
    with pytest.raises(outcome), translate_errors("ec2:RunInstances", changes=True):
        raise error


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (exceptions.ProxyConnectionError(proxy_url="http://proxy"), Busy),
        (exceptions.CredentialRetrievalError(provider="x", error_msg="y"), Busy),
        (exceptions.PartialCredentialsError(provider="x", cred_var="y"), Invalid),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_a_call_that_never_left_means(error: Exception, outcome: type[HoldfastError]) -> None:
    with pytest.raises(outcome), translate_errors("ec2:RunInstances", changes=True):
        raise error
    with pytest.raises(outcome), dynamodb_errors.translate_errors("write the table"):
        raise error


def test_a_reading_call_whose_answer_was_lost_changed_nothing() -> None:
    for error in LOST:
        with pytest.raises(Busy), translate_errors("ec2:DescribeInstances", changes=False):
            raise error


def test_a_whole_page_in_an_answer_is_shown_in_part() -> None:
    page = exceptions.HTTPClientError(error="x" * 10_000)

    with pytest.raises(Unknown) as lost, translate_errors("ec2:RunInstances", changes=True):
        raise page
    assert len(str(lost.value)) < 1_000


def test_a_cancelled_transaction_is_for_good_only_if_one_of_its_reasons_is() -> None:
    none: dict[str, Any] = {"Code": "None"}
    conflict: dict[str, Any] = {"Code": "TransactionConflict"}
    too_large = {"Code": "ItemCollectionSizeLimitExceeded", "Message": "10 GB"}

    assert isinstance(cancellation_error("commit t", [none, conflict]), Busy)
    assert (
        str(cancellation_error("commit t", [none, conflict]))
        == "commit t: transaction cancelled: TransactionConflict"
    )
    assert isinstance(cancellation_error("commit t", [conflict, too_large, none]), Invalid)
    assert (
        str(cancellation_error("commit t", [none, {}])) == "commit t: transaction cancelled: no reason given"
    )
