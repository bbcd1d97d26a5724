"""The lock: advisory, never for safety.

It keeps two invocations from doing the same work at once.  When it expires, another may
*resume the same action*, never begin a second one over it.  Nothing breaks if two hold
it, or none does: the tests of every interleaving run without it.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Lock:
    """Stored as `lockOwner` and `lockUntilEpoch`."""

    owner: str
    until_s: float


FREE: Final = Lock("", 0.0)
