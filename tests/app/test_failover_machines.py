"""A launch intent as EC2 is asked for it, and which machines are a group's own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.app.failover.machines import Ec2Machines, first_script
from holdfast.failover.ports import Launch, Launched, NotLaunched
from holdfast.failover.settings import Settings

ZONES = {"subnet-a": "eu-west-1a", "subnet-b": "eu-west-1b"}
SETTINGS = Settings(
    machines="ec2",
    region="eu-west-1",
    pools=("m6i.large.eu-west-1a", "spotty.large.eu-west-1b"),
    subnet_ids=tuple(ZONES),
    agent_server_urls=("https://failover.internal:7400",),
    agent_arguments="--hooks /etc/holdfast/hooks --protect unit:db.service",
)
LAUNCH = Launch("r-1", "token-1", "m6i.large.eu-west-1a", "spot", "lt-1:7", "acme/db")


@dataclass
class Ec2:
    """Takes what is asked, and has some subnets and one machine."""

    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def get_paginator(self, name: str) -> "Pages":
        return Pages(self, name)

    def run_instances(self, **request: Any) -> dict[str, Any]:
        self.asked.append(("run_instances", request))
        return {"Instances": [{"InstanceId": "i-new", "State": {"Name": "pending"}}]}


@dataclass
class Pages:
    ec2: Ec2
    name: str

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        self.ec2.asked.append((self.name, request))
        subnets = [{"SubnetId": name, "AvailabilityZone": zone} for name, zone in ZONES.items()]
        yield {"Subnets": subnets, "Reservations": []}


@dataclass
class Ground:
    ec2: Ec2
    machines: Ec2Machines
    enrolled: list[tuple[str, ...]]

    def request(self) -> Mapping[str, Any]:
        return next(request for name, request in self.ec2.asked if name == "run_instances")


@pytest.fixture
def ground() -> Ground:
    ec2: Any = Ec2()
    enrolled: list[tuple[str, ...]] = []
    machines = Ec2Machines(
        ec2, SETTINGS, key=b"k" * 32, enrol=lambda *words: enrolled.append(words), now_s=lambda: 1.0
    )
    return Ground(ec2, machines, enrolled)


def test_an_intent_is_one_request_under_its_token(ground: Ground) -> None:
    assert ground.machines.launch(LAUNCH) == Launched("i-new", "m6i.large", "eu-west-1a")
    request = ground.request()
    assert (request["ClientToken"], request["MinCount"], request["MaxCount"]) == ("token-1", 1, 1)
    assert request["LaunchTemplate"] == {"LaunchTemplateId": "lt-1", "Version": "7"}
    once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    assert request["InstanceMarketOptions"] == {"MarketType": "spot", "SpotOptions": once}
    tags = {tag["Key"]: tag["Value"] for tag in request["TagSpecifications"][0]["Tags"]}
    assert tags == {
        "holdfast:part": "failover",
        "holdfast:failover-client": "acme",
        "holdfast:failover-agent": "db",
        "holdfast:failover-replica": "r-1",
        "Name": "holdfast-db",
    }


def test_the_same_intent_is_asked_for_in_the_same_words(ground: Ground) -> None:
    for _ in range(2):
        ground.machines.launch(LAUNCH)
    first, second = (request for name, request in ground.ec2.asked if name == "run_instances")
    assert first == second
    assert len(set(ground.enrolled)) == 1
    secret = ground.enrolled[0][-1]
    assert secret in first["UserData"]
    assert ground.enrolled[0][:-1] == ("acme", "db", "r-1")


@pytest.mark.parametrize(("market", "spot"), [("spot", True), ("on-demand", False)])
def test_the_market_is_the_intents_and_the_subnet_is_the_pools(
    ground: Ground, market: str, spot: bool
) -> None:
    """B.9.7: neither a name that holds "spot" nor the old machine's subnet decides."""
    ground.machines.launch(replace(LAUNCH, pool="spotty.large.eu-west-1b", market=market))
    request = ground.request()
    assert ("InstanceMarketOptions" in request) is spot
    assert (request["SubnetId"], request["InstanceType"]) == ("subnet-b", "spotty.large")


def test_a_zone_without_a_subnet_is_named(ground: Ground) -> None:
    answer = ground.machines.launch(replace(LAUNCH, pool="m6i.large.eu-west-1c"))
    assert isinstance(answer, NotLaunched)
    assert "subnet_ids has none in eu-west-1c" in answer.reason
    assert not [name for name, _ in ground.ec2.asked if name == "run_instances"]
    assert ground.enrolled == []


def test_only_machines_of_this_client_and_group_are_listed(ground: Ground) -> None:
    """B.9.1: what is swept and ended is found by the tags of its own tenant."""
    assert ground.machines.instances("acme/db") == []
    filters = {each["Name"]: each["Values"] for each in ground.ec2.asked[-1][1]["Filters"]}
    assert filters == {
        "tag:holdfast:part": ["failover"],
        "tag:holdfast:failover-client": ["acme"],
        "tag:holdfast:failover-agent": ["db"],
    }


def test_the_first_script_enrols_the_agent_and_starts_it_again_if_it_dies() -> None:
    lines = first_script(SETTINGS, "db", "hfe_secret").splitlines()
    assert "(umask 077; printf '%s\\n' hfe_secret > /etc/holdfast/enrol)" in lines
    assert lines[-2] == (
        "until holdfast failover agent --agent-id db --server https://failover.internal:7400 "
        "--enrol /etc/holdfast/enrol --state /var/lib/holdfast "
        "--hooks /etc/holdfast/hooks --protect unit:db.service"
    )
    assert lines[-1] == "do sleep 1; done"
    assert "hfe_secret" not in lines[-2]
