"""The tags by which a machine says whose it is."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Settings

if TYPE_CHECKING:
    from types_boto3_ec2.type_defs import FilterTypeDef, TagTypeDef

ACTION_TAG: Final = "holdfast:action"
"""The action that launched it.  Only what carries it may ever be removed."""
POOL_TAG: Final = "holdfast:pool"
GROUP_TAG: Final = "holdfast:group"


def of_launch(settings: Settings, action_id: str, launch: Launch) -> dict[str, str]:
    """Nothing in here changes between two tries of one launch: EC2 would refuse the second."""
    return {
        "Name": f"{settings.cluster_name}-{launch.pool}",
        settings.cluster_tag_key: settings.cluster_name,
        settings.worker_tag_key: settings.worker_tag_value,
        ACTION_TAG: action_id,
        POOL_TAG: launch.pool,
        GROUP_TAG: str(launch.group),
    }


def of_template(settings: Settings, pool: str) -> dict[str, str]:
    return {settings.cluster_tag_key: settings.cluster_name, POOL_TAG: pool}


def written(tags: Mapping[str, str]) -> "list[TagTypeDef]":
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def read(tags: "Sequence[TagTypeDef]") -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in tags}


def workers(settings: Settings) -> "list[FilterTypeDef]":
    """This cluster's machines that are workers."""
    return [
        {"Name": f"tag:{settings.cluster_tag_key}", "Values": [settings.cluster_name]},
        {"Name": f"tag:{settings.worker_tag_key}", "Values": [settings.worker_tag_value]},
    ]


def control_plane(settings: Settings) -> "list[FilterTypeDef]":
    return [
        {"Name": f"tag:{settings.cluster_tag_key}", "Values": [settings.cluster_name]},
        {"Name": f"tag:{settings.master_tag_key}", "Values": [settings.master_tag_value]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]


def is_control_plane(settings: Settings, tags: Mapping[str, str]) -> bool:
    return tags.get(settings.master_tag_key) == settings.master_tag_value
