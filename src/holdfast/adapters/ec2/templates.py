"""Launch templates: what a pool's machines are made of, under a number that never changes its meaning."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws import Rejected, sorted_out
from holdfast.adapters.ec2 import tags
from holdfast.autoscaler.settings import Pool, Settings
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
METADATA: Final = {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1}
"""Only with a session, and only for the machine itself: a pod is a hop further away."""

UserData = Callable[[Pool], str]
"""The script that a pool's machines run when they first boot."""


def template_data(pool: Pool, script: str) -> dict[str, Any]:
    """Everything about a machine that the request itself does not say."""
    if not pool.ami_id:
        raise Invalid(
            f"ami_id of pool {pool.name} is empty: name an image, or a launch_template_id of your own"
        )
    size = len(script.encode())
    if size > USER_DATA_BYTES_MAX:
        raise Invalid(
            f"the first script of pool {pool.name} has {size} bytes, {USER_DATA_BYTES_MAX} at most: "
            "give it fewer labels and taints"
        )
    profile = pool.instance_profile
    named = {"Arn": profile} if profile.startswith("arn:") else {"Name": profile}
    disk = {"VolumeSize": pool.disk_gib, "VolumeType": "gp3", "DeleteOnTermination": True}
    return {
        "ImageId": pool.ami_id,
        "UserData": base64.b64encode(script.encode()).decode(),
        "MetadataOptions": METADATA,
        # A machine that shuts itself down must not stay behind, stopped, forgotten and paid for.
        "InstanceInitiatedShutdownBehavior": "terminate",
        **({"SecurityGroupIds": list(pool.security_group_ids)} if pool.security_group_ids else {}),
        **({"KeyName": pool.key_name} if pool.key_name else {}),
        **({"IamInstanceProfile": named} if profile else {}),
        **({"BlockDeviceMappings": [{"DeviceName": pool.disk_device, "Ebs": disk}]} if pool.disk_gib else {}),
    }  # fmt: skip


def digest_of(made_from: object) -> str:
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


def template_name(cluster_name: str, pool: str) -> str:
    """Two clusters whose names differ in odd characters only share it, and no version: see `digest_of`."""
    return UNFIT.sub("-", f"holdfast-{cluster_name}-{pool}")[:128]


class Templates:
    """The versions of each pool's template, found by the digest that is their description."""

    def __init__(
        self, client: "EC2Client", settings: Settings, user_data: UserData, page: int = PAGE
    ) -> None:
        self._client, self._settings, self._user_data = client, settings, user_data
        self._page = min(page, PAGE)
        self._found: dict[str, Template] = {}
        """By digest.  A version never changes, but somebody may delete it: see `forget`."""

    def digest(self, pool: Pool) -> str:
        if pool.launch_template_id:
            return digest_of([pool.launch_template_id, pool.launch_template_version])
        return digest_of([self._settings.cluster_name, pool.name, self._data(pool)])

    def find(self, pool: Pool) -> Template | None:
        digest = self.digest(pool)
        if pool.launch_template_id:
            return self._own(pool, digest)
        if digest not in self._found and (found := self._made(pool, digest)):
            self._found[digest] = found
        return self._found.get(digest)

    def forget(self) -> None:
        """Look again next time: a launch said that a version is not there."""
        self._found.clear()

    def prepare(self, pool: Pool) -> None:
        """Make the version, unless it is there.  Twice is once, by the digest as token."""
        if pool.launch_template_id or self.find(pool):
            return
        try:
            self._make_version(pool)
        except Rejected as error:
            if error.code != NO_SUCH_NAME:
                raise
            self._make_template(pool)

    def _make_template(self, pool: Pool) -> None:
        worn = tags.written(tags.of_template(self._settings, pool.name))
        try:
            with sorted_out(CREATE, changes=True):
                self._client.create_launch_template(
                    **self._version(pool),
                    TagSpecifications=[{"ResourceType": "launch-template", "Tags": worn}],
                )
        except Rejected as error:
            if error.code != NAME_TAKEN:
                raise
            self._make_version(pool)  # somebody made it between our two calls

    def _make_version(self, pool: Pool) -> None:
        with sorted_out(CREATE_VERSION, changes=True):
            self._client.create_launch_template_version(**self._version(pool))

    def _version(self, pool: Pool) -> dict[str, Any]:
        digest = self.digest(pool)
        return {
            "LaunchTemplateName": self._name(pool),
            "VersionDescription": digest,
            "LaunchTemplateData": self._data(pool),
            "ClientToken": digest,
        }

    def _made(self, pool: Pool, digest: str) -> Template | None:
        versions = self._versions(LaunchTemplateName=self._name(pool))
        ours = [each for each in versions if each.get("VersionDescription") == digest]
        newest = max(ours, key=lambda each: each["VersionNumber"], default=None)
        return _template(newest, digest) if newest else None

    def _own(self, pool: Pool, digest: str) -> Template:
        if pool.launch_template_version:
            return Template(pool.launch_template_id, pool.launch_template_version, digest)
        # "The default one" may mean another version tomorrow: a launch refers to a number.
        versions = self._versions(LaunchTemplateId=pool.launch_template_id, Versions=["$Default"])
        if not versions:
            raise Invalid(
                f"launch_template_id of pool {pool.name} is {pool.launch_template_id}: no such template"
            )
        return _template(versions[0], digest)

    def _versions(self, **which: Any) -> "Sequence[LaunchTemplateVersionTypeDef]":
        try:
            with sorted_out(DESCRIBE, changes=False):
                pages = self._client.get_paginator("describe_launch_template_versions").paginate(
                    **which, PaginationConfig={"PageSize": self._page}
                )
                return [each for one in pages for each in one["LaunchTemplateVersions"]]
        except Rejected as error:
            if "NotFound" not in error.code:
                raise
            return []

    def _name(self, pool: Pool) -> str:
        return template_name(self._settings.cluster_name, pool.name)

    def _data(self, pool: Pool) -> dict[str, Any]:
        return template_data(pool, self._user_data(pool))


def _template(seen: "LaunchTemplateVersionTypeDef", digest: str) -> Template:
    return Template(seen["LaunchTemplateId"], seen["VersionNumber"], digest)
