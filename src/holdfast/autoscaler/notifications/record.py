"""The record of what is told: the causes that hold, and how far each channel has heard of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from holdfast.autoscaler.notifications.causes import Cause
from holdfast.kernel.item import Attribute, Codec, Item, Kind

SUBJECT = "notifications"
"""The partition key, beside that of the cluster."""


class Stage(StrEnum):
    """Which of the two messages of a cause."""

    BEGUN = "begun"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Receipt:
    """How far one channel has heard of one cause."""

    channel: str
    stage: Stage = Stage.BEGUN
    told: bool = False
    """The message of this stage has arrived, or was given up."""
    tries: int = 0
    retry_s: int = 0
    """No try before this: the one that was written down last may still be under way."""
    owner: str = ""
    """The process that tries now."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One cause, from when it was first seen until every channel knows that it has ended."""

    cause: Cause
    about: str
    why: str
    since_s: int
    over_s: int = 0
    """0: it still holds."""
    receipts: tuple[Receipt, ...] = ()

    @property
    def key(self) -> tuple[Cause, str]:
        return self.cause, self.about

    def receipt(self, channel: str) -> Receipt | None:
        return next((each for each in self.receipts if each.channel == channel), None)

    def with_receipt(self, changed: Receipt) -> "Notification":
        others = tuple(each for each in self.receipts if each.channel != changed.channel)
        return replace(self, receipts=(*others, changed))


@dataclass(frozen=True, slots=True)
class Board:
    notifications: tuple[Notification, ...] = ()

    def find(self, key: tuple[Cause, str]) -> Notification | None:
        return next((each for each in self.notifications if each.key == key), None)

    def with_one(self, changed: Notification) -> "Board":
        return Board(tuple(changed if each.key == changed.key else each for each in self.notifications))

    def without(self, key: tuple[Cause, str]) -> "Board":
        return Board(tuple(each for each in self.notifications if each.key != key))


def encode(board: Board) -> Item:
    return {
        "causes": {
            str(n): {
                "cause": each.cause.value,
                "about": each.about,
                "why": each.why,
                "since": each.since_s,
                "over": each.over_s,
            }
            for n, each in enumerate(board.notifications)
        },
        "receipts": {
            f"{n}.{receipt.channel}": {
                "stage": receipt.stage.value,
                "told": int(receipt.told),
                "tries": receipt.tries,
                "retry": receipt.retry_s,
                "owner": receipt.owner,
            }
            for n, each in enumerate(board.notifications)
            for receipt in each.receipts
        },
    }


def decode(item: Item) -> Board:
    found: Mapping[str, Any] = item
    rows: Mapping[str, Mapping[str, Any]] = found.get("causes", {})
    receipts: dict[str, list[Receipt]] = {}
    for key, row in found.get("receipts", {}).items():
        n, _, channel = key.partition(".")
        receipt = Receipt(
            channel,
            Stage(row["stage"]),
            bool(row["told"]),
            int(row["tries"]),
            int(row["retry"]),
            str(row["owner"]),
        )
        receipts.setdefault(n, []).append(receipt)
    return Board(
        tuple(
            Notification(
                Cause(row["cause"]),
                str(row["about"]),
                str(row["why"]),
                int(row["since"]),
                int(row["over"]),
                tuple(receipts.get(n, ())),
            )
            for n, row in sorted(rows.items(), key=lambda each: int(each[0]))
        )
    )


CODEC: Codec[Board] = Codec(
    attributes=(
        Attribute("causes", Kind.ROWS, columns=("cause", "about", "why", "since", "over")),
        Attribute("receipts", Kind.ROWS, columns=("stage", "told", "tries", "retry", "owner")),
    ),
    first=Board(),
    encode=encode,
    decode=decode,
    guarded_attributes=(),
)
