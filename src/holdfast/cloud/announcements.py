"""What is told of a pod or a node where people look first: in the Events of the object itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Announcement:
    """One Kubernetes Event to be.  Nothing ever depends on one."""

    kind: str
    """`Pod` or `Node`."""
    name: str
    uid: str
    reason: str
    """One word, as `kubectl describe` shows it."""
    message: str
    namespace: str = ""
    """Of a pod."""
    warning: bool = False


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod for which the scheduler finds no node."""

    namespace: str
    name: str
    uid: str
    helped: bool
    """A new worker would take it."""
    why: str = ""
    """Why none would."""
