"""What one instance can read about itself, as paths and texts."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

Tree = dict[str, str]
"""Full paths under `/latest/` and the text at each."""


@dataclass
class Metadata:
    """One instance, as its metadata service sees it."""

    instance_id: str
    instance_type: str = "m5.large"
    zone: str = "us-east-1a"
    life_cycle: str = "on-demand"
    local_ipv4: str = "10.0.0.1"
    image_id: str = "ami-00000000"
    account: str = "123456789012"
    tags: dict[str, str] = field(default_factory=dict)
    user_data: bytes | None = None
    role: str | None = None
    enabled: bool = True
    token_required: bool = True
    instance_action: tuple[str, str] | None = None
    """What will be done to it (`terminate`, `stop`, `hibernate`) and when."""
    rebalance_at: str | None = None

    @property
    def region(self) -> str:
        return self.zone.rstrip("abcdefghijklmnopqrstuvwxyz")

    @property
    def hostname(self) -> str:
        domain = "ec2.internal" if self.region == "us-east-1" else f"{self.region}.compute.internal"
        return f"ip-{self.local_ipv4.replace('.', '-')}.{domain}"


def tree(seen: Metadata) -> Tree:
    """Everything there is to read, user data aside."""
    plain = {
        "ami-id": seen.image_id,
        "hostname": seen.hostname,
        "instance-id": seen.instance_id,
        "instance-life-cycle": seen.life_cycle,
        "instance-type": seen.instance_type,
        "local-hostname": seen.hostname,
        "local-ipv4": seen.local_ipv4,
        "placement/availability-zone": seen.zone,
        "placement/region": seen.region,
        "services/domain": "amazonaws.com",
        "services/partition": "aws",
        "events/maintenance/scheduled": "[]",
    }
    found = {**plain, **_tags(seen), **_notices(seen), **_role(seen)}
    documents = {"dynamic/instance-identity/document": _identity(seen)}
    return {**{f"meta-data/{path}": text for path, text in found.items()}, **documents}


def look_up(found: Tree, path: str) -> str | None:
    """The text at a path, the names in a folder, or None."""
    if path in found:
        return found[path]
    folder = path.rstrip("/") + "/"
    below = {name[len(folder) :] for name in found if name.startswith(folder)}
    names = {rest.split("/")[0] + ("/" if "/" in rest else "") for rest in below}
    return "\n".join(sorted(names)) if names else None


def _tags(seen: Metadata) -> Tree:
    return {f"tags/instance/{key}": value for key, value in seen.tags.items()}


def _notices(seen: Metadata) -> Tree:
    found: Tree = {}
    if seen.instance_action:
        action, at = seen.instance_action
        found["spot/instance-action"] = json.dumps({"action": action, "time": at})
        if action == "terminate":
            found["spot/termination-time"] = at
    if seen.rebalance_at:
        found["events/recommendations/rebalance"] = json.dumps({"noticeTime": seen.rebalance_at})
    return found


def _role(seen: Metadata) -> Tree:
    """Credentials that say whose they are; the stand-in checks no signatures."""
    if seen.role is None:
        return {}
    now = datetime.now(UTC)
    lent = {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Expiration": (now + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "AccessKeyId": f"ASIA{seen.instance_id[-12:].upper()}",
        "SecretAccessKey": "secret-of-the-role",
        "Token": f"session-of-{seen.instance_id}",
    }
    return {f"iam/security-credentials/{seen.role}": json.dumps(lent)}


def _identity(seen: Metadata) -> str:
    return json.dumps(
        {
            "accountId": seen.account,
            "availabilityZone": seen.zone,
            "imageId": seen.image_id,
            "instanceId": seen.instance_id,
            "instanceType": seen.instance_type,
            "privateIp": seen.local_ipv4,
            "region": seen.region,
            "version": "2017-09-30",
        }
    )
