"""All that is known of moto: its application, and the few of its objects we look at.

moto lends us wire formats and bookkeeping (templates, subnets, tags, filters).  What it
says of states is overwritten, and its own answers to races are never relied on.
"""

import importlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools.parts.ec2.api.wire import STATE_CODES, Answer, Call, write_form

ACCOUNT = "123456789012"
FILTERS = {"client-token": "client_token", "instance-lifecycle": "lifecycle"}
"""Filters of DescribeInstances that moto lacks, and where it keeps what they compare."""


class Moto:
    """One moto, for all services and regions."""

    def __init__(self) -> None:
        os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
        serving = importlib.import_module("moto.moto_server.werkzeug_app")
        # A thousand old images make every launch slow; the few current ones of each region stay.
        importlib.import_module("moto.ec2.models.amis").AMIS.clear()
        importlib.import_module("moto.ec2.utils").filter_dict_attribute_mapping.update(FILTERS)
        self._app = serving.DomainDispatcherApplication(serving.create_backend_app)
        self._backends: Any = importlib.import_module("moto.ec2.models").ec2_backends
        types: Any = importlib.import_module("moto.ec2.models.instance_types")
        self._types, self._offered = types.INSTANCE_TYPES, types.INSTANCE_TYPE_OFFERINGS["availability-zone"]

    def answer(self, environ: Mapping[str, Any], body: bytes) -> Answer:
        """Let moto answer a request as it came, with this body."""
        given: dict[str, Any] = {}

        def start_response(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            given.update(status=int(status.split()[0]), headers=headers)

        request = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        parts: Iterable[bytes] = self._app(request, start_response)
        return Answer(given["status"], b"".join(parts), given["headers"])

    def call(self, call: Call) -> Answer:
        return self.answer(call.environ, write_form(call.form))

    def backend(self, region: str) -> Any:
        return self._backends[ACCOUNT][region]

    def instances(self, region: str) -> Iterator[Any]:
        for reservation in list(self.backend(region).reservations.values()):
            yield from reservation.instances

    def default_subnets(self, region: str) -> dict[str, str]:
        """The default subnet of each zone, in the order of the zones."""
        found = self.backend(region).get_default_subnets()
        return {zone: found[zone].id for zone in sorted(found)}

    def zone_of(self, region: str, subnet_id: str) -> str | None:
        found = [subnet for subnet in self.backend(region).describe_subnets() if subnet.id == subnet_id]
        return str(found[0].availability_zone) if found else None

    def images(self, region: str) -> dict[str, str]:
        """The newest Amazon Linux image of each architecture."""
        found = [image for image in self.backend(region).describe_images() if "al2023-ami-2" in image.name]
        return {image.architecture: image.id for image in sorted(found, key=lambda image: image.name)}

    def template_data(self, region: str, named: Mapping[str, str]) -> Mapping[str, Any]:
        """What a launch template's version says; raises moto's own refusal if there is none."""
        return dict(self.backend(region)._get_template_from_args(dict(named)).data)

    def tags(self, region: str, instance_id: str) -> dict[str, str]:
        return dict(self.backend(region).tags.get(instance_id, {}))

    def role_of(self, region: str, instance_ids: Iterable[str]) -> str | None:
        """The role behind the instance profile of a launch; moto ties it to the first instance only."""
        associations = self.backend(region).iam_instance_profile_associations
        for instance_id in instance_ids:
            if instance_id in associations:
                roles = associations[instance_id].iam_instance_profile.roles
                return str(roles[0].name) if roles else None
        return None

    def is_type(self, instance_type: str) -> bool:
        return instance_type in self._types

    def zones_offering(self, region: str, instance_type: str) -> set[str]:
        offers = self._offered.get(region, [])
        return {offer["Location"] for offer in offers if offer["InstanceType"] == instance_type}

    def hardware(self, instance_type: str) -> dict[str, Any]:
        """Processors, memory and architecture of an instance type."""
        facts = self._types[instance_type]
        architectures = facts["ProcessorInfo"]["SupportedArchitectures"]
        return {
            "vcpus": facts["VCpuInfo"]["DefaultVCpus"],
            "memory_mib": facts["MemoryInfo"]["SizeInMiB"],
            "architecture": "arm64" if "arm64" in architectures else "amd64",
        }


def write_state(instance: Any, state: str) -> None:
    instance._state.name, instance._state.code = state, STATE_CODES[state]


def write_reason(instance: Any, code: str, message: str) -> None:
    instance._reason = message
    instance.state_reason.code, instance.state_reason.message = code, f"{code}: {message}"
