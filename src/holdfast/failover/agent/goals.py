"""All that an agent may be asked, one row each.

Rule 1: a goal of an older epoch than the highest that was heard of is not obeyed.
Rule 2: only a goal that serves allows serving, and only under a lease of its own epoch.
Rule 3: each goal is fulfilled by one hook, whose outcome is reported under `says`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Do(StrEnum):
    FOLLOW = "follow"
    PROMOTE = "promote"
    SERVE = "serve"
    DEMOTE = "demote"
    STOP = "stop"


class Hook(StrEnum):
    """The programs that the user writes, by the names of their files."""

    ON_PROMOTE = "on-promote"
    ON_DEMOTE = "on-demote"
    ON_FOLLOW = "on-follow"
    HEALTH = "health"
    SYNC_STATUS = "sync-status"


CHANGING: Final = frozenset({Hook.ON_PROMOTE, Hook.ON_DEMOTE, Hook.ON_FOLLOW})
"""At most one of these runs at a time; the others only look, and run beside them."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """What an agent does about one kind of goal."""

    hook: Hook
    says: Do
    """Under which goal the hook's outcome is reported."""
    serves: bool = False
    retries: bool = False
    """A hook that failed is tried again, because no other instance would be asked instead."""


CONDUCT: Final[Mapping[Do, Conduct]] = {
    Do.FOLLOW: Conduct(Hook.ON_FOLLOW, says=Do.FOLLOW, retries=True),
    Do.PROMOTE: Conduct(Hook.ON_PROMOTE, says=Do.PROMOTE, serves=True),
    Do.SERVE: Conduct(Hook.ON_PROMOTE, says=Do.PROMOTE, serves=True, retries=True),
    Do.DEMOTE: Conduct(Hook.ON_DEMOTE, says=Do.DEMOTE),
    Do.STOP: Conduct(Hook.ON_DEMOTE, says=Do.DEMOTE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the server wants of this instance."""

    version: int
    """Of the group: the agent waits for a greater one."""
    epoch: int
    do: Do
    primary: str = ""
    """The instance that is primary, or becomes it."""
    address: str = ""
    """Where the primary serves."""
    deadline_in_s: float | None = None

    @property
    def conduct(self) -> Conduct:
        return CONDUCT[self.do]

    @property
    def followed(self) -> tuple[int, str, str]:
        """A standby follows anew when one of these changes."""
        return self.epoch, self.primary, self.address
