"""The Kubernetes API by urllib3 and msgspec: lists, cordons, evictions, and who may do them.

Here belong the way to an API server, signing in to it, and what its answers mean.  What to
cordon or to evict, and when to ask again, is decided elsewhere: nothing here waits.
"""

from holdfast.adapters.kubernetes.api import KubernetesApi, connect
from holdfast.adapters.kubernetes.calls import CALLS, Call
from holdfast.adapters.kubernetes.meaning import Denied
from holdfast.adapters.kubernetes.metrics_server import MetricsServer
from holdfast.adapters.kubernetes.permissions import Permission, can_i
from holdfast.adapters.kubernetes.requests_only import RequestsOnly, load_by_requests

__all__ = [
    "CALLS",
    "Call",
    "Denied",
    "KubernetesApi",
    "MetricsServer",
    "Permission",
    "RequestsOnly",
    "can_i",
    "connect",
    "load_by_requests",
]
