"""Launch templates: what a pool's machines are made of, under a number that never changes its meaning."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.ec2 import tags
from holdfast.adapters.aws.ec2.tags import TagScheme
from holdfast.adapters.aws.errors import Rejected, translate_errors
from holdfast.cloud.launches import Template
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client
    from types_boto3_ec2.type_defs import LaunchTemplateVersionTypeDef

DESCRIBE: Final = "ec2:DescribeLaunchTemplateVersions"
CREATE: Final = "ec2:CreateLaunchTemplate"
CREATE_VERSION: Final = "ec2:CreateLaunchTemplateVersion"
PAGE: Final = 200
NO_SUCH_NAME: Final = "InvalidLaunchTemplateName.NotFoundException"
NAME_TAKEN: Final = "InvalidLaunchTemplateName.AlreadyExistsException"
UNFIT: Final = re.compile(r"[^a-zA-Z0-9().\-/_]")
USER_DATA_BYTES_MAX: Final = 16_384
METADATA: Final = {"HttpEndpoint": "enabled", "HttpTokens": "required"}
"""Only with a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpec:
    """What one pool's machines are made of.  The fields have the names of the pool's settings, because
    messages name them."""

    pool: str
    ami_id: str = ""
    security_group_ids: tuple[str, ...] = ()
    key_name: str = ""
    instance_profile: str = ""
    disk_gib: int = 0
    """The size of the root disk.  0: as the image has it."""
    disk_device: str = "/dev/xvda"
    imds_hop_limit: int = 1
    """1: only the machine itself reaches its metadata.  A pod is a hop further away."""
    user_data: str = ""
    """The script that the machines run when they first boot."""
    launch_template_id: str = ""
    """A template of the user's own, instead of one that is made from the lines above."""
    launch_template_version: int = 0
    """0: the default one."""


def template_data(spec: TemplateSpec) -> dict[str, Any]:
    """Everything about a machine that the request itself does not say."""
    if not spec.ami_id:
        raise Invalid(
            f"ami_id of pool {spec.pool} is empty: name an image, or a launch_template_id of your own"
        )
    script = spec.user_data.encode()
    size = len(script)
    if size > USER_DATA_BYTES_MAX:
        raise Invalid(
            f"the first script of pool {spec.pool} has {size} bytes, {USER_DATA_BYTES_MAX} at most: "
            "give it fewer labels and taints"
        )
    profile = spec.instance_profile
    named = {"Arn": profile} if profile.startswith("arn:") else {"Name": profile}
    disk = {"VolumeSize": spec.disk_gib, "VolumeType": "gp3", "DeleteOnTermination": True}
    return {
        "ImageId": spec.ami_id,
        "UserData": base64.b64encode(script).decode(),
        "MetadataOptions": {**METADATA, "HttpPutResponseHopLimit": spec.imds_hop_limit},
        # A machine that shuts itself down must not stay behind, stopped, forgotten and paid for.
        "InstanceInitiatedShutdownBehavior": "terminate",
        **({"SecurityGroupIds": list(spec.security_group_ids)} if spec.security_group_ids else {}),
        **({"KeyName": spec.key_name} if spec.key_name else {}),
        **({"IamInstanceProfile": named} if profile else {}),
        **({"BlockDeviceMappings": [{"DeviceName": spec.disk_device, "Ebs": disk}]} if spec.disk_gib else {}),
    }  # fmt: skip


def digest_of(made_from: object) -> str:
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


def template_name(cluster_name: str, pool: str) -> str:
    """Two clusters whose names differ in odd characters only share it, and no version: see `digest_of`."""
    return UNFIT.sub("-", f"holdfast-{cluster_name}-{pool}")[:128]


