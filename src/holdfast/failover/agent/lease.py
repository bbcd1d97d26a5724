"""The arithmetic of a lease, on a clock that runs during suspend.

Rule 1: a lease is counted from the moment its heartbeat was *sent*.  The database counts
        from the moment it stored that heartbeat, which is later, so it ends here first.
Rule 2: a lease is of one epoch, and no lease of another epoch counts.
Rule 3: an answer that comes late shortens nothing: the longest grant counts.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    epoch: int = 0
    until_s: float = 0.0

    def granted(self, epoch: int, sent_s: float, lease_s: float) -> "Lease":
        """After a grant of this epoch, whose heartbeat was sent at `sent_s`."""
        until_s = sent_s + lease_s
        if epoch == self.epoch:
            return Lease(epoch, max(self.until_s, until_s))
        return Lease(epoch, until_s) if epoch > self.epoch else self

    def left_s(self, epoch: int, now_s: float) -> float:
        """How long serving under this epoch is allowed from now; 0 if it is not."""
        return max(0.0, self.until_s - now_s) if epoch == self.epoch else 0.0

    def runs(self, epoch: int, now_s: float) -> bool:
        return self.left_s(epoch, now_s) > 0


class Refused(ValueError):
    """These times do not fit together."""


def timeout_s(heartbeat_s: float, term_s: float, wanted_s: float = 3.0) -> float:
    """How long a heartbeat waits for its answer, so that two may be lost within one lease.

    Raises Refused if `heartbeat_s + 2 * timeout` cannot be within the lease.
    """
    longest_s = (term_s - heartbeat_s) / 2
    if longest_s < 0.2:
        raise Refused(
            f"a heartbeat every {heartbeat_s:g} s leaves no time for two lost ones in one of {term_s:g} s: "
            "lengthen the lease on the server, or shorten the heartbeat"
        )
    return min(wanted_s, longest_s)
