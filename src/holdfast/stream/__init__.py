"""Stream workers: the agreed cap on leases, at the start of a worker and live.

Here belong the long-running shells of the leases: what a worker's own process calls.  They stand above the
adapters and above `app`, which makes their ports.  What is decided is decided in `holdfast.leases`.

    from holdfast.stream import LiveCap, initialize_max_leases_per_worker
"""

from holdfast.stream.live import LiveCap
from holdfast.stream.start import initialize_max_leases_per_worker

__all__ = ["LiveCap", "initialize_max_leases_per_worker"]
