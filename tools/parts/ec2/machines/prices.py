"""Spot prices that a test sets; moto's own history is one constant."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from xml.sax.saxutils import escape

from tools.parts.ec2.api.errors import AwsError
from tools.parts.ec2.api.wire import NAMESPACE, Answer, Call
from tools.parts.ec2.log import stamp

PRODUCT = "Linux/UNIX"
PAGE = 1000


@dataclass(frozen=True)
class Price:
    """What an hour cost from `at_s` on."""

    region: str
    instance_type: str
    zone: str
    usd_per_h: str
    at_s: float


@dataclass
class Prices:
    _known: list[Price] = field(default_factory=list)

    def set(self, price: Price) -> None:
        self._known.append(price)

    def clear(self) -> None:
        self._known.clear()

    def has(self, region: str) -> bool:
        return any(price.region == region for price in self._known)

    def history(self, call: Call) -> Answer:
        """Answer DescribeSpotPriceHistory from what was set."""
        filters = _filters(call.form)
        types = _listed(call.form, "InstanceType") or filters.get("instance-type", [])
        zones = [z for z in (call.form.get("AvailabilityZone"),) if z] or filters.get("availability-zone", [])
        products = _listed(call.form, "ProductDescription") or filters.get("product-description", [])
        asked = [
            price
            for price in self._known
            if price.region == call.region
            and (not types or price.instance_type in types)
            and (not zones or price.zone in zones)
            and (not products or PRODUCT in products)
        ]
        start_s, end_s = (_moment(call.form.get(key)) for key in ("StartTime", "EndTime"))
        found = sorted(_within(asked, start_s, end_s), key=lambda price: -price.at_s)
        return _answer(found, call.form)


def _within(prices: Iterable[Price], start_s: float | None, end_s: float | None) -> list[Price]:
    """The changes in the span, and for each pool the one that was in force when it began."""
    in_time = [price for price in prices if end_s is None or price.at_s <= end_s]
    if start_s is None:
        return in_time
    before: dict[tuple[str, str], Price] = {}
    for price in sorted(in_time, key=lambda price: price.at_s):
        if price.at_s < start_s:
            before[price.instance_type, price.zone] = price
    return [*before.values(), *(price for price in in_time if price.at_s >= start_s)]


def _answer(found: list[Price], form: Mapping[str, str]) -> Answer:
    begin, size = int(form.get("NextToken") or 0), int(form.get("MaxResults") or PAGE)
    items = "".join(
        f"<item><instanceType>{escape(price.instance_type)}</instanceType>"
        f"<productDescription>{PRODUCT}</productDescription><spotPrice>{escape(price.usd_per_h)}</spotPrice>"
        f"<timestamp>{stamp(price.at_s)}</timestamp>"
        f"<availabilityZone>{escape(price.zone)}</availabilityZone></item>"
        for price in found[begin : begin + size]
    )
    more = str(begin + size) if len(found) > begin + size else ""
    body = (
        f'<DescribeSpotPriceHistoryResponse xmlns="{NAMESPACE}"><requestId>{uuid.uuid4()}</requestId>'
        f"<spotPriceHistorySet>{items}</spotPriceHistorySet><nextToken>{more}</nextToken>"
        "</DescribeSpotPriceHistoryResponse>"
    )
    return Answer(200, body.encode())


def _listed(form: Mapping[str, str], name: str) -> list[str]:
    return [value for key, value in form.items() if key.startswith(f"{name}.")]


def _filters(form: Mapping[str, str]) -> dict[str, list[str]]:
    names = {key.split(".")[1]: value for key, value in form.items() if key.endswith(".Name")}
    unknown = sorted(set(names.values()) - {"instance-type", "availability-zone", "product-description"})
    if unknown:
        raise AwsError("InvalidParameterValue", f"The filter '{unknown[0]}' is invalid")
    return {name: _listed(form, f"Filter.{n}.Value") for n, name in names.items()}


def _moment(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
