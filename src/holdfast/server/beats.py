"""Heartbeats and goals: the two operations that run on the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import WAIT_MAX_S
from holdfast.failover.goals import goal_of
from holdfast.failover.group import Group, subject_of
from holdfast.failover.ports import Beat, Grant, Report
from holdfast.kernel import Busy, Unknown, Versioned
from holdfast.server.calls import Call
from holdfast.server.desk.agents import goal_view, own_instance, stale_session
from holdfast.server.figures.metrics import Figures
from holdfast.server.groups import Groups
from holdfast.server.heartbeats import Heartbeats
from holdfast.server.waiting import Changes

STOPPED: Final = {"do": "stop", "version": 0, "epoch": 0, "primary": None, "deadline_in_s": None}

Read = Callable[[str], Awaitable[Versioned[Group]]]
"""Reads a group on a thread of the pool."""


class Beats:
    def __init__(
        self,
        *,
        heartbeats: Heartbeats,
        changes: Changes,
        groups: Groups,
        read: Read,
        figures: Figures,
        now_s: Callable[[], float],
        withheld: Callable[[], str],
    ) -> None:
        """`withheld`: why no lease is granted at all at present; empty if leases are."""
        self._heartbeats, self._changes, self._groups = heartbeats, changes, groups
        self._read, self._figures, self._now_s, self._withheld = read, figures, now_s, withheld

    async def heartbeat(self, call: Call) -> object:
        own_instance(call)
        body: wire.Heartbeat = call.body
        beat = Beat(
            call.client_id,
            call.path["agent_id"],
            body.instance_id,
            body.session,
            body.epoch,
            Report(**{name: getattr(body.report, name) for name in body.report.__struct_fields__}),
        )
        withheld = self._withheld()
        if withheld:
            # What it reports is stored all the same: after `recover` it says which epoch the agents know.
            beat = replace(beat, withheld=True)
        try:
            grant = await self._heartbeats.beat(beat)
        except (Busy, Unknown):
            self._figures.count("agent_heartbeats", "unavailable")
            raise
        if not grant.known:
            self._figures.count("agent_heartbeats", "disabled")
            return {
                "epoch": 0,
                "primary": False,
                "lease_s": 0.0,
                "goal": STOPPED,
                "config": {"enabled": False},
            }
        if not grant.session_ok:
            self._figures.count("agent_heartbeats", "stale")
            raise stale_session(body.instance_id)
        if withheld:
            self._figures.count("agent_heartbeats", "withheld")
            raise Refusal(Code.RECOVERING, withheld)
        self._figures.count("agent_heartbeats", "granted" if grant.lease_s else "heard")
        return await self._answer(subject_of(call.client_id, beat.agent_id), grant)

    async def _answer(self, subject: str, grant: Grant) -> dict[str, Any]:
        found = self._groups.kept(subject, grant.goal_version) or await self._read(subject)
        goal = goal_of(found.value, grant.instance_id, found.version, self._now_s())
        return {
            "epoch": grant.epoch,
            "primary": grant.primary,
            "lease_s": grant.lease_s,
            "goal": goal_view(goal),
            "message": _message(found.value),
            "config": {"enabled": goal.enabled, "serve_reads": found.value.settings.reads_served},
        }

    async def goal(self, call: Call) -> object:
        """At once if the agent does not know the newest one, else when there is a newer one or time is up."""
        own_instance(call)
        subject = subject_of(call.client_id, call.path["agent_id"])
        wait_s = min(call.query["wait"], WAIT_MAX_S)
        changed = asyncio.ensure_future(self._changes.wait(subject, wait_s)) if wait_s else None
        try:
            await asyncio.sleep(0)  # it waits from before the group is read: no change is missed
            found = await self._read(subject)
            if changed is not None and found.version <= call.query["version"] and await changed:
                found = await self._read(subject)
        finally:
            if changed is not None:
                changed.cancel()
        goal = goal_of(found.value, call.query["instance_id"], found.version, self._now_s())
        return {"goal": goal_view(goal)}


def _message(group: Group) -> str:
    """For the agent's log: what became of the notice that it sent."""
    if group.takeover is not None:
        return f"takeover: {group.takeover.reason}"
    return f"{group.primary} is primary" if group.primary else "no primary"
