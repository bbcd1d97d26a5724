"""RunInstances: a request under its token, and what a refusal means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.ec2 import tags
from holdfast.adapters.aws.errors import Codes, Denied, Rejected, translate_errors
from holdfast.cloud import LEAVING, Market
from holdfast.cloud.launches import Launched, Refusal, Refused

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

RUN: Final = "ec2:RunInstances"
CAPACITY: Final = frozenset(
    {
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InsufficientReservedInstanceCapacity",
        "SpotMaxPriceTooLow",
        "UnfulfillableCapacity",
        "Unsupported",
    }
)
"""Not this type, in this zone, in this market, now.  `Unsupported`: the zone does not have the type."""
QUOTA: Final = frozenset({"VcpuLimitExceeded", "InstanceLimitExceeded", "MaxSpotInstanceCountExceeded"})
SUBNET: Final = frozenset({"InsufficientFreeAddressesInSubnet", "InvalidSubnetID.NotFound", "InvalidSubnet"})
"""This subnet is full or not there; others of the pool may do."""
TYPE: Final = frozenset({"InvalidInstanceType"})
CODES: Final = Codes(rejected=CAPACITY | QUOTA | SUBNET | TYPE)
EXISTED: Final = "IdempotentInstanceTerminated"
MISMATCH: Final = "IdempotentParameterMismatch"
UNFIT: Final = "InvalidParameterValue"

FIXES: Final = (
    ("InvalidAMIID", "ami_id", "give an image of this region that is not deleted"),
    ("InvalidKeyPair", "key_name", "give a key pair of this region"),
    ("InvalidSecurityGroupID", "security_group_ids", "give groups of the subnets' own network"),
    ("InvalidGroup", "security_group_ids", "give groups of the subnets' own network"),
    ("InsufficientFreeAddresses", "subnet_ids", "give it another subnet, or free addresses in this one"),
    ("InvalidSubnetID", "subnet_ids", "give subnets of this region"),
    ("InvalidLaunchTemplate", "launch_template_id", "it was deleted; without this setting one is made anew"),
    ("InvalidParameterValue", "", "one of the pool's settings does not fit the others or this region"),
    (
        "InvalidParameterCombination",
        "",
        "two of its settings do not go together; a template of your own must not name network interfaces",
    ),
)
"""How a code begins, the pool's setting behind it, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """One request for machines that are alike."""

    token: str
    """EC2 launches once for a token, however often it is asked."""
    template_id: str
    template_version: int
    subnet_id: str
    instance_type: str
    market: Market
    count: int
    """At most so many; one is enough to succeed."""
    tags: Mapping[str, str]
    user_data: str = ""
    """A script of this launch alone, instead of the template's."""


def run_request(launch: LaunchRequest) -> dict[str, Any]:
    """What RunInstances is asked.  Equal requests give equal words: the token demands it."""
    worn = tags.written(launch.tags)
    request: dict[str, Any] = {
        "LaunchTemplate": {
            "LaunchTemplateId": launch.template_id,
            "Version": str(launch.template_version),
        },
        "InstanceType": launch.instance_type,
        "SubnetId": launch.subnet_id,
        "MinCount": 1,
        "MaxCount": launch.count,
        "ClientToken": launch.token,
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": worn},
            {"ResourceType": "volume", "Tags": worn},
        ],
    }
    if launch.user_data:
        request["UserData"] = launch.user_data  # boto3 itself encodes it
    if launch.market is Market.SPOT:
        once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": once}
    return request


def run(client: "EC2Client", request: dict[str, Any], pool: str) -> Launched | Refused:
    """Ask once; `pool` is for messages.  Raises Busy or Unknown."""
    try:
        with translate_errors(RUN, changes=True, codes=CODES):
            answer = client.run_instances(**request)
    except Rejected as error:
        return refusal(error, pool)
    except Denied as error:
        return Refused(Refusal.REFUSED, str(error))
    launched = answer["Instances"]
    if launched and all(each["State"]["Name"] in LEAVING for each in launched):
        # Before 2025 a token whose instances were gone brought them back in the answer, dead.
        ids = ", ".join(each["InstanceId"] for each in launched)
        return Refused(Refusal.EXISTED, f"{RUN}: this token launched {ids}, and all of it is gone again")
    return Launched(tuple(each["InstanceId"] for each in launched))


def refusal(error: Rejected, pool: str) -> Refused:
    """What kind of no it is, and what would turn it into a yes."""
    if error.code in CAPACITY:
        return Refused(Refusal.CAPACITY, str(error))
    if error.code in QUOTA:
        return Refused(Refusal.QUOTA, f"{error} (ask for a higher quota in Service Quotas)")
    if error.code == EXISTED:
        return Refused(Refusal.EXISTED, str(error))
    if error.code == MISMATCH:
        return Refused(Refusal.MISMATCH, str(error))
    told = f"{error}{_fix(error.code, pool)}"
    if error.code in SUBNET:
        return Refused(Refusal.SUBNET, told)
    if error.code in TYPE or (error.code == UNFIT and "instance type" in _spaced(error.message)):
        return Refused(Refusal.TYPE, told)
    return Refused(Refusal.REFUSED, told)


def _spaced(message: str) -> str:
    """EC2 writes `InstanceType` as often as `instance type`."""
    return message.replace("InstanceType", "instance type").lower()


def _fix(code: str, pool: str) -> str:
    for begins, setting, fix in FIXES:
        if code.startswith(begins):
            where = f"setting {setting} of pool {pool}: " if setting else f"pool {pool}: "
            return f" ({where}{fix})"
    return ""
