"""A started EC2 stand-in as a test holds it: what to change, what to ask."""

import json
import time
from collections.abc import Mapping
from typing import Any

from tools.parts.imds.client import ask

REGION = "us-east-1"


class Ec2Control:
    """The control endpoints, typed."""

    def __init__(self, endpoint: str, region: str = REGION) -> None:
        self.endpoint, self.region = endpoint, region

    def client_arguments(self) -> dict[str, str]:
        """Keyword arguments that point any AWS client of Python at the stand-in."""
        return {
            "endpoint_url": self.endpoint,
            "region_name": self.region,
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "testing",
        }

    def images(self) -> dict[str, str]:
        """An image id for each architecture (`x86_64`, `arm64`)."""
        return dict(self._get(f"setup/{self.region}")["images"])

    def subnets(self) -> dict[str, str]:
        """The default subnet of each zone."""
        return dict(self._get(f"setup/{self.region}")["subnets"])

    def imds(self, instance_id: str) -> str:
        """Where this instance's metadata service answers."""
        return str(self._get(f"setup/{self.region}")["imds"]) + f"/{instance_id}"

    def log(self, after: int = 0, *, wait_s: float = 0) -> list[dict[str, Any]]:
        """What was done, in order; see docs/parts/ec2.md for the kinds of entries."""
        return list(self._get(f"log?after={after}&wait_s={wait_s}")["entries"])

    def events(self, after: int = 0, *, wait_s: float = 0) -> list[dict[str, Any]]:
        """EventBridge events, in order, without the first `after`."""
        return list(self._get(f"events?after={after}&wait_s={wait_s}")["events"])

    def instance(self, instance_id: str) -> dict[str, Any]:
        return dict(self._get(f"instances/{instance_id}"))

    def wait_for_state(self, instance_id: str, state: str, *, timeout_s: float = 500) -> dict[str, Any]:
        """The instance, once it is in that state."""
        found: dict[str, Any] = self._get(f"instances/{instance_id}/wait?state={state}&wait_s={timeout_s}")
        if found["state"] != state:
            raise TimeoutError(f"{instance_id} is {found['state']}, not {state}, after {timeout_s} s")
        return found

    def behave(self, **changed: Any) -> None:
        """Change fields of `Behaviour`: delays, lag, forgetting, dead tokens."""
        self._post("behaviour", changed)

    def reset(self) -> None:
        """Behaviour, rates, capacity, prices and faults as at the start; instances and the log stay."""
        self._post("reset", {})

    def set_lag(self, lag_s: float) -> None:
        """Listings show the world as it was so long ago."""
        self.behave(lag_s=lag_s)

    def freeze_listings(self) -> None:
        """Listings show the world as it is now, whatever happens, until they are thawed."""
        self.behave(listings_as_of_s=time.time())

    def thaw_listings(self) -> None:
        self.behave(listings_as_of_s=None)

    def set_capacity(
        self,
        count: int | None,
        *,
        instance_type: str | None = None,
        zone: str | None = None,
        market: str | None = None,
        code: str = "InsufficientInstanceCapacity",
    ) -> None:
        """So many more from this pool, then `code`; None lifts the limit."""
        pool = {"instance_type": instance_type, "zone": zone, "market": market}
        self._post("capacity", {"count": count, "code": code, **pool})

    def set_price(self, instance_type: str, zone: str, usd_per_h: str, *, at_s: float | None = None) -> None:
        """The spot price of a pool from now (or `at_s`) on, for DescribeSpotPriceHistory."""
        price = {"instance_type": instance_type, "zone": zone, "usd_per_h": usd_per_h}
        self._post("prices", {**price, "region": self.region, "at_s": at_s or time.time()})

    def set_rates(self, enabled: bool, limits: Mapping[str, tuple[float, float]] | None = None) -> None:
        """Switch the real API's rates on or off; `limits` replaces burst and refill of single actions."""
        self._post("rates", {"enabled": enabled, "limits": dict(limits or {})})

    def fail_next(
        self,
        action: str,
        *,
        code: str = "InternalError",
        status: int = 500,
        when: str = "before",
        times: int = 1,
    ) -> None:
        """The next calls of an action are refused `before`, or done and answered with the error
        (`after`), or done and cut off (`lost`)."""
        fault = {"action": action, "code": code, "status": status, "when": when, "times": times}
        self._post("faults", fault)

    def interrupt(self, instance_id: str, *, in_s: float = 120, action: str = "terminate") -> str:
        """Give the spot notice now, to be carried out in so many seconds; returns the time it names."""
        return str(self._post(f"instances/{instance_id}/interrupt", {"in_s": in_s, "action": action})["time"])

    def rebalance(self, instance_id: str) -> str:
        """Recommend a rebalance now; returns the time of the notice."""
        return str(self._post(f"instances/{instance_id}/rebalance", {})["time"])

    def fail(self, instance_id: str) -> None:
        """Take an instance away without warning."""
        self._post(f"instances/{instance_id}/fail", {})

    def deliver_to(self, queue_url: str, endpoint: str | None = None) -> None:
        """Send every event from now on to this SQS queue (of the stand-in itself, unless told where)."""
        self._post("queue", {"url": queue_url, "endpoint": endpoint, "region": self.region})

    def _get(self, path: str) -> Any:
        return ask("GET", f"{self.endpoint}/_control/{path}")

    def _post(self, path: str, wanted: dict[str, Any]) -> Any:
        return ask("POST", f"{self.endpoint}/_control/{path}", json.dumps(wanted).encode())
