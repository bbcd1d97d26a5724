"""EC2 as failover's `Machines`: a launch intent becomes a request under its token.

A machine is marked by tags with its client, its agent and its launch intent.  Its first script installs the
agent and enrols it with a one-time token of its own.  That token follows from the intent and from a key
that only the servers have: a launch that is asked for twice must be asked for in the same words.
"""

import hashlib
import hmac
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws.ec2 import listing, terminate
from holdfast.adapters.aws.ec2.catalog import Catalog
from holdfast.adapters.aws.ec2.launch import LaunchRequest, run, run_request
from holdfast.adapters.aws.ec2.tags import TagScheme
from holdfast.adapters.aws.ec2.templates import Templates, TemplateSpec
from holdfast.cloud import Instance, Market
from holdfast.cloud.launches import Refused
from holdfast.failover.ports import Launch, Launched, NotLaunched, Terminate
from holdfast.failover.settings import Settings
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

CLIENT_TAG: Final = "holdfast:failover-client"
AGENT_TAG: Final = "holdfast:failover-agent"
REPLICA_TAG: Final = "holdfast:failover-replica"
SCHEME: Final = TagScheme(
    cluster_key="holdfast:part",
    cluster_name="failover",
    worker_key="holdfast:part",
    worker_value="failover",
    control_plane_key="holdfast:part",
    control_plane_value="failover-server",
)
POOL: Final = "standby"

Enrol = Callable[[str, str, str, str], None]
"""Client, agent, replica and secret: store a one-time enrolment.  Twice is once."""


def template_spec(settings: Settings) -> TemplateSpec:
    return TemplateSpec(
        pool=POOL,
        ami_id=settings.ami_id,
        security_group_ids=settings.security_group_ids,
        instance_profile=settings.instance_profile,
    )


def secret_of(key: bytes, replica_id: str) -> str:
    """The enrolment of one launch intent: the same every time, and nothing that anyone can guess."""
    return f"hfe_{hmac.new(key, replica_id.encode(), hashlib.sha256).hexdigest()}"


def first_script(settings: Settings, agent_id: str, secret: str) -> str:
    """Installs the agent, enrols it, and keeps it running until it hands over.

    The token's file is the owner's alone; what hooks make later is made as usual.
    """
    servers = " ".join(f"--server {shlex.quote(url)}" for url in settings.agent_server_urls)
    return "\n".join(
        (
            "#!/bin/sh",
            "set -eu",
            "mkdir -p /etc/holdfast /var/lib/holdfast",
            f"(umask 077; printf '%s\\n' {shlex.quote(secret)} > /etc/holdfast/enrol)",
            settings.agent_install,
            f"until holdfast failover agent --agent-id {shlex.quote(agent_id)} {servers} "
            f"--enrol /etc/holdfast/enrol --state /var/lib/holdfast {settings.agent_arguments}".rstrip(),
            "do sleep 1; done",
            "",
        )
    )


@dataclass(frozen=True, slots=True)
class Place:
    instance_type: str
    zone: str

    @classmethod
    def of(cls, pool: str) -> "Place":
        """`m6i.large.eu-west-1a`: the zone has no dot."""
        instance_type, _, zone = pool.rpartition(".")
        return cls(instance_type, zone)


class Ec2Machines:
    """See `holdfast.failover.ports.Machines` for what each method promises."""

    def __init__(
        self, client: "EC2Client", settings: Settings, *, key: bytes, enrol: Enrol, now_s: Callable[[], float]
    ) -> None:
        """`client` tries each call once.  `key` is the same on every server."""
        self._client, self._settings, self._key, self._enrol = client, settings, key, enrol
        self._templates = Templates(client, SCHEME)
        self._catalog = Catalog(client, pods_per_node=110, on_demand_usd={}, now_s=now_s, page=listing.PAGE)

    def prepare(self) -> str:
        """Make the template's version, unless it is there; the name that intents give it.  Twice is once."""
        spec = template_spec(self._settings)
        self._templates.prepare(spec)
        found = self._templates.find(spec)
        if found is None:
            raise Invalid("the launch template was made and is not listed yet: try again")
        return f"{found.template_id}:{found.version}"

    def launch(self, effect: Launch) -> Launched | NotLaunched:
        client_id, agent_id = effect.subject.split("/", 1)
        place = Place.of(effect.pool)
        subnet_id = self._subnet(place.zone)
        if subnet_id is None:
            return NotLaunched(
                "no_subnet", f"subnet_ids has none in {place.zone}: give one, or drop its pools"
            )
        secret = secret_of(self._key, effect.replica_id)
        self._enrol(client_id, agent_id, effect.replica_id, secret)
        template_id, _, version = effect.template_version.partition(":")
        request = LaunchRequest(
            token=effect.token,
            template_id=template_id,
            template_version=int(version),
            subnet_id=subnet_id,
            instance_type=place.instance_type,
            market=Market(effect.market),
            count=1,
            tags={
                **self._tags(effect.subject),
                "Name": f"holdfast-{agent_id}",
                REPLICA_TAG: effect.replica_id,
            },
            user_data=first_script(self._settings, agent_id, secret),
        )
        answer = run(self._client, run_request(request), effect.pool)
        if isinstance(answer, Refused):
            return NotLaunched(str(answer.kind), answer.message)
        return Launched(answer.instance_ids[0], place.instance_type, place.zone)

    def terminate(self, effect: Terminate) -> None:
        terminate.terminate(self._client, [effect.instance_id])

    def instances(self, subject: str) -> Sequence[Instance]:
        return listing.list_tagged(self._client, self._tags(subject))

    def _tags(self, subject: str) -> Mapping[str, str]:
        client_id, agent_id = subject.split("/", 1)
        return {SCHEME.cluster_key: SCHEME.cluster_name, CLIENT_TAG: client_id, AGENT_TAG: agent_id}

    def _subnet(self, zone: str) -> str | None:
        zones = self._catalog.zones(self._settings.subnet_ids)
        return next((subnet_id for subnet_id, each in zones.items() if each == zone), None)
