"""The Kubernetes API by urllib3 and msgspec: lists, cordons, evictions, and their permissions.

Here belong the way to an API server (`client`, `connection`), signing in to it (`auth`), its calls
and answers (`api`, `calls`, `lists`, `writes`, `errors`, `permissions`), and the load of nodes
(`metrics`, which implements a port of the autoscaler) and the number of workers that an owner wants
(`expected_workers`, which implements one of the leases).  What to cordon or to evict, and when to ask
again, is decided elsewhere: nothing here waits.
"""

from holdfast.adapters.kubernetes.api import KubernetesApi, connect
from holdfast.adapters.kubernetes.auth.cluster_access import ClusterAccess
from holdfast.adapters.kubernetes.calls import CALLS, Call
from holdfast.adapters.kubernetes.errors import Denied

__all__ = [
    "CALLS",
    "Call",
    "ClusterAccess",
    "Denied",
    "KubernetesApi",
    "connect",
]
