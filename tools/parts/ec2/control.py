"""What a test may ask and change while the stand-in runs: JSON under `/_control/`."""

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from tools.parts.ec2.api.errors import Unreasonable
from tools.parts.ec2.api.faults import Fault
from tools.parts.ec2.api.wire import Answer
from tools.parts.ec2.machines.capacity import Pool
from tools.parts.ec2.machines.fleet import user_data
from tools.parts.ec2.machines.instance import Tracked
from tools.parts.ec2.machines.prices import Price
from tools.parts.ec2.machines.world import World

JSON = [("Content-Type", "application/json")]
Query = Mapping[str, list[str]]


class Control:
    def __init__(self, world: World, imds_url: str, own_url: str) -> None:
        self.world, self.imds_url, self.own_url = world, imds_url, own_url
        self._changes: dict[str, Callable[[dict[str, Any]], Any]] = {
            "behaviour": world.behaviour.change,
            "capacity": self._capacity,
            "faults": self._fault,
            "prices": lambda wanted: world.prices.set(Price(**wanted)),
            "queue": self._queue,
            "rates": self._rates,
            "reset": self._reset,
        }
        self._at_start = asdict(world.behaviour), world.rates.enabled

    def answer(self, method: str, path: str, query: str, body: bytes) -> Answer:
        try:
            found = self._route(method, path.removeprefix("/_control/").split("/"), parse_qs(query), body)
        except (Unreasonable, KeyError, TypeError, ValueError) as error:
            return Answer(400, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode(), JSON)
        return Answer(200, json.dumps(found).encode(), JSON)

    def _route(self, method: str, path: list[str], query: Query, body: bytes) -> Any:
        match method, path:
            case "GET", ["health"]:
                return {"ready": True}
            case "GET", ["log"]:
                return {"entries": self.world.log.after(*_cursor(query))}
            case "GET", ["events"]:
                return {"events": self.world.bus.after(*_cursor(query))}
            case "GET", ["setup", region]:
                with self.world.lock:
                    return self._setup(region)
            case "GET", ["instances", instance_id, "wait"]:
                return self._wait(instance_id, query["state"][0], _cursor(query)[1])
            case _, ["instances", instance_id, *verb]:
                with self.world.lock:
                    return self._instance(self._tracked(instance_id), method, "/".join(verb), body)
            case "POST", [name] if name in self._changes:
                with self.world.lock:
                    return self._changes[name](json.loads(body)) or {}
        raise Unreasonable(f"nothing at {method} /_control/{'/'.join(path)}")

    def _setup(self, region: str) -> dict[str, Any]:
        """What a first launch needs to know."""
        moto = self.world.moto
        return {"images": moto.images(region), "subnets": moto.default_subnets(region), "imds": self.imds_url}

    def _tracked(self, instance_id: str) -> Tracked:
        found = self.world.fleet.instances.get(instance_id)
        if found is None:
            raise Unreasonable(f"no such instance: {instance_id}")
        return found

    def _wait(self, instance_id: str, state: str, wait_s: float) -> dict[str, Any]:
        """The instance once it is in that state, or as it is when the time is over."""
        until_s = time.monotonic() + wait_s
        while True:
            read = len(self.world.log)
            with self.world.lock:
                facts = self._facts(self._tracked(instance_id))
            left_s = until_s - time.monotonic()
            if facts["state"] == state or left_s <= 0:
                return facts
            self.world.log.after(read, left_s)

    def _instance(self, tracked: Tracked, method: str, verb: str, body: bytes) -> Any:
        match method, verb:
            case "GET", "":
                return self._facts(tracked)
            case "PUT", "console":
                tracked.console = body.decode(errors="replace")
                return {}
            case "POST", "interrupt":
                return self._interrupt(tracked, json.loads(body))
            case "POST", "rebalance":
                _must_be_living_spot(tracked)
                return {"time": self.world.fleet.rebalance(tracked)}
            case "POST", "fail":
                self.world.fleet.fail(tracked)
                return {}
        raise Unreasonable(f"an instance has no {method} {verb}; there are interrupt, rebalance, fail")

    def _facts(self, tracked: Tracked) -> dict[str, Any]:
        instance, script = tracked.moto, user_data(tracked.moto)
        return {
            "id": tracked.id,
            "state": tracked.state,
            "region": tracked.region,
            "zone": tracked.zone,
            "market": tracked.market,
            "instance_type": instance.instance_type,
            "private_ip": instance.private_ip,
            "hostname": instance.private_dns_name,
            "token": instance.client_token,
            "tags": self.world.moto.tags(tracked.region, tracked.id),
            "user_data": base64.b64encode(script).decode() if script is not None else None,
            "imds": f"{self.imds_url}/{tracked.id}",
            **self.world.moto.hardware(instance.instance_type),
        }

    def _interrupt(self, tracked: Tracked, wanted: dict[str, Any]) -> dict[str, str]:
        _must_be_living_spot(tracked)
        action = wanted.get("action", "terminate")
        if action not in ("terminate", "stop", "hibernate"):
            raise Unreasonable(f"a spot instance is terminated, stopped or hibernated, not: {action}")
        return {"time": self.world.fleet.interrupt(tracked, float(wanted.get("in_s", 120)), action)}

    def _capacity(self, wanted: dict[str, Any]) -> None:
        pool = Pool(wanted.get("instance_type"), wanted.get("zone"), wanted.get("market"))
        if pool.market not in (None, "spot", "on-demand"):
            raise Unreasonable(f"a market is spot or on-demand, not: {pool.market}")
        code = wanted.get("code", "InsufficientInstanceCapacity")
        self.world.capacity.limit(pool, wanted["count"], code)

    def _fault(self, wanted: dict[str, Any]) -> None:
        fault = Fault(**wanted)
        if fault.when not in ("before", "after", "lost"):
            raise Unreasonable(f"a fault strikes before, after or lost, not: {fault.when}")
        self.world.faults.add(fault)

    def _reset(self, _: dict[str, Any]) -> None:
        """As it was started, but for what exists and what has happened."""
        behaviour, rates_enabled = self._at_start
        self.world.behaviour.change(behaviour)
        self.world.rates.change(rates_enabled, {})
        self.world.capacity.clear()
        self.world.faults.clear()
        self.world.prices.clear()

    def _rates(self, wanted: dict[str, Any]) -> None:
        limits = {key: (float(burst), float(per_s)) for key, (burst, per_s) in wanted["limits"].items()}
        self.world.rates.change(bool(wanted["enabled"]), limits)

    def _queue(self, wanted: dict[str, Any]) -> None:
        endpoint = wanted.get("endpoint") or self.own_url
        self.world.delivery.send_to(wanted["url"], endpoint, wanted["region"])


def _cursor(query: Query) -> tuple[int, float]:
    return int(query.get("after", ["0"])[0]), min(float(query.get("wait_s", ["0"])[0]), 600.0)


def _must_be_living_spot(tracked: Tracked) -> None:
    if tracked.market != "spot":
        raise Unreasonable(f"{tracked.id} is {tracked.market}: only spot instances get notices")
    if tracked.state not in ("pending", "running"):
        raise Unreasonable(f"{tracked.id} is {tracked.state}: it gets no notices any more")
