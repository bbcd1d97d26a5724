"""The tags by which a machine says which cluster, pool and action it belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types_boto3_ec2.type_defs import FilterTypeDef, TagTypeDef

ACTION_TAG: Final = "holdfast:action"
"""The action that launched it.  Only what carries it may ever be removed."""
POOL_TAG: Final = "holdfast:pool"
GROUP_TAG: Final = "holdfast:group"
TEMPLATE_TAGS: Final = ("aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version")
"""EC2 itself puts these on what is launched from a template; no person can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagScheme:
    """Which tags mark the machines of one cluster."""

    cluster_key: str
    cluster_name: str
    worker_key: str
    worker_value: str
    control_plane_key: str
    control_plane_value: str

    def of_launch(self, *, action_id: str, pool: str, group: int) -> dict[str, str]:
        """The tags of a worker.  They do not change between two tries of one launch: EC2 would refuse
        the second try."""
        return {
            "Name": f"{self.cluster_name}-{pool}",
            self.cluster_key: self.cluster_name,
            self.worker_key: self.worker_value,
            ACTION_TAG: action_id,
            POOL_TAG: pool,
            GROUP_TAG: str(group),
        }

    def of_template(self, pool: str) -> dict[str, str]:
        return {self.cluster_key: self.cluster_name, POOL_TAG: pool}

    def worker_filters(self) -> "list[FilterTypeDef]":
        """This cluster's machines that are workers."""
        return [
            {"Name": f"tag:{self.cluster_key}", "Values": [self.cluster_name]},
            {"Name": f"tag:{self.worker_key}", "Values": [self.worker_value]},
        ]

    def control_plane_filters(self) -> "list[FilterTypeDef]":
        """This cluster's control planes that run."""
        return [
            {"Name": f"tag:{self.cluster_key}", "Values": [self.cluster_name]},
            {"Name": f"tag:{self.control_plane_key}", "Values": [self.control_plane_value]},
            {"Name": "instance-state-name", "Values": ["running"]},
        ]

    def is_control_plane(self, tags: Mapping[str, str]) -> bool:
        return tags.get(self.control_plane_key) == self.control_plane_value


def written(tags: Mapping[str, str]) -> "list[TagTypeDef]":
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def read(tags: "Sequence[TagTypeDef]") -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in tags}
