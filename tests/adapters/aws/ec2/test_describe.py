"""Our reading of DescribeInstances gives what botocore's gives, and leaves to it what it does not know."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.ec2 import describe, listing, make_client
from holdfast.app.autoscaler.cloud import tag_scheme
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import Instance, Market, State
from holdfast.kernel import Busy, HoldfastError

SCHEME = tag_scheme(Settings())
SPACE = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'

BUSY_ONE = """<item><instanceId>i-1</instanceId><imageId>ami-1</imageId>
  <instanceState><code>16</code><name>running</name></instanceState><dnsName/><reason></reason>
  <instanceType>t3.medium</instanceType><launchTime>2026-01-31T12:00:00.250Z</launchTime>
  <placement><availabilityZone>eu-central-1a</availabilityZone><groupName/><tenancy>default</tenancy></placement>
  <privateIpAddress>10.0.0.1</privateIpAddress><privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName>
  <groupSet><item><groupId>sg-1</groupId><groupName>workers</groupName></item></groupSet>
  <blockDeviceMapping><item><ebs><attachTime>2026-01-31T12:00:01.000Z</attachTime></ebs></item></blockDeviceMapping>
  <clientToken>t-1</clientToken><instanceLifecycle>spot</instanceLifecycle>
  <tagSet><item><key>holdfast:action</key><value>17-r</value></item>
    <item><key>holdfast:pool</key><value>big &amp; \u00e9t\u00e9 &lt;1&gt;</value></item>
    <item><key>Name</key><value/></item><item><key>bare</key></item></tagSet>
  <networkInterfaceSet><item><privateIpAddress>10.9.9.9</privateIpAddress><instanceId>no</instanceId>
    <tagSet><item><key>no</key><value>no</value></item></tagSet></item></networkInterfaceSet></item>"""
BARE_ONE = "<item><instanceId>i-2</instanceId><instanceState><name>pending</name></instanceState></item>"
EMPTY_PARTS = """<item><instanceId>i-3</instanceId><instanceState><name>terminated</name></instanceState>
  <placement/><instanceType/><tagSet/><clientToken/><launchTime>2026-01-31T12:00:00Z</launchTime></item>"""
CONTROL_PLANE = """<item><instanceId>i-4</instanceId><instanceState><name>running</name></instanceState>
  <tagSet><item><key>Role</key><value>k3s-master</value></item></tagSet></item>"""


def machine(inside: str) -> str:
    return BARE_ONE.replace("</item>", f"{inside}</item>")


def answer(*reservations: str, after: str = "", space: str = SPACE) -> str:
    sets = "".join(
        f"<item><reservationId>r</reservationId><instancesSet>{r}</instancesSet></item>" for r in reservations
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<DescribeInstancesResponse {space}>'
        f"<requestId>req-1</requestId><reservationSet>{sets}</reservationSet>{after}"
        "</DescribeInstancesResponse>"
    )


@dataclass
class Replies:
    """Stands where the network is: one prepared answer after the other."""

    replies: list[tuple[int, str]]
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Any, **_: object) -> "Reply":
        self.asked.append(request.body)
        status, body = self.replies[min(len(self.asked), len(self.replies)) - 1]
        return Reply(status, body.encode())


@dataclass
class Reply:
    status_code: int
    content: bytes
    headers: dict[str, str] = field(default_factory=dict)
    raw: None = None


BEFORE_SEND = "before-send.ec2.DescribeInstances"
Clients = tuple[Any, Any]


@pytest.fixture(scope="module")
def clients(aws_identity: None) -> Clients:
    """The shipped client, and one as boto3 makes it."""
    where = {"endpoint_url": "http://127.0.0.1:1", "region": "eu-central-1"}
    return make_client(**where), aws.make_client("ec2", **where)  # type: ignore[arg-type]


@contextmanager
def told(client: Any, *replies: tuple[int, str]) -> Iterator[Replies]:
    network = Replies(list(replies))
    client.meta.events.register(BEFORE_SEND, network)
    try:
        yield network
    finally:
        client.meta.events.unregister(BEFORE_SEND, network)


def asked(client: Any, act: Callable[[Any], Any], *replies: tuple[int, str]) -> Any:
    """A value, or the kind of failure and its words."""
    with told(client, *replies):
        try:
            return act(client)
        except Exception as error:
            return type(error), str(error)


def both(clients: Clients, act: Callable[[Any], Any], *replies: tuple[int, str]) -> list[Any]:
    """What the two make of the same replies: first ours."""
    return [asked(client, act, *replies) for client in clients]


def workers(client: Any) -> Sequence[Instance]:
    return listing.list_workers(client, SCHEME)


def address(client: Any) -> str:
    return listing.control_plane_address(client, SCHEME)


def described(client: Any) -> Any:
    return client.describe_instances()


NORMAL = {
    "everything there is": answer(BUSY_ONE),
    "several in one reservation, and several of those": answer(BUSY_ONE + BARE_ONE, EMPTY_PARTS, ""),
    "the least there is": answer(BARE_ONE),
    "a control plane": answer(CONTROL_PLANE, BARE_ONE),
    "comments and spaces": answer(BARE_ONE.replace("<instanceS", " <!-- i-9 -->\n<instanceS")),
    "a text in pieces": answer(machine("<clientToken><![CDATA[a<b]]>&#99;<!-- x -->d</clientToken>")),
    "a long text": answer(machine(f"<clientToken>{'x' * 100_000}</clientToken>")),
    "no namespace": answer(BUSY_ONE, space=""),
    "another namespace": answer(BUSY_ONE, space='xmlns="http://ec2.amazonaws.com/doc/2030-01-01/"'),
    "fields of tomorrow": answer(machine("<newThing><deep><instanceId>no</instanceId></deep></newThing>")),
}
LEFT_TO_BOTOCORE = {
    "no machine": answer(),
    "no list at all": f"<DescribeInstancesResponse {SPACE}/>",
    "a prefix": (
        '<e:DescribeInstancesResponse xmlns:e="x"><e:reservationSet><e:item><e:instancesSet><e:item>'
        "<e:instanceId>i-1</e:instanceId><e:instanceState><e:name>running</e:name></e:instanceState>"
        "</e:item></e:instancesSet></e:item></e:reservationSet></e:DescribeInstancesResponse>"
    ),
    "a time with an offset": answer(machine("<launchTime>2026-01-31T13:00:00+01:00</launchTime>")),
    "a time as a number": answer(machine("<launchTime>1769860800</launchTime>")),
    "no time": answer(machine("<launchTime/>")),
    "a field that comes twice": answer(machine("<tagSet/><tagSet/>")),
    "an element within a text": answer(machine("<clientToken>a<b/>c</clientToken>")),
    "a document type": answer(BARE_ONE).replace("\n", "\n<!DOCTYPE x>"),
    "half of it": answer(BUSY_ONE)[:400],
    "a page of a proxy": "<html><body>Bad gateway<br></body></html>",
    "nothing": "",
}


@pytest.mark.parametrize(
    "body", [*NORMAL.values(), *LEFT_TO_BOTOCORE.values()], ids=[*NORMAL, *LEFT_TO_BOTOCORE]
)
def test_the_machines_are_those_that_botocore_reads(body: str, clients: Clients) -> None:
    ours, theirs = both(clients, workers, (200, body))
    assert ours == theirs
    ours, theirs = both(clients, address, (200, body))
    assert ours == theirs


@pytest.mark.parametrize("body", NORMAL.values(), ids=[*NORMAL])
def test_what_is_read_is_told_as_botocore_tells_it(body: str, clients: Clients) -> None:
    ours, theirs = both(clients, described, (200, body))

    assert ours["ResponseMetadata"] == theirs["ResponseMetadata"]
    assert ours["Reservations"] == [
        {"Instances": [_narrowed(each) for each in one["Instances"]]} for one in theirs["Reservations"]
    ]


def _narrowed(machine: dict[str, Any]) -> dict[str, Any]:
    """Only what is wanted of it."""
    kept = {f.name: machine[f.name] for f in describe.MACHINE.values() if f.name in machine}
    for name, inside in (("State", "Name"), ("Placement", "AvailabilityZone")):
        if name in kept:
            kept[name] = {key: value for key, value in kept[name].items() if key == inside}
    return kept


@pytest.mark.parametrize("body", NORMAL.values(), ids=[*NORMAL])
def test_of_a_normal_answer_botocore_gets_no_machine(body: str) -> None:
    reply, taken = {"status_code": 200, "body": body.encode()}, dict[str, Any]()

    describe.take_machines(reply, taken)

    assert b"instancesSet" not in reply["body"]  # type: ignore[operator]
    assert b"<requestId>req-1</requestId>" in reply["body"]  # type: ignore[operator]
    assert taken["Reservations"]


@pytest.mark.parametrize("body", LEFT_TO_BOTOCORE.values(), ids=[*LEFT_TO_BOTOCORE])
def test_what_is_odd_is_left_as_it_is(body: str) -> None:
    reply, taken = {"status_code": 200, "body": body.encode()}, dict[str, Any]()

    describe.take_machines(reply, taken)

    assert (reply["body"], taken) == (body.encode(), {})


def test_every_field_is_read(clients: Clients) -> None:
    [found], _ = both(clients, workers, (200, answer(BUSY_ONE)))

    assert found == Instance(
        instance_id="i-1",
        state=State.RUNNING,
        zone="eu-central-1a",
        instance_type="t3.medium",
        market=Market.SPOT,
        launched_s=int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()),
        pool="big & \u00e9t\u00e9 <1>",
        action_id="17-r",
        token="t-1",
        private_ip="10.0.0.1",
        private_dns="ip-10-0-0-1.ec2.internal",
    )


def test_pages_are_followed(clients: Clients) -> None:
    client, _ = clients
    first = answer(BUSY_ONE, after="<nextToken>more &amp; more</nextToken>")

    with told(client, (200, first), (200, answer(BARE_ONE))) as network:
        found = workers(client)

    assert [each.instance_id for each in found] == ["i-1", "i-2"]
    assert ["NextToken=more+%26+more" in body for body in network.asked] == [False, True]


REFUSAL = (
    "<Response><Errors><Error><Code>{}</Code><Message>why</Message></Error></Errors>"
    "<RequestID>1</RequestID></Response>"
)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (503, "RequestLimitExceeded"),
        (400, "Throttling"),
        (403, "UnauthorizedOperation"),
        (500, "InternalError"),
    ],
)
def test_a_refusal_means_what_it_meant(status: int, code: str, clients: Clients) -> None:
    ours, theirs = both(clients, workers, (status, REFUSAL.format(code)))

    assert ours == theirs
    assert issubclass(ours[0], HoldfastError)
    assert code in ours[1]


def test_a_body_that_was_cut_off_is_worth_another_try(clients: Clients) -> None:
    ours, _ = both(clients, workers, (200, answer(BUSY_ONE)[:400]))

    assert ours[0] is Busy
