"""The instances and how their states change.

Rule 1: moto says what a call asked for (it terminates, stops and starts at once); the
        fleet compares that with the state it keeps and lets the change take its time.
Rule 2: every change of state is logged and told to the bus, in order, under the lock.
"""

import base64
import random
import time
from collections.abc import Iterable
from typing import Any

from tools.parts.ec2.api.moto_app import ACCOUNT, Moto, write_reason, write_state
from tools.parts.ec2.api.wire import show_states
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ec2.events import INTERRUPTION, REBALANCE, STATE_CHANGE, Bus
from tools.parts.ec2.log import Log, stamp
from tools.parts.ec2.machines.instance import ALIVE, GONE, Moment, Tracked
from tools.parts.ec2.machines.timers import Timers
from tools.parts.imds.book import Book
from tools.parts.imds.metadata import Metadata

USER_ASKED = ("Client.UserInitiatedShutdown", "User initiated shutdown")
RECLAIMED = ("Server.SpotInstanceTermination", "Spot instance termination")
FAILED = ("Server.InternalError", "Internal error on the host")


class Fleet:
    def __init__(
        self, moto: Moto, log: Log, bus: Bus, timers: Timers, book: Book, behaviour: Behaviour, seed: int
    ) -> None:
        self._moto, self._log, self._bus = moto, log, bus
        self._timers, self._book, self._behaviour = timers, book, behaviour
        self._random = random.Random(seed)
        self.instances: dict[str, Tracked] = {}

    def reconcile(self, region: str) -> list[Tracked]:
        """Take over what the last call changed in moto; returns the instances that are new."""
        found = list(self._moto.instances(region))
        new = [self._adopt(region, instance) for instance in found if instance.id not in self.instances]
        for instance in found:
            self._follow(self.instances[instance.id])
        return new

    def show(self, body: bytes) -> bytes:
        """An answer of moto's with our states in it."""
        every = self.instances.values()
        requests = {one.id: one.spot_request for one in every if one.spot_request}
        return show_states(body, {one.id: one.state for one in every}, requests)

    def all_terminated(self, instance_ids: Iterable[str]) -> bool:
        return all(self.instances[instance_id].state == "terminated" for instance_id in instance_ids)

    def assume_role(self, launched: list[Tracked]) -> None:
        """Lend every instance of a launch the role of its instance profile."""
        if launched:
            role = self._moto.role_of(launched[0].region, [tracked.id for tracked in launched])
            for tracked in launched:
                tracked.role = role
                self._describe(tracked)

    def interrupt(self, tracked: Tracked, in_s: float, action: str) -> str:
        """Give the spot notice now; carry it out when it says.  Returns the time it says."""
        now_s = time.time()
        at = stamp(now_s + in_s)
        tracked.marked_at = stamp(now_s)
        self._book.interrupt(tracked.id, action, at)
        self._log.add("interruption", instance=tracked.id, action=action, time=at)
        detail = {"instance-id": tracked.id, "instance-action": action}
        self._bus.tell(INTERRUPTION, tracked.region, detail, now_s)
        self._timers.after(in_s, lambda: self._reclaim(tracked, action))
        return at

    def rebalance(self, tracked: Tracked) -> str:
        now_s = time.time()
        at = stamp(now_s)
        self._book.rebalance(tracked.id, at)
        self._log.add("rebalance", instance=tracked.id, time=at)
        self._bus.tell(REBALANCE, tracked.region, {"instance-id": tracked.id}, now_s)
        return at

    def fail(self, tracked: Tracked) -> None:
        """Take an instance away without a word of warning."""
        if tracked.state in ALIVE:
            self._end(tracked, FAILED)

    def _reclaim(self, tracked: Tracked, action: str) -> None:
        if tracked.state not in ("pending", "running"):
            return
        if action == "terminate":
            self._end(tracked, RECLAIMED)
        else:
            self._pause(tracked)

    def _adopt(self, region: str, instance: Any) -> Tracked:
        market = "spot" if instance.lifecycle == "spot" else "on-demand"
        tracked = self.instances[instance.id] = Tracked(region, instance, market)
        if market == "spot":
            # moto writes an attribute of this name into every listing.
            instance.spot_instance_request_id = f"sir-{instance.id[-8:]}"
        self._describe(tracked)
        self._move(tracked, "pending")
        self._start(tracked)
        return tracked

    def _follow(self, tracked: Tracked) -> None:
        asked, is_now = tracked.moto.state, tracked.state
        if asked == "terminated" and is_now in ALIVE:
            self._end(tracked, USER_ASKED)
        elif asked == "stopped" and is_now in ("pending", "running"):
            self._pause(tracked)
        elif asked == "running" and is_now in ("stopping", "stopped"):
            self._move(tracked, "pending")
            self._start(tracked)
        elif asked != is_now:
            write_state(tracked.moto, is_now)
        tags = self._moto.tags(tracked.region, tracked.id)
        if tags != tracked.past[-1].tags and is_now not in GONE:
            tracked.past.append(Moment(time.time(), tracked.state, tags))
            self._describe(tracked)

    def _start(self, tracked: Tracked) -> None:
        self._later(self._behaviour.boot_delay_s, tracked, "pending", "running")

    def _pause(self, tracked: Tracked) -> None:
        self._move(tracked, "stopping")
        self._later(self._behaviour.shutdown_delay_s, tracked, "stopping", "stopped")

    def _end(self, tracked: Tracked, reason: tuple[str, str]) -> None:
        self._move(tracked, "shutting-down", reason)
        self._later(self._behaviour.shutdown_delay_s, tracked, "shutting-down", "terminated")

    def _later(self, delay_s: tuple[float, float], tracked: Tracked, expected: str, then: str) -> None:
        def act() -> None:
            if tracked.state == expected:
                self._move(tracked, then)

        self._timers.after(self._random.uniform(*delay_s), act)

    def _move(self, tracked: Tracked, state: str, reason: tuple[str, str] | None = None) -> None:
        now_s = time.time()
        before = tracked.state if tracked.past else None
        tracked.past.append(Moment(now_s, state, self._moto.tags(tracked.region, tracked.id)))
        write_state(tracked.moto, state)
        if reason:
            write_reason(tracked.moto, *reason)
        if state == "terminated":
            self._book.remove(tracked.id)
        self._log.add("state", instance=tracked.id, before=before, state=state, reason=reason and reason[0])
        self._bus.tell(STATE_CHANGE, tracked.region, {"instance-id": tracked.id, "state": state}, now_s)

    def _describe(self, tracked: Tracked) -> None:
        """Tell the metadata service what the instance looks like now."""
        known, instance = self._book.get(tracked.id), tracked.moto
        options = instance.metadata_options
        shows_tags = options.instance_metadata_tags == "enabled"
        self._book.put(
            Metadata(
                instance_id=tracked.id,
                instance_type=instance.instance_type,
                zone=tracked.zone,
                life_cycle=tracked.market,
                local_ipv4=instance.private_ip,
                image_id=instance.image_id,
                account=ACCOUNT,
                tags=self._moto.tags(tracked.region, tracked.id) if shows_tags else {},
                user_data=user_data(instance),
                role=tracked.role,
                enabled=options.http_endpoint != "disabled",
                token_required=options.http_tokens != "optional",
                instance_action=known.instance_action if known else None,
                rebalance_at=known.rebalance_at if known else None,
            )
        )


def user_data(instance: Any) -> bytes | None:
    return base64.b64decode(str(instance.user_data)) if instance.user_data else None
