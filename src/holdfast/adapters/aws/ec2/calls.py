"""Every call to EC2, as data: for the doctor, and to compare with what the deployed role grants."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """An action, in the words of IAM."""

    action: str
    resource_level: bool
    """Whether a policy can grant it for some resources only.  Otherwise its resource is `*`."""
    indirect: str = ""
    """Not called by us: what needs it instead."""


CALLS = (
    Call("ec2:CreateLaunchTemplate", True),
    Call("ec2:CreateLaunchTemplateVersion", True),
    Call("ec2:CreateTags", True, "tags that a launch or a new template carries from the start"),
    Call("ec2:DescribeInstanceTypes", False),
    Call("ec2:DescribeInstances", False),
    Call("ec2:DescribeLaunchTemplateVersions", False),
    Call("ec2:DescribeSpotInstanceRequests", False),
    Call("ec2:DescribeSpotPriceHistory", False),
    Call("ec2:DescribeSubnets", False),
    Call("ec2:GetConsoleOutput", True),
    Call("ec2:RunInstances", True),
    Call("ec2:TerminateInstances", True),
    Call("iam:PassRole", True, "a launch whose template names an instance profile"),
)
"""All that the product ever asks of EC2."""
