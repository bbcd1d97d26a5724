"""What was spent month by month: a record of its own, written when the rate changes, and once an hour.

Between two writes the rate is taken as it was written.  A gap that is longer than `GAP_S` was seen by no
tick: it is counted as unseen, and no dollars are made up for it.  Months are UTC.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from holdfast.autoscaler.money.rates import Rates
from holdfast.kernel import Done, Event, Workflow, Write
from holdfast.kernel.event import EventKind, Severity
from holdfast.kernel.item import Attribute, Codec, Item, Kind

SUBJECT = "ledger"
"""The partition key, beside that of the cluster."""
WRITE_EVERY_S = 3_600
GAP_S = 2 * WRITE_EVERY_S
MONTHS_MAX = 13
HOUR_S = 3_600
NOW = "now"


class LedgerEvent(EventKind):
    SPENDING_NOTED = "spendingNoted", "spending is noted for {about}", Severity.DEBUG


@dataclass(frozen=True, slots=True)
class Month:
    usd: float = 0.0
    on_demand_usd: float = 0.0
    """What the same machines would have cost on-demand."""
    seen_s: float = 0.0
    unseen_s: float = 0.0
    """No tick looked: what was spent then is not known."""

    @property
    def saved_usd(self) -> float:
        return self.on_demand_usd - self.usd

    def plus(self, seconds: float, usd: float, on_demand_usd: float) -> "Month":
        return replace(
            self,
            usd=round(self.usd + usd * seconds / HOUR_S, 6),
            on_demand_usd=round(self.on_demand_usd + on_demand_usd * seconds / HOUR_S, 6),
            seen_s=self.seen_s + seconds,
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    months: Mapping[str, Month] = field(default_factory=dict)
    """By their name, such as 2026-11."""
    usd: float = 0.0
    on_demand_usd: float = 0.0
    at_s: int = 0
    """When these rates were written.  0: never."""

    def month(self, name: str) -> Month:
        return self.months.get(name, Month())


def month_of(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m}"


def accrued(ledger: Ledger, now_s: float) -> Ledger:
    """The ledger as it stands at this moment, its rates unchanged."""
    months = dict(ledger.months)
    lasted_s = now_s - ledger.at_s
    if not ledger.at_s or lasted_s <= 0:
        return ledger
    for name, seconds in _parts(ledger.at_s, now_s):
        month = months.get(name, Month())
        if lasted_s > GAP_S:
            months[name] = replace(month, unseen_s=month.unseen_s + seconds)
        else:
            months[name] = month.plus(seconds, ledger.usd, ledger.on_demand_usd)
    newest = sorted(months)[-MONTHS_MAX:]
    return replace(ledger, months={name: months[name] for name in newest}, at_s=int(now_s))


def step(ledger: Ledger, seen: Rates | None, now_s: float) -> Write[Ledger] | Done:
    """`seen`: the rates of now; None: they are not known, and nothing is written."""
    if seen is None or now_s <= ledger.at_s:
        return Done()
    same = (seen.usd, seen.on_demand_usd) == (ledger.usd, ledger.on_demand_usd)
    if ledger.at_s and same and now_s - ledger.at_s < WRITE_EVERY_S:
        return Done()
    now = int(now_s)
    noted = replace(accrued(ledger, now), usd=seen.usd, on_demand_usd=seen.on_demand_usd, at_s=now)
    numbers = {"usdPerHour": seen.usd, "onDemandUsdPerHour": seen.on_demand_usd}
    return Write(noted, (Event(LedgerEvent.SPENDING_NOTED, now_s, about=month_of(now), numbers=numbers),))


WORKFLOW: Workflow[Ledger, Rates | None, None] = Workflow(step=step, settle=lambda *_: None)


def _parts(from_s: float, to_s: float) -> Iterator[tuple[str, float]]:
    """The time between, cut where a month ends."""
    while from_s < to_s:
        begun = datetime.fromtimestamp(from_s, UTC)
        year, month = (begun.year + 1, 1) if begun.month == 12 else (begun.year, begun.month + 1)
        until_s = min(to_s, datetime(year, month, 1, tzinfo=UTC).timestamp())
        yield f"{begun:%Y-%m}", until_s - from_s
        from_s = until_s


def encode(ledger: Ledger) -> Item:
    return {
        "months": {
            name: {
                "usd": month.usd,
                "onDemandUsd": month.on_demand_usd,
                "seen": month.seen_s,
                "unseen": month.unseen_s,
            }
            for name, month in ledger.months.items()
        },
        "rate": {NOW: {"usd": ledger.usd, "onDemandUsd": ledger.on_demand_usd, "at": ledger.at_s}},
    }


def decode(item: Item) -> Ledger:
    found: Mapping[str, Any] = item
    rate: Mapping[str, Any] = found.get("rate", {}).get(NOW, {})
    return Ledger(
        months={
            name: Month(
                float(row["usd"]), float(row["onDemandUsd"]), float(row["seen"]), float(row["unseen"])
            )
            for name, row in sorted(found.get("months", {}).items())
        },
        usd=float(rate.get("usd", 0)),
        on_demand_usd=float(rate.get("onDemandUsd", 0)),
        at_s=int(rate.get("at", 0)),
    )


CODEC: Codec[Ledger] = Codec(
    attributes=(
        Attribute("months", Kind.ROWS, columns=("usd", "onDemandUsd", "seen", "unseen")),
        Attribute("rate", Kind.ROWS, columns=("usd", "onDemandUsd", "at")),
    ),
    first=Ledger(),
    encode=encode,
    decode=decode,
    guarded_attributes=(),
)
