"""Every answer of EC2 is sorted: done, not done, not allowed, never, or unknown."""

from typing import Any

import pytest
from botocore import exceptions
from botocore.parsers import ResponseParserError

from holdfast.adapters.aws.ec2.launch import refusal, run
from holdfast.adapters.aws.errors import Denied, Rejected, error_of, translate_errors
from holdfast.cloud.launches import Refusal, Refused
from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown

RUN = "ec2:RunInstances"


@pytest.mark.parametrize(
    ("code", "status", "of_a_change", "of_a_look"),
    [
        ("RequestLimitExceeded", 503, Busy, Busy),
        ("Client.RequestLimitExceeded", 503, Busy, Busy),
        ("Throttling", 400, Busy, Busy),
        ("InternalError", 500, Unknown, Busy),
        ("Unavailable", 503, Unknown, Busy),
        ("SomethingInventedTomorrow", 500, Unknown, Busy),
        ("SomethingInventedTomorrow", 400, Rejected, Rejected),
        ("InvalidParameterValue", 400, Rejected, Rejected),
        ("UnauthorizedOperation", 403, Denied, Denied),
        ("AuthFailure", 401, Denied, Denied),
        ("ExpiredToken", 400, Denied, Denied),
        ("OptInRequired", 401, Denied, Denied),
        ("Server.InternalError", 500, Unknown, Busy),
    ],
)
def test_a_code_has_one_meaning(
    code: str, status: int, of_a_change: type[HoldfastError], of_a_look: type[HoldfastError]
) -> None:
    assert type(error_of(RUN, code, "why", status, changes=True)) is of_a_change
    assert type(error_of(RUN, code, "why", status, changes=False)) is of_a_look


def test_a_denial_names_the_action_and_the_fix_and_leaves_the_cipher_out() -> None:
    said = "You are not authorized to perform this operation. Encoded authorization failure message: "
    denied = error_of(RUN, "UnauthorizedOperation", said + "x" * 4_000, 403, changes=True)
    assert isinstance(denied, Denied)
    assert denied.action == RUN
    assert "grant the role this action: ec2:RunInstances" in str(denied)
    assert "xxx" not in str(denied)
    assert len(str(denied)) < 300


def test_a_denial_that_no_grant_mends_says_what_does() -> None:
    denied = error_of(RUN, "ExpiredToken", "it has expired", 400, changes=True)
    assert "renew the credentials" in str(denied)
    assert "grant" not in str(denied)


URL = "https://ec2.invalid"


@pytest.mark.parametrize(
    ("error", "of_a_change", "of_a_look"),
    [
        (exceptions.EndpointConnectionError(endpoint_url=URL), Busy, Busy),
        (exceptions.ConnectTimeoutError(endpoint_url=URL), Busy, Busy),
        (exceptions.ReadTimeoutError(endpoint_url=URL), Unknown, Busy),
        (exceptions.ConnectionClosedError(endpoint_url=URL), Unknown, Busy),
        (exceptions.HTTPClientError(error="?"), Unknown, Busy),
        (ResponseParserError("a page of HTML"), Unknown, Busy),
        (exceptions.NoCredentialsError(), Invalid, Invalid),
        (exceptions.NoRegionError(), Invalid, Invalid),
        (exceptions.ParamValidationError(report="MaxCount"), Invalid, Invalid),
        (exceptions.CredentialRetrievalError(provider="p", error_msg="m"), Busy, Busy),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_happens_on_the_way_is_sorted_by_whether_it_left(
    error: Exception, of_a_change: type[Exception], of_a_look: type[Exception]
) -> None:
    for changes, meaning in ((True, of_a_change), (False, of_a_look)):
        with pytest.raises(HoldfastError) as raised, translate_errors(RUN, changes=changes):
            raise error
        assert type(raised.value) is meaning
        assert RUN in str(raised.value)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", Refusal.CAPACITY),
        ("SpotMaxPriceTooLow", Refusal.CAPACITY),
        ("Unsupported", Refusal.CAPACITY),
        ("InsufficientFreeAddressesInSubnet", Refusal.SUBNET),
        ("InvalidSubnetID.NotFound", Refusal.SUBNET),
        ("InvalidInstanceType", Refusal.TYPE),
        ("MaxSpotInstanceCountExceeded", Refusal.QUOTA),
        ("VcpuLimitExceeded", Refusal.QUOTA),
        ("InstanceLimitExceeded", Refusal.QUOTA),
        ("IdempotentInstanceTerminated", Refusal.EXISTED),
        ("IdempotentParameterMismatch", Refusal.MISMATCH),
        ("InvalidAMIID.NotFound", Refusal.REFUSED),
        ("InvalidParameterValue", Refusal.REFUSED),
        ("SomethingInventedTomorrow", Refusal.REFUSED),
    ],
)
def test_a_refused_launch_has_one_kind(code: str, kind: Refusal) -> None:
    assert refusal(Rejected(RUN, code, "why"), "default").kind is kind


@pytest.mark.parametrize(
    "message",
    [
        "Invalid value 't9.huge' for InstanceType.",
        "The architecture 'arm64' of the specified instance type does not match that of the specified AMI.",
    ],
)
def test_a_type_that_does_not_fit_is_no_trouble_of_the_whole_pool(message: str) -> None:
    assert refusal(Rejected(RUN, "InvalidParameterValue", message), "default").kind is Refusal.TYPE


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("InvalidAMIID.NotFound", "setting ami_id of pool gpu"),
        ("InvalidKeyPair.NotFound", "setting key_name of pool gpu"),
        ("InvalidSubnetID.NotFound", "setting subnet_ids of pool gpu"),
        ("InvalidGroup.NotFound", "setting security_group_ids of pool gpu"),
        ("InvalidLaunchTemplateId.VersionNotFound", "setting launch_template_id of pool gpu"),
        ("VcpuLimitExceeded", "Service Quotas"),
    ],
)
def test_a_refusal_names_the_fix(code: str, fix: str) -> None:
    assert fix in refusal(Rejected(RUN, code, "why"), "gpu").message


@pytest.mark.parametrize(
    ("code", "kind"),
    [("InsufficientInstanceCapacity", Refusal.CAPACITY), ("MaxSpotInstanceCountExceeded", Refusal.QUOTA)],
)
def test_a_plain_no_under_a_status_of_500_is_a_no_all_the_same(code: str, kind: Refusal) -> None:
    class Client:
        def run_instances(self) -> Any:
            told = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 500}}
            raise exceptions.ClientError(told, "RunInstances")  # type: ignore[arg-type]

    client: Any = Client()
    answer = run(client, {}, "default")
    assert isinstance(answer, Refused)
    assert answer.kind is kind
