"""Values that the parts share: machines, offerings, prices, notices, and the objects of Kubernetes.

Here belong values that more than one part or adapter means, in the words of AWS and Kubernetes.  No I/O,
and nothing that one part alone decides.  The objects of Kubernetes are in a module of their own, so that
a process without a cluster need not load them.
"""

from holdfast.cloud.machines import ALIVE, LEAVING, Instance, MachineType, Shape, State
from holdfast.cloud.notices import Notice, NoticeKind
from holdfast.cloud.offerings import Market, Offering, Prices

__all__ = [
    "ALIVE",
    "LEAVING",
    "Instance",
    "MachineType",
    "Market",
    "Notice",
    "NoticeKind",
    "Offering",
    "Prices",
    "Shape",
    "State",
]
