"""Each guard of the choice of machines taken out of the shipped file: its test finds it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.adapters.aws.ec2 import catalog
from holdfast.autoscaler.scale_up import launch_slots
from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.machines import spare
from holdfast.autoscaler.scheduling.node_bins import NodeBin
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.settings.spare import Spare
from holdfast.cloud import Market
from holdfast.cloud.requests import Amount
from tests.proof import prove
from tests.variants import broken


def offerings_used(module: Any) -> int:
    """Of eight spot machines in one zone, spread over three types at least."""
    chosen = module.launch_slots(
        8,
        types_at=lambda zone, market: ("cheap", "dear", "dearer", "dearest"),
        markets=(Market.SPOT,),
        subnets=(("a", "s-1"),),
        in_zone=Counter(),
        refused=lambda slot: "",
        width=lambda market: 3,
    )
    return len({slot.offering for slot in chosen})


def test_price_alone_puts_not_all_on_one_offering() -> None:
    assert offerings_used(launch_slots) == 3
    place = "holdfast.autoscaler.scale_up.launch_slots"
    for guard, without in (
        ("if not refused(slot)), width(market)))", "if not refused(slot)), 1))"),
        ("return min(best, key=lambda slot: of[slot.offering])", "return best[0]"),
    ):
        assert offerings_used(broken(place, {guard: without})) == 1
    prove("variant", "economy: price alone puts all on one offering", caught_by="a spread request")


def kept_by_headroom(module: Any) -> str:
    """Whether a node stays for headroom that no node has room for anyway."""
    spares = module.spares_of([Pool(spare=Spare(1, 8_000))])
    rooms = [Room(name=f"n-{n}", free=Amount(2_000, 1 << 32, 110), pool="default") for n in range(2)]
    missing = module.missing(spares, rooms)
    return str(module.taken_away(spares, [NodeBin(rooms[0])], missing))


def test_headroom_that_was_never_there_keeps_no_node() -> None:
    assert kept_by_headroom(spare) == ""
    variant = broken(
        "holdfast.autoscaler.scheduling.machines.spare", {"if left > missing_now[pool]:": "if left:"}
    )
    assert kept_by_headroom(variant) != ""
    prove("variant", "economy: headroom that was never there keeps nodes", caught_by="a scale-down")


class _Ec2:
    """Lists what it has at the moment."""

    def __init__(self) -> None:
        self.names = ["m6i.large"]

    def get_paginator(self, name: str) -> Any:
        def paginate(**said: object) -> Iterator[dict[str, Any]]:
            yield {"InstanceTypes": [_described(name) for name in self.names]}

        return SimpleNamespace(paginate=paginate)


def _described(name: str) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8_192},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "CurrentGeneration": True,
    }


def types_of_tomorrow(module: Any) -> Sequence[str]:
    client, now_s = _Ec2(), [0.0]
    known = module.Catalog(client, pods_per_node=110, on_demand_usd={}, now_s=lambda: now_s[0], page=100)
    known.types()
    client.names = ["m6i.large", "m9i.large"]
    now_s[0] = 86_400.0
    return [each.name for each in known.types()]


def test_requirements_are_resolved_anew() -> None:
    assert types_of_tomorrow(catalog) == ["m6i.large", "m9i.large"]
    guard = "if not 0 <= now_s - asked_s < TYPES_KEPT_S:"
    variant = broken("holdfast.adapters.aws.ec2.catalog", {guard: "if not known:"})
    assert types_of_tomorrow(variant) == ["m6i.large"]
    prove("variant", "economy: requirements are resolved only once", caught_by="a type that is new")


@pytest.mark.parametrize("kept", [True, False])
def test_a_withdrawn_type_is_left_out(kept: bool) -> None:
    client = _Ec2()
    client.names = ["m6i.large", "m5.large"] if kept else ["m6i.large"]
    known: Any = catalog.Catalog(
        client,  # type: ignore[arg-type]
        pods_per_node=110,
        on_demand_usd={},
        now_s=lambda: 0.0,
        page=100,
    )
    assert ("m5.large" in [each.name for each in known.types()]) == kept
