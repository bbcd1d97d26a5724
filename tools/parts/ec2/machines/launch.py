"""What a RunInstances really asks for, its launch template folded in."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.parts.ec2.api.errors import AwsError
from tools.parts.ec2.api.moto_app import Moto
from tools.parts.ec2.api.wire import Call
from tools.parts.ec2.machines.capacity import Pool
from tools.parts.ec2.machines.tokens import fingerprint

FOLDED = ("IamInstanceProfile", "InstanceMarketOptions", "MetadataOptions", "Placement")
"""Template fields that moto leaves out of account, by the name the request gives them."""

TOKEN_CHARS_MAX = 64
USER_DATA_BYTES_MAX = 16384


@dataclass(frozen=True)
class LaunchRequest:
    call: Call
    token: str | None
    zone: str | None
    """Only if the request or its template names one, by itself or by a subnet."""
    instance_type: str
    market: str
    least: int
    most: int
    fingerprint: str

    def pool(self, zone: str) -> Pool:
        return Pool(self.instance_type, zone, self.market)


def read_launch(call: Call, moto: Moto) -> LaunchRequest:
    template = _template(call, moto)
    form = _fold(call.form, template)
    least, most = int(form.get("MinCount", "0")), int(form.get("MaxCount", "0"))
    if not 1 <= least <= most:
        raise AwsError("InvalidParameterValue", f"MinCount {least} and MaxCount {most} do not fit together")
    _check_sizes(form)
    subnet = form.get("SubnetId") or form.get("NetworkInterface.1.SubnetId")
    zone = moto.zone_of(call.region, subnet) if subnet else form.get("Placement.AvailabilityZone")
    if subnet and zone is None:
        raise AwsError("InvalidSubnetID.NotFound", f"The subnet ID '{subnet}' does not exist")
    instance_type = form.get("InstanceType") or template.get("InstanceType") or "m1.small"
    _check_type(moto, call.region, instance_type, zone)
    return LaunchRequest(
        call=Call(call.region, form, call.environ),
        token=form.get("ClientToken"),
        zone=zone,
        instance_type=instance_type,
        market="spot" if form.get("InstanceMarketOptions.MarketType") == "spot" else "on-demand",
        least=least,
        most=most,
        fingerprint=fingerprint(call.form),
    )


def _check_sizes(form: Mapping[str, str]) -> None:
    token = form.get("ClientToken", "")
    if len(token) > TOKEN_CHARS_MAX or not token.isascii():
        raise AwsError(
            "InvalidParameterValue", f"A client token has at most {TOKEN_CHARS_MAX} ASCII characters"
        )
    if len(base64.b64decode(form.get("UserData", ""))) > USER_DATA_BYTES_MAX:
        raise AwsError("InvalidParameterValue", f"User data is limited to {USER_DATA_BYTES_MAX} bytes")


def _check_type(moto: Moto, region: str, instance_type: str, zone: str | None) -> None:
    if not moto.is_type(instance_type):
        raise AwsError("InvalidParameterValue", f"Invalid value '{instance_type}' for InstanceType.")
    offering = moto.zones_offering(region, instance_type)
    if zone not in offering if zone else not offering:
        where = f"your requested Availability Zone ({zone})" if zone else "this Region"
        message = f"Your requested instance type ({instance_type}) is not supported in {where}."
        raise AwsError("Unsupported", message)


def _template(call: Call, moto: Moto) -> Mapping[str, Any]:
    prefix = "LaunchTemplate."
    named = {key[len(prefix) :]: value for key, value in call.form.items() if key.startswith(prefix)}
    if not named:
        return {}
    try:
        return moto.template_data(call.region, named)
    except Exception as error:
        code = getattr(error, "error_type", None) or getattr(error, "code", None)
        if not isinstance(code, str):
            raise
        raise AwsError(code, str(getattr(error, "message", error))) from error


def _fold(form: Mapping[str, str], template: Mapping[str, Any]) -> dict[str, str]:
    """Add what the template says and the request does not."""
    folded = dict(form)
    for name in FOLDED:
        if name in template and not _speaks_of(form, name):
            folded.update(_flat(name, template[name]))
    if "NetworkInterfaces" in template and not _speaks_of(form, "NetworkInterface"):
        for n, interface in enumerate(template["NetworkInterfaces"], 1):
            folded.update(_interface(f"NetworkInterface.{n}", interface))
    return folded


def _speaks_of(form: Mapping[str, str], name: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for key in form)


def _interface(prefix: str, interface: Mapping[str, Any]) -> dict[str, str]:
    rest = {key: value for key, value in interface.items() if key != "Groups"}
    groups = {f"{prefix}.SecurityGroupId.{n}": id_ for n, id_ in enumerate(interface.get("Groups", []), 1)}
    return {**_flat(prefix, rest), **groups}


def _flat(prefix: str, value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
        parts = [_flat(f"{prefix}.{key}", inner) for key, inner in value.items()]
        return {key: text for part in parts for key, text in part.items()}
    if isinstance(value, bool):
        return {prefix: str(value).lower()}
    return {prefix: str(value)}
