"""How busy the nodes of a cluster are, as the Kubernetes API tells it: the autoscaler's `Metrics` port.

Here belong sources of load that need nothing but the API server: metrics-server, and the requests
of the pods.  Prometheus has a package of its own, and what follows from a load is decided elsewhere.
"""

from holdfast.adapters.kubernetes.metrics.metrics_server import MetricsServer
from holdfast.adapters.kubernetes.metrics.requests_only import RequestsOnly, load_by_requests

__all__ = ["MetricsServer", "RequestsOnly", "load_by_requests"]
