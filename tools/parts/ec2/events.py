"""What EventBridge would be told, in its own JSON."""

import uuid
from collections.abc import Callable
from typing import Any

from tools.parts.ec2.log import Log, stamp

STATE_CHANGE = "EC2 Instance State-change Notification"
INTERRUPTION = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"


def event(kind: str, account: str, region: str, detail: dict[str, str], at_s: float) -> dict[str, Any]:
    arn = f"arn:aws:ec2:{region}:{account}:instance/{detail['instance-id']}"
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": "aws.ec2",
        "account": account,
        "time": stamp(at_s),
        "region": region,
        "resources": [arn],
        "detail": detail,
    }


class Bus:
    """Keeps every event to be fetched, and hands each to the listeners."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._kept = Log()
        self._listeners: list[Callable[[dict[str, Any]], None]] = []

    def listen(self, listener: Callable[[dict[str, Any]], None]) -> None:
        self._listeners.append(listener)

    def tell(self, kind: str, region: str, detail: dict[str, str], at_s: float) -> None:
        told = event(kind, self._account, region, detail, at_s)
        self._kept.add("event", event=told)
        for listener in self._listeners:
            listener(told)

    def after(self, n: int, wait_s: float) -> list[dict[str, Any]]:
        return [entry["event"] for entry in self._kept.after(n, wait_s)]
