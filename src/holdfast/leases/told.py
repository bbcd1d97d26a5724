"""What a KCL is told, which is more than what is agreed.

A KCL counts every lease row against its cap, so rows of ended parents would fill a cap of exactly
ceil(shards / workers), and their children would stay unread.  Headroom is for workers that may be missing.
"""

from holdfast.leases.cap import View


def told_leases(agreed: View, *, lease_rows: int, headroom_workers: int) -> int:
    """`min(limit, ceil(max(shards, rows) / max(1, workers - headroom)))`; never below the agreed cap."""
    leases = max(agreed.shards, lease_rows)
    workers = max(1, agreed.workers - headroom_workers)
    return min(agreed.limit, -(-leases // workers))
