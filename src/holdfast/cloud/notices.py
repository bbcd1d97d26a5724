"""What the cloud says of a machine that will leave, or has left."""

from dataclasses import dataclass
from enum import StrEnum


class NoticeKind(StrEnum):
    REPLACE = "replace"
    """No notice of the cloud: we replace it by our own choice."""
    NOT_READY = "not-ready"
    """No notice of the cloud: its node is not ready for too long, and we take it back ourselves."""
    INTERRUPTION = "interruption"
    """It will be taken back at the deadline."""
    REBALANCE = "rebalance"
    """A hint that it may be taken back before long."""
    GONE = "gone"
    """It is shutting down or worse, for whatever reason."""

    @property
    def is_certain(self) -> bool:
        """Whether the machine goes whatever we do.  It stays after a mere hint, or if our choice cannot be
        carried out."""
        return self not in (NoticeKind.REBALANCE, NoticeKind.REPLACE)


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """The cloud says that a machine will leave, or has left."""

    instance_id: str
    kind: NoticeKind
    at_s: int
    deadline_s: int = 0

    @property
    def key(self) -> str:
        """The same for every copy of one notice, however it arrives."""
        return f"{self.instance_id}#{self.kind}"
