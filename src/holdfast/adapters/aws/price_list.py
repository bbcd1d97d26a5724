"""On-demand prices of one region, from AWS's price list.  Each is kept for a day.

A look never waits long for them: what is not told in time is asked at the next one, and after a failure
nothing is asked for a while.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Protocol

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.errors import translate_errors
from holdfast.kernel import Busy, HoldfastError

GET_PRODUCTS: Final = "pricing:GetProducts"
CALLS: Final = (GET_PRODUCTS,)
"""It cannot be granted for some resources only."""
HOMES: Final[Mapping[str, str]] = {"eu": "eu-central-1", "ap": "ap-south-1", "cn": "cn-northwest-1"}
"""The list has an endpoint in few regions: that of a region's part of the world, else `us-east-1`."""
LIMIT_S: Final = 2.0
"""Of one look.  A single call may take as long once more."""
KEPT_S: Final = 86_400.0
PAUSE_S: Final = 900.0
LINUX: Final[Mapping[str, str]] = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "tenancy": "Shared",
    "capacitystatus": "Used",
}
"""The plain machine, among all that is sold of a type."""
HOURS: Final = "Hrs"
USD: Final = "USD"


class Products(Protocol):
    """The one call of the client that is made."""

    def get_products(self, *, ServiceCode: str, Filters: Any, MaxResults: int) -> Any: ...  # noqa: N803


def make_client(*, endpoint_url: str | None = None, region: str | None = None) -> Products:
    """A client of the list that holds the prices of `region`."""
    home = HOMES.get((region or "").partition("-")[0], "us-east-1")
    made: Products = aws.make_client(
        "pricing", endpoint_url=endpoint_url, region=home, read_timeout_s=LIMIT_S, connect_timeout_s=LIMIT_S
    )
    return made


class PriceList:
    def __init__(self, make: Callable[[], Products], region: str, now_s: Callable[[], float]) -> None:
        """`make` is called when a price is first asked for."""
        self._make, self._region, self._now_s = make, region, now_s
        self._client: Products | None = None
        self._kept: dict[str, tuple[float, float | None]] = {}
        """When it was asked, and dollars an hour; None: the list has none."""
        self._quiet_until_s = float("-inf")
        self.problem = ""
        """Why the newest question has no answer."""

    def usd(self, instance_types: Collection[str]) -> Mapping[str, float]:
        """Dollars an hour, as far as they are known now.  Raises nothing that the list may suffer."""
        began_s = self._now_s()
        if not 0 <= self._quiet_until_s - began_s <= PAUSE_S:
            try:
                self._ask(instance_types, began_s)
                self.problem = ""
            except HoldfastError as error:
                self._quiet_until_s, self.problem = self._now_s() + PAUSE_S, str(error)
        known = {kind: self._kept[kind][1] for kind in instance_types if kind in self._kept}
        return {kind: usd for kind, usd in known.items() if usd is not None}

    def _ask(self, instance_types: Collection[str], began_s: float) -> None:
        for kind in sorted(set(instance_types)):
            if self._is_fresh(kind, began_s):
                continue
            if not 0 <= self._now_s() - began_s < LIMIT_S:
                return  # the next look goes on
            self._client = self._client or self._make()
            self._kept[kind] = began_s, on_demand_usd(self._client, self._region, kind)

    def _is_fresh(self, instance_type: str, now_s: float) -> bool:
        asked_s, _ = self._kept.get(instance_type, (float("-inf"), None))
        return 0 <= now_s - asked_s < KEPT_S


def on_demand_usd(client: Products, region: str, instance_type: str) -> float | None:
    """Dollars an hour; None: the list has no price in dollars.

    Repeatable.  Raises Busy, Denied or Rejected.
    """
    wanted = {"instanceType": instance_type, "regionCode": region, **LINUX}
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in wanted.items()]
    with translate_errors(GET_PRODUCTS, changes=False):
        answer = client.get_products(ServiceCode="AmazonEC2", Filters=filters, MaxResults=100)
    try:
        found = [usd for text in answer["PriceList"] for usd in _hourly(json.loads(text))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Busy(f"{GET_PRODUCTS}: the answer for {instance_type} is not a price list") from error
    return max(found, default=None)  # if two are sold, no ceiling is broken by the dearer one


def _hourly(product: Any) -> Iterator[float]:
    """Reservations of capacity are listed as well, at no price."""
    for term in product["terms"].get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = float(dimension["pricePerUnit"].get(USD, 0))
            if dimension["unit"] == HOURS and usd > 0:
                yield usd
