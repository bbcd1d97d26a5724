"""What is asked of EC2 and for which machines, call by call, on a client that remembers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from holdfast.adapters.aws.ec2 import tags
from holdfast.adapters.aws.ec2.launch import run
from holdfast.adapters.aws.ec2.listing import control_plane_address, list_workers
from holdfast.adapters.aws.ec2.terminate import AT_ONCE, terminate
from holdfast.adapters.aws.errors import Denied, Rejected
from holdfast.app.autoscaler.cloud import Ec2Cloud, tag_scheme
from holdfast.cloud import Instance, Market, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Template, Termination
from holdfast.kernel import Busy, Invalid, Unknown
from tests.adapters.aws.ec2.test_requests import LAUNCH, POOL, SETTINGS

SCHEME = tag_scheme(SETTINGS)
LOST = ReadTimeoutError(endpoint_url="http://127.0.0.1:1")


def refusal(code: str, message: str = "", status: int = 400) -> ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "Call")


class Client:
    """Answers each call as told by its name, and remembers what was asked."""

    def __init__(self, **answers: Callable[..., Any]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.asked.append((name, request))
            return self._answers[name](**request)

        return call

    def get_paginator(self, name: str) -> "Pages":
        return Pages(self, name)


class Pages:
    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name

    def paginate(self, **request: Any) -> Any:
        return getattr(self._client, self._name)(**request)


def ending(refuses: Callable[[Sequence[str]], Exception | None]) -> Client:
    def terminate_instances(InstanceIds: Sequence[str]) -> Mapping[str, Any]:  # noqa: N803
        if (error := refuses(InstanceIds)) is not None:
            raise error
        return {"TerminatingInstances": [{"InstanceId": each} for each in InstanceIds]}

    return Client(terminate_instances=terminate_instances)


ACCEPTED, NOT_KNOWN, PROTECTED = Termination.ACCEPTED, Termination.NOT_KNOWN, Termination.PROTECTED


def ended(client: Client, *instance_ids: str) -> dict[str, Termination]:
    return terminate(client, instance_ids)  # type: ignore[arg-type]


def test_one_call_ends_many_and_each_once() -> None:
    client = ending(lambda ids: None)

    assert ended(client, "i-1", "i-2", "i-1") == {"i-1": ACCEPTED, "i-2": ACCEPTED}
    assert client.asked == [("terminate_instances", {"InstanceIds": ["i-1", "i-2"]})]
    assert ended(client) == {}


def test_hundreds_are_ended_in_calls_that_ec2_takes() -> None:
    client, many = ending(lambda ids: None), [f"i-{n}" for n in range(2 * AT_ONCE + 1)]

    assert set(ended(client, *many).values()) == {ACCEPTED}
    assert sorted(len(request["InstanceIds"]) for _, request in client.asked) == [1, AT_ONCE, AT_ONCE]


@pytest.mark.parametrize(
    "code", ["InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed", "OperationNotPermitted"]
)
@pytest.mark.parametrize("named", [True, False])
def test_one_that_cannot_be_ended_holds_up_no_other(code: str, named: bool) -> None:
    told = "The instance 'i-2' of request i-99 is not to be had" if named else "one of them is not to be had"
    client = ending(lambda ids: refusal(code, told) if "i-2" in ids else None)

    said = PROTECTED if code == "OperationNotPermitted" else NOT_KNOWN
    assert ended(client, "i-1", "i-2", "i-3") == {"i-1": ACCEPTED, "i-2": said, "i-3": ACCEPTED}
    assert ended(client, "i-2") == {"i-2": said}
    if named:
        assert len(client.asked) == 3, "the message says which one to leave out"


def test_a_grant_for_some_machines_ends_those_and_a_grant_for_none_is_told() -> None:
    denied = refusal("UnauthorizedOperation", "no", 403)
    client = ending(lambda ids: denied if "i-2" in ids else None)

    some = {"i-1": ACCEPTED, "i-2": Termination.DENIED, "i-3": ACCEPTED}
    assert ended(client, "i-1", "i-2", "i-3") == some
    with pytest.raises(Denied):
        ended(ending(lambda ids: denied), "i-1", "i-2")
    unknown = refusal("InvalidInstanceID.NotFound", "i-1")
    assert ended(ending(lambda ids: unknown), "i-1") == {"i-1": NOT_KNOWN}, "that is no lack of rights"


def test_any_other_refusal_is_told_and_a_lost_answer_is_unknown() -> None:
    with pytest.raises(Rejected):
        ended(ending(lambda ids: refusal("InvalidParameterValue")), "i-1")
    with pytest.raises(Unknown):
        ended(ending(lambda ids: LOST), "i-1")
    with pytest.raises(Busy):
        ended(ending(lambda ids: refusal("RequestLimitExceeded", status=503)), "i-1")


def described(instance_id: str, *, worn: Mapping[str, str] | None = None, **said: Any) -> dict[str, Any]:
    return {
        "InstanceId": instance_id,
        "State": {"Name": "running"},
        "Tags": [{"Key": key, "Value": value} for key, value in (worn or {}).items()],
        **said,
    }


def listing(*machines: dict[str, Any]) -> Client:
    pages = [{"Reservations": [{"Instances": [each]}, {}]} for each in machines]
    return Client(describe_instances=lambda **request: pages)


def test_only_machines_of_this_cluster_are_asked_for_and_never_the_control_plane() -> None:
    worker = {SETTINGS.worker_tag_key: SETTINGS.worker_tag_value}
    both = {**worker, SETTINGS.master_tag_key: SETTINGS.master_tag_value}
    role = {"Role": SETTINGS.master_tag_value}
    client = listing(described("i-1", worn=worker), described("i-2", worn=both), described("i-3", worn=role))
    settings = replace(SETTINGS, master_tag_key="Plane")

    found = list_workers(client, SCHEME, 7)  # type: ignore[arg-type]

    assert "i-2" not in [each.instance_id for each in found]
    assert client.asked == [
        ("describe_instances", {"Filters": SCHEME.worker_filters(), "PaginationConfig": {"PageSize": 7}})
    ]
    plane = described("i-4", worn={**worker, "Plane": settings.master_tag_value})
    assert list_workers(listing(plane), tag_scheme(settings)) == []  # type: ignore[arg-type]


def test_a_machine_of_which_little_is_known_is_not_ours_and_on_demand() -> None:
    (bare,) = list_workers(listing(described("i-1")), SCHEME)  # type: ignore[arg-type]

    assert bare == Instance("i-1", State.RUNNING, "", "", Market.ON_DEMAND)
    assert (bare.pool, bare.action_id, bare.token) == ("default", "", "")
    spot = described("i-1", worn={tags.ACTION_TAG: "1-a"}, InstanceLifecycle="spot", ClientToken="t")
    (whole,) = list_workers(listing(spot), SCHEME)  # type: ignore[arg-type]
    assert (whole.market, whole.action_id, whole.token) == (Market.SPOT, "1-a", "t")


def test_the_newest_control_plane_that_runs_has_the_address() -> None:
    def plane(hour: int, **said: Any) -> dict[str, Any]:
        return described(f"i-{hour}", LaunchTime=datetime(2026, 1, 1, hour, tzinfo=UTC), **said)

    client = listing(plane(1, PrivateIpAddress="a"), plane(3, PrivateIpAddress="c"), plane(2))

    assert control_plane_address(client, SCHEME, 7) == "c"  # type: ignore[arg-type]
    assert client.asked[0][1]["Filters"] == SCHEME.control_plane_filters()
    assert client.asked[0][1]["PaginationConfig"] == {"PageSize": 7}
    assert control_plane_address(listing(plane(1)), SCHEME) == ""  # type: ignore[arg-type]
    assert control_plane_address(listing(), SCHEME) == ""  # type: ignore[arg-type]


def launched(*states: str) -> Launched | Refused:
    there = [{"InstanceId": f"i-{n}", "State": {"Name": state}} for n, state in enumerate(states)]
    client: Any = Client(run_instances=lambda **request: {"Instances": there})
    return run(client, {"MaxCount": 1}, "default")


def test_a_token_whose_machines_are_all_gone_brought_nothing() -> None:
    assert launched("pending", "running") == Launched(("i-0", "i-1"))
    assert launched("terminated", "running") == Launched(("i-0", "i-1"))
    assert launched() == Launched(())
    gone = launched("terminated", "shutting-down")
    assert isinstance(gone, Refused)
    assert gone.kind is Refusal.EXISTED


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(LOST, Unknown), (refusal("InternalError", status=500), Unknown), (refusal("Throttling"), Busy)],
)
def test_a_launch_that_may_have_happened_is_unknown(error: Exception, outcome: type[Exception]) -> None:
    def run_instances(**request: Any) -> Any:
        raise error

    client: Any = Client(run_instances=run_instances)
    with pytest.raises(outcome):
        run(client, {"MaxCount": 1}, "default")


def test_a_lack_of_rights_is_a_refusal_that_names_the_right() -> None:
    def run_instances(**request: Any) -> Any:
        raise refusal("UnauthorizedOperation", "no", 403)

    client: Any = Client(run_instances=run_instances)
    refused = run(client, {"MaxCount": 1}, "default")
    assert isinstance(refused, Refused)
    assert refused.kind is Refusal.REFUSED
    assert "ec2:RunInstances" in refused.message


class Account(Client):
    """One template, whose versions are made as EC2 makes them."""

    def __init__(self, *, exists: bool = True, taken: bool = False, code: str = "") -> None:
        super().__init__(
            describe_launch_template_versions=self._describe,
            create_launch_template_version=self._make,
            create_launch_template=self._create,
            run_instances=self._run,
        )
        self.exists, self.taken, self.code = exists, taken, code
        self.versions: list[dict[str, Any]] = []

    def _describe(self, **request: Any) -> Any:
        if self.code:
            raise refusal(self.code)
        if not self.exists:
            raise refusal("InvalidLaunchTemplateName.NotFoundException")
        return [{"LaunchTemplateVersions": self.versions}]

    def _make(self, **request: Any) -> None:
        if not self.exists:
            raise refusal("InvalidLaunchTemplateName.NotFoundException")
        number = len(self.versions) + 1
        self.versions.append(
            {
                "LaunchTemplateId": "lt-1",
                "VersionNumber": number,
                "VersionDescription": request["VersionDescription"],
            }
        )

    def _create(self, **request: Any) -> None:
        taken, self.exists = self.taken, True
        if taken:
            raise refusal("InvalidLaunchTemplateName.AlreadyExistsException")
        self._make(**request)

    def _run(self, **request: Any) -> Any:
        raise refusal(self.code or "InvalidLaunchTemplateId.VersionNotFound")

    def cloud(self) -> Ec2Cloud:
        client: Any = self
        return Ec2Cloud(client, SETTINGS, user_data=lambda pool: "#!/bin/sh")

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [request for called, request in self.asked if called == name]


@pytest.mark.parametrize("account", [Account(), Account(exists=False), Account(exists=False, taken=True)])
def test_a_version_is_made_once_under_a_token_of_its_own(account: Account) -> None:
    cloud = account.cloud()
    digest = cloud.digest(POOL)
    assert cloud.templates([POOL]) == {}

    cloud.prepare(POOL)
    cloud.prepare(POOL)

    assert cloud.templates([POOL]) == {"default": Template("lt-1", 1, digest)}
    assert len(account.versions) == 1
    made = [*account.calls("create_launch_template_version"), *account.calls("create_launch_template")]
    assert {request["ClientToken"] for request in made} == {digest}


def test_the_first_template_is_made_though_the_role_may_make_no_version_of_none() -> None:
    """Under a condition on its tag EC2 may refuse a version of a template that is not there: look first."""

    class Conditional(Account):
        def _make(self, **request: Any) -> None:
            if not self.exists:
                raise refusal("UnauthorizedOperation", "no", 403)
            super()._make(**request)

    account = Conditional(exists=False)

    account.cloud().prepare(POOL)

    assert len(account.versions) == 1
    assert account.calls("create_launch_template_version") == []


@pytest.mark.parametrize("limit", [1, 2])
def test_how_far_metadata_reaches_is_the_pools_to_say(limit: int) -> None:
    account = Account(exists=False)

    account.cloud().prepare(replace(POOL, imds_hop_limit=limit))

    (made,) = account.calls("create_launch_template")
    assert made["LaunchTemplateData"]["MetadataOptions"]["HttpPutResponseHopLimit"] == limit


def test_the_newest_version_of_just_these_settings_is_meant() -> None:
    account = Account()
    cloud = account.cloud()
    digest = cloud.digest(POOL)
    for description in ("another", digest, digest, "another"):
        account._make(VersionDescription=description)

    assert cloud.templates([POOL]) == {"default": Template("lt-1", 3, digest)}


def test_what_is_refused_for_good_lets_the_version_be_looked_for_again() -> None:
    account = Account()
    account._make(VersionDescription=account.cloud().digest(POOL))
    cloud = account.cloud()
    looks = "describe_launch_template_versions"

    for _ in range(2):
        cloud.templates([POOL])
    assert len(account.calls(looks)) == 1, "a version never changes"
    refused = cloud.launch("1-a", LAUNCH)
    assert isinstance(refused, Refused)
    cloud.templates([POOL])
    assert len(account.calls(looks)) == 2
    account.code = "InsufficientInstanceCapacity"
    cloud.launch("1-a", LAUNCH)
    account.code = ""
    cloud.templates([POOL])
    assert len(account.calls(looks)) == 2, "a lack of capacity says nothing about it"


def test_a_template_of_ones_own_is_a_number_and_is_never_made() -> None:
    account, own = Account(), replace(POOL, launch_template_id="lt-9", launch_template_version=4)
    cloud = account.cloud()

    cloud.prepare(own)
    assert cloud.templates([own]) == {"default": Template("lt-9", 4, cloud.digest(own))}
    assert account.asked == []
    account._make(VersionDescription="by hand")
    by_default = replace(own, launch_template_version=0)
    assert cloud.templates([by_default])["default"].version == 1
    assert account.calls("describe_launch_template_versions")[0]["Versions"] == ["$Default"]
    with pytest.raises(Invalid, match="lt-9: no such template"):
        Account(exists=False).cloud().templates([by_default])


def test_a_template_that_cannot_be_looked_at_is_not_made_anew() -> None:
    account = Account(code="UnsupportedOperation")

    with pytest.raises(Rejected):
        account.cloud().prepare(POOL)
    assert account.calls("create_launch_template") == []
