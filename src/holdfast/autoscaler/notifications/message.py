"""One message: for people as text, for programs as JSON."""

import hashlib
from dataclasses import dataclass
from typing import Any

from holdfast.autoscaler.notifications.causes import Cause
from holdfast.autoscaler.notifications.record import Notification, Stage
from holdfast.cloud.text import lasting, plain

SUBJECT_MAX = 100
"""The longest subject that SNS takes."""


@dataclass(frozen=True, slots=True)
class Message:
    cluster: str
    cause: Cause
    about: str
    why: str
    stage: Stage
    since_s: int
    over_s: int = 0

    @classmethod
    def of(cls, each: Notification, stage: Stage, cluster: str) -> "Message":
        over_s = each.over_s if stage is Stage.OVER else 0
        return cls(cluster, each.cause, each.about, each.why, stage, each.since_s, over_s)

    @property
    def id(self) -> str:
        """The same however often it is tried, and of no other message."""
        text = "\n".join((self.cluster, self.cause, self.about, self.stage, str(self.since_s)))
        return f"msg_{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    @property
    def title(self) -> str:
        return plain(f"{self.cause.heading}: {self.about} ({self.cluster})")

    @property
    def subject(self) -> str:
        """One line of ASCII, as SNS wants it."""
        over = "Over: " if self.stage is Stage.OVER else ""
        line = " ".join(f"{over}{self.title}".split())
        return line.encode("ascii", "replace").decode()[:SUBJECT_MAX]

    @property
    def text(self) -> str:
        if self.stage is Stage.OVER:
            return (
                f"Over after {lasting(self.over_s - self.since_s)}: {self.title}. It was: {plain(self.why)}"
            )
        return f"{self.title}: {plain(self.why)}"

    def as_json(self) -> dict[str, Any]:
        """What programs read.  Times are seconds since the epoch."""
        return {
            "id": self.id,
            "cluster": self.cluster,
            "cause": self.cause.value,
            "about": plain(self.about),
            "why": plain(self.why),
            "stage": self.stage.value,
            "since": self.since_s,
            "over": self.over_s or None,
            "text": self.text,
        }


def trial(cluster: str, now_s: int) -> Message:
    """What an operator sends to see whether it arrives."""
    why = "an operator tries the notifications; nothing is wrong"
    return Message(cluster, Cause.TEST, "notifications", why, Stage.BEGUN, now_s)
