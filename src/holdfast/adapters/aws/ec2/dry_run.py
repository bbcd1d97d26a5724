"""What we may do, by dry runs: EC2 answers as it would, and does nothing.

Each returns if the call is allowed.  Raises Denied, another Rejected, or Busy.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.ec2 import tags
from holdfast.adapters.aws.errors import Rejected, translate_errors

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

WOULD_WORK: Final = "DryRunOperation"


def run_instances(client: "EC2Client", request: dict[str, Any]) -> None:
    _ask("ec2:RunInstances", lambda: client.run_instances(**request, DryRun=True))


def create_launch_template(
    client: "EC2Client", name: str, data: Mapping[str, Any], worn: Mapping[str, str]
) -> None:
    request: dict[str, Any] = {
        "LaunchTemplateName": name,
        "LaunchTemplateData": data,
        "TagSpecifications": [{"ResourceType": "launch-template", "Tags": tags.written(worn)}],
    }
    _ask("ec2:CreateLaunchTemplate", lambda: client.create_launch_template(**request, DryRun=True))


def create_launch_template_version(client: "EC2Client", name: str, data: Mapping[str, Any]) -> None:
    request: dict[str, Any] = {"LaunchTemplateName": name, "LaunchTemplateData": data}
    _ask(
        "ec2:CreateLaunchTemplateVersion",
        lambda: client.create_launch_template_version(**request, DryRun=True),
    )


def terminate_instances(client: "EC2Client", instance_id: str) -> None:
    _ask("ec2:TerminateInstances", lambda: client.terminate_instances(InstanceIds=[instance_id], DryRun=True))


def get_console_output(client: "EC2Client", instance_id: str) -> None:
    _ask("ec2:GetConsoleOutput", lambda: client.get_console_output(InstanceId=instance_id, DryRun=True))


def _ask(action: str, call: Callable[[], object]) -> None:
    try:
        with translate_errors(action, changes=False):
            call()
    except Rejected as error:
        if error.code != WOULD_WORK:
            raise
