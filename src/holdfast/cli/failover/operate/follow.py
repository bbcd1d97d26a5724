"""Following a change of roles to its end: what is waited for is told while it happens."""

import time
from collections.abc import Callable
from typing import Any

from holdfast.cli.failover.api import Api
from holdfast.cli.session import say
from holdfast.failover.api.operations import AGENT, HISTORY
from holdfast.kernel import Unknown

ASK_EVERY_S = 0.3


def follow(api: Api, agent_id: str, since_version: int, for_s: float, tell: Callable[[str], None]) -> Any:
    """The group once nothing is under way any more, or as it stands when the time is over.

    A server that does not answer for a moment is asked again: the change goes on without it.
    """
    end_s, seen = time.monotonic() + for_s, since_version
    while True:
        try:
            group = api.call(AGENT, agent_id=agent_id)
            for event in api.call(HISTORY, agent_id=agent_id, after=seen):
                tell(event["told"] + (f": {event['reason']}" if event["reason"] else ""))
                seen = max(seen, event["version"])
            if group["version"] > since_version and group["settled"]:
                return group
        except Unknown as error:
            tell(str(error))
            group = {"settled": False, "primary": None}
        if time.monotonic() >= end_s:
            return group
        time.sleep(ASK_EVERY_S)


def say_step(line: str) -> None:
    say(f"  {line}", err=True)


def quiet(line: str) -> None:
    """For JSON: progress is left out."""
