"""What DescribeInstances shows, as the product sees it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.adapters.aws.ec2 import tags
from holdfast.adapters.aws.ec2.tags import TagScheme
from holdfast.adapters.aws.errors import translate_errors
from holdfast.cloud import Instance, Market, State

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client
    from types_boto3_ec2.type_defs import FilterTypeDef, InstanceTypeDef

PAGE = 1_000
DESCRIBE = "ec2:DescribeInstances"


def list_workers(client: "EC2Client", scheme: TagScheme, page: int = PAGE) -> list[Instance]:
    """Every worker of the cluster, dead or alive; never the control plane, whatever else it is tagged as."""
    found: dict[str, Instance] = {}
    for each in _described(client, scheme.worker_filters(), page):
        worn = tags.read(each.get("Tags", []))
        if not scheme.is_control_plane(worn):
            found[each["InstanceId"]] = _instance(each, worn)
    return list(found.values())


def list_tagged(client: "EC2Client", wanted: Mapping[str, str], page: int = PAGE) -> list[Instance]:
    """Every machine with these tags, dead or alive."""
    filters: list[FilterTypeDef] = [{"Name": f"tag:{key}", "Values": [wanted[key]]} for key in wanted]
    found = {each["InstanceId"]: each for each in _described(client, filters, page)}
    return [_instance(each, tags.read(each.get("Tags", []))) for each in found.values()]


def control_plane_address(client: "EC2Client", scheme: TagScheme, page: int = PAGE) -> str:
    """The private address of the newest control plane that runs; empty if there is none."""
    found = sorted(
        _described(client, scheme.control_plane_filters(), page), key=lambda each: each["LaunchTime"]
    )
    return found[-1].get("PrivateIpAddress", "") if found else ""


def _described(client: "EC2Client", filters: "list[FilterTypeDef]", page: int) -> "Iterable[InstanceTypeDef]":
    with translate_errors(DESCRIBE, changes=False):
        pages = client.get_paginator("describe_instances").paginate(
            Filters=filters, PaginationConfig={"PageSize": page}
        )
        return [
            each
            for one in pages
            for reservation in one["Reservations"]
            for each in reservation.get("Instances", [])
        ]


def _instance(seen: "InstanceTypeDef", worn: dict[str, str]) -> Instance:
    return Instance(
        instance_id=seen["InstanceId"],
        state=State(seen["State"]["Name"]),
        zone=seen.get("Placement", {}).get("AvailabilityZone", ""),
        instance_type=seen.get("InstanceType", ""),
        market=Market.SPOT if seen.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND,
        launched_s=int(seen["LaunchTime"].timestamp()) if "LaunchTime" in seen else 0,
        pool=worn.get(tags.POOL_TAG, "default"),
        action_id=worn.get(tags.ACTION_TAG, ""),
        token=seen.get("ClientToken", ""),
        ended_why=seen.get("StateReason", {}).get("Message", ""),
        template=":".join(filter(None, (worn.get(tag, "") for tag in tags.TEMPLATE_TAGS))),
        private_ip=seen.get("PrivateIpAddress", ""),
        private_dns=seen.get("PrivateDnsName", ""),
    )
