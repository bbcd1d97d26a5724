"""A Prometheus server, asked over its HTTP API.

Here belong the questions in PromQL and what their answers say of load and readiness.  Which source
is asked, and what follows from an answer, is decided elsewhere.
"""

from holdfast.adapters.prometheus.client import Prometheus

__all__ = ["Prometheus"]
