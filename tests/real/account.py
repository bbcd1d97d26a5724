"""An AWS account at the stand-in, as a test uses it."""

import itertools
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tools.parts.catalog.ec2 import Ec2

ONCE = Config(retries={"total_max_attempts": 1}, max_pool_connections=16)
"""A client that shows every refusal instead of trying again."""


class Account:
    def __init__(self, ec2: Ec2) -> None:
        self.ec2 = ec2
        self.api = self.client("ec2")
        self.image, self.subnets = ec2.images()["x86_64"], ec2.subnets()
        self._numbers = itertools.count(1)

    def client(self, service: str) -> Any:
        make: Any = boto3.client  # the stubs know only services that are named in so many words
        return make(service, config=ONCE, **self.ec2.client_arguments())

    def new_token(self) -> str:
        return f"token-{next(self._numbers)}"

    def run(self, token: str | None = None, *, zone: str | None = "us-east-1a", **wanted: Any) -> list[str]:
        """Launch one m5.large on demand, unless told otherwise; returns the instances' ids."""
        asked: dict[str, Any] = {
            "ImageId": self.image,
            "InstanceType": "m5.large",
            "MinCount": 1,
            "MaxCount": 1,
            "ClientToken": token or self.new_token(),
            **({"SubnetId": self.subnets[zone]} if zone else {}),
            **wanted,
        }
        answer = self.api.run_instances(**asked)
        return [instance["InstanceId"] for instance in answer["Instances"]]

    def run_spot(self, **wanted: Any) -> str:
        [instance] = self.run(InstanceMarketOptions={"MarketType": "spot"}, **wanted)
        return instance

    def listed(self, **asked: Any) -> dict[str, str]:
        """State by instance id, as a listing shows it."""
        reservations = self.api.describe_instances(**asked)["Reservations"]
        found = [instance for reservation in reservations for instance in reservation["Instances"]]
        return {instance["InstanceId"]: instance["State"]["Name"] for instance in found}

    def states_in_log(self, instance_id: str) -> list[str]:
        entries = self.ec2.log()
        return [e["state"] for e in entries if e["kind"] == "state" and e["instance"] == instance_id]

    def terminate(self, *instance_ids: str) -> None:
        self.api.terminate_instances(InstanceIds=list(instance_ids))
        for instance_id in instance_ids:
            self.ec2.wait_for_state(instance_id, "terminated")

    def terminate_the_rest(self) -> None:
        """No test waits for it: a next one counts by ids, not by states."""
        alive = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopped"]}]
        found = list(self.listed(Filters=alive))
        if found:
            self.api.terminate_instances(InstanceIds=found)


def code_of(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])


def status_of(error: ClientError) -> int:
    return int(error.response["ResponseMetadata"]["HTTPStatusCode"])
