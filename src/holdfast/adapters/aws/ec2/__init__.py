"""EC2: the machines, the templates they are made from, and what they cost.

Here belong requests, pages and the meaning of refusals, with small configurations of their own: `TagScheme`,
`LaunchRequest`, `TemplateSpec`, `K3sAgent`.  Which machine to launch, where, and which one to terminate is
decided by the parts.
"""

from holdfast.adapters.aws.ec2.client import make_client
from holdfast.adapters.aws.errors import Denied

__all__ = ["Denied", "make_client"]
