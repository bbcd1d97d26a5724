"""EC2: the machines, the templates they are made from, and what they cost.

Here belong requests, pages and the meaning of refusals.  Which machine to launch, where, and
which one to end is decided elsewhere.
"""

from holdfast.adapters.aws import Denied
from holdfast.adapters.ec2.calls import CALLS, Call
from holdfast.adapters.ec2.client import make_client
from holdfast.adapters.ec2.cloud import Ec2Cloud

__all__ = ["CALLS", "Call", "Denied", "Ec2Cloud", "make_client"]