class Templates:
    """The versions of each pool's template, found by the digest that is their description."""

    def __init__(self, client: "EC2Client", scheme: TagScheme, page: int = PAGE) -> None:
        self._client, self._scheme, self._page = client, scheme, min(page, PAGE)
        self._found: dict[str, Template] = {}
        """By digest.  A version never changes, but it may be deleted: see `forget`."""

    def digest(self, spec: TemplateSpec) -> str:
        if spec.launch_template_id:
            return digest_of([spec.launch_template_id, spec.launch_template_version])
        return digest_of([self._scheme.cluster_name, spec.pool, template_data(spec)])

    def find(self, spec: TemplateSpec) -> Template | None:
        digest = self.digest(spec)
        if spec.launch_template_id:
            return self._own(spec, digest)
        if digest not in self._found and (found := self._made(spec, digest)):
            self._found[digest] = found
        return self._found.get(digest)

    def forget(self) -> None:
        """Look again next time: a launch said that a version is not there."""
        self._found.clear()

    def prepare(self, spec: TemplateSpec) -> None:
        """Make the version, unless it is there.  Twice is once, by the digest as token.

        Looks first: a role that may make versions only of templates with our tag is refused where there is
        no template yet, and is not told that there is none.
        """
        if spec.launch_template_id or self.find(spec):
            return
        if not self.exists(spec):
            self._make_template(spec)
            return
        try:
            self._make_version(spec)
        except Rejected as error:
            if error.code != NO_SUCH_NAME:
                raise
            self._make_template(spec)  # it was deleted between our two calls

    def exists(self, spec: TemplateSpec) -> bool:
        """Whether the pool's template is there, in whatever versions.  Repeatable."""
        return bool(self._versions(LaunchTemplateName=self._name(spec)))

    def _make_template(self, spec: TemplateSpec) -> None:
        worn = tags.written(self._scheme.of_template(spec.pool))
        try:
            with translate_errors(CREATE, changes=True):
                self._client.create_launch_template(
                    **self._version(spec),
                    TagSpecifications=[{"ResourceType": "launch-template", "Tags": worn}],
                )
        except Rejected as error:
            if error.code != NAME_TAKEN:
                raise
            self._make_version(spec)  # another process made it between our two calls

    def _make_version(self, spec: TemplateSpec) -> None:
        with translate_errors(CREATE_VERSION, changes=True):
            self._client.create_launch_template_version(**self._version(spec))

    def _version(self, spec: TemplateSpec) -> dict[str, Any]:
        digest = self.digest(spec)
        return {
            "LaunchTemplateName": self._name(spec),
            "VersionDescription": digest,
            "LaunchTemplateData": template_data(spec),
            "ClientToken": digest,
        }

    def _made(self, spec: TemplateSpec, digest: str) -> Template | None:
        versions = self._versions(LaunchTemplateName=self._name(spec))
        ours = [each for each in versions if each.get("VersionDescription") == digest]
        newest = max(ours, key=lambda each: each["VersionNumber"], default=None)
        return _template(newest, digest) if newest else None

    def _own(self, spec: TemplateSpec, digest: str) -> Template:
        if spec.launch_template_version:
            return Template(spec.launch_template_id, spec.launch_template_version, digest)
        # "The default one" may mean another version tomorrow: a launch refers to a number.
        versions = self._versions(LaunchTemplateId=spec.launch_template_id, Versions=["$Default"])
        if not versions:
            raise Invalid(
                f"launch_template_id of pool {spec.pool} is {spec.launch_template_id}: no such template"
            )
        return _template(versions[0], digest)

    def _versions(self, **which: Any) -> "Sequence[LaunchTemplateVersionTypeDef]":
        try:
            with translate_errors(DESCRIBE, changes=False):
                pages = self._client.get_paginator("describe_launch_template_versions").paginate(
                    **which, PaginationConfig={"PageSize": self._page}
                )
                return [each for one in pages for each in one["LaunchTemplateVersions"]]
        except Rejected as error:
            if "NotFound" not in error.code:
                raise
            return []

    def _name(self, spec: TemplateSpec) -> str:
        return template_name(self._scheme.cluster_name, spec.pool)


def _template(seen: "LaunchTemplateVersionTypeDef", digest: str) -> Template:
    return Template(seen["LaunchTemplateId"], seen["VersionNumber"], digest)
