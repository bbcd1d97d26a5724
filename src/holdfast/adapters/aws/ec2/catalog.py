"""What EC2 offers: zones of subnets, sizes of types, prices.  Kept as long as each stays true."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from holdfast.adapters.aws.errors import translate_errors
from holdfast.cloud import MachineType, Market, Offering, Prices, Shape
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client
    from types_boto3_ec2.type_defs import InstanceTypeInfoTypeDef

    from holdfast.adapters.aws.price_list import PriceList

PRICES_KEPT_S: Final = 600
TYPES_KEPT_S: Final = 21_600
PRODUCT: Final = "Linux/UNIX"
AT_ONCE: Final = 100
"""Values that one filter takes."""
MIB: Final = 1024 * 1024
MEMORY_LEFT: Final = 0.925
EVICTION_BYTES: Final = 100 * MIB
ACCELERATORS: Final = (
    "GpuInfo",
    "InferenceAcceleratorInfo",
    "FpgaInfo",
    "NeuronInfo",
    "MediaAcceleratorInfo",
)
ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
GPUS: Final = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}
"""By their maker: what the maker's device plugin calls them."""
NEURON: Final = "aws.amazon.com/neuron"
NEURON_CORE: Final = "aws.amazon.com/neuroncore"

Known = TypeVar("Known")


def shape_of(
    cpus: int, memory_mib: int, architecture: str, pods: int, devices: tuple[tuple[str, int], ...] = ()
) -> Shape:
    """What pods may ask for on a machine that is sold with so much.

    Memory: 7.5 % less, because firmware and kernel keep that much of what is advertised before
    the kubelet sees any; and 100 MiB less, because that is where the kubelet begins to evict.
    CPUs: all of them, since k3s reserves none.  A guess that is too low costs a node too many now
    and then; one that is too high would launch nodes that the waiting pods do not fit.
    """
    memory = int(memory_mib * MIB * MEMORY_LEFT) - EVICTION_BYTES
    return Shape(
        cpu_m=cpus * 1_000, memory=max(0, memory), pods=pods, architecture=architecture, devices=devices
    )


def devices_of(seen: "InstanceTypeInfoTypeDef") -> tuple[tuple[str, int], ...]:
    """What a pod may ask for once the device plugin runs there.  A maker that is not known is left out."""
    found: dict[str, int] = {}
    for gpu in seen.get("GpuInfo", {}).get("Gpus", []):
        name = GPUS.get(gpu.get("Manufacturer", ""))
        if name is not None:
            found[name] = found.get(name, 0) + gpu.get("Count", 0)
    for device in seen.get("NeuronInfo", {}).get("NeuronDevices", []):
        count = device.get("Count", 0)
        found[NEURON] = found.get(NEURON, 0) + count
        found[NEURON_CORE] = found.get(NEURON_CORE, 0) + count * device.get("CoreInfo", {}).get("Count", 0)
    return tuple(sorted((name, count) for name, count in found.items() if count))


class Catalog:
    def __init__(
        self,
        client: "EC2Client",
        *,
        pods_per_node: int,
        on_demand_usd: Mapping[str, float],
        price_list: "PriceList | None" = None,
        now_s: Callable[[], float],
        page: int,
    ) -> None:
        """EC2 itself tells spot prices only.  `on_demand_usd`: dollars an hour by instance type; of others
        `price_list` is asked, if there is one."""
        self._client, self._now_s, self._page = client, now_s, page
        self._price_list = price_list
        self._pods_per_node, self._on_demand_usd = pods_per_node, on_demand_usd
        self._zones: dict[str, str] = {}
        self._shapes: dict[str, Shape] = {}
        self._types: tuple[float, tuple[MachineType, ...]] = (float("-inf"), ())
        """When they were asked for, and all that there are."""
        self._spot: dict[Offering, tuple[float, float | None]] = {}
        """When it was asked, and dollars an hour."""

    def zones(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        for some in _chunks(each for each in subnet_ids if each not in self._zones):
            with translate_errors("ec2:DescribeSubnets", changes=False):
                pages = self._client.get_paginator("describe_subnets").paginate(
                    Filters=[{"Name": "subnet-id", "Values": some}],
                    PaginationConfig={"PageSize": self._page},
                )
                found = [each for page in pages for each in page["Subnets"]]
            self._zones |= {each["SubnetId"]: each["AvailabilityZone"] for each in found}
        return _all(self._zones, subnet_ids, "subnet_ids", "no such subnet in this region and account")

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        for some in _chunks(each for each in instance_types if each not in self._shapes):
            with translate_errors("ec2:DescribeInstanceTypes", changes=False):
                pages = self._client.get_paginator("describe_instance_types").paginate(
                    Filters=[{"Name": "instance-type", "Values": some}],
                    PaginationConfig={"PageSize": min(self._page, AT_ONCE)},
                )
                found = [each for page in pages for each in page["InstanceTypes"]]
            self._shapes |= {each["InstanceType"]: self._shape(each) for each in found}
        return _all(self._shapes, instance_types, "instance_types", "no such type in this region")

    def types(self) -> tuple[MachineType, ...]:
        """All that there are in this region.  Asked for anew after some hours: EC2 adds types."""
        now_s = self._now_s()
        asked_s, known = self._types
        if not 0 <= now_s - asked_s < TYPES_KEPT_S:
            with translate_errors("ec2:DescribeInstanceTypes", changes=False):
                pages = self._client.get_paginator("describe_instance_types").paginate(
                    PaginationConfig={"PageSize": min(self._page, AT_ONCE)}
                )
                found = [each for page in pages for each in page["InstanceTypes"]]
            known = tuple(self._type(each) for each in found)
            self._types = now_s, known
            self._shapes |= {each.name: each.shape for each in known}
        return known

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        now_s = self._now_s()
        spot = [each for each in offerings if each.market is Market.SPOT]
        if stale := [each for each in spot if not self._is_fresh(each, now_s)]:
            found = self._spot_prices(stale, now_s)
            self._spot |= {each: (now_s, found.get((each.instance_type, each.zone))) for each in stale}
        known = {each: self._spot[each][1] for each in spot}
        own, problem = self._on_demand(each for each in offerings if each.market is Market.ON_DEMAND)
        return Prices({each: usd for each, usd in (known | own).items() if usd is not None}, problem)

    def _on_demand(self, offerings: Iterable[Offering]) -> tuple[dict[Offering, float | None], str]:
        """By the settings, else by the price list.  With what keeps that from telling them."""
        wanted = tuple(offerings)
        listed: Mapping[str, float] = {}
        problem = ""
        if self._price_list is not None and (
            unknown := {each.instance_type for each in wanted} - self._on_demand_usd.keys()
        ):
            listed, problem = self._price_list.usd(unknown), self._price_list.problem
        usd = {**listed, **self._on_demand_usd}
        return {each: usd.get(each.instance_type) for each in wanted}, problem

    def _is_fresh(self, offering: Offering, now_s: float) -> bool:
        asked_s, _ = self._spot.get(offering, (float("-inf"), None))
        return 0 <= now_s - asked_s < PRICES_KEPT_S

    def _spot_prices(self, offerings: Sequence[Offering], now_s: float) -> dict[tuple[str, str], float]:
        """The newest of each type and zone.  A history that begins now tells what is in force now."""
        zones = sorted({each.zone for each in offerings})
        told = []
        for types in _chunks(each.instance_type for each in offerings):
            with translate_errors("ec2:DescribeSpotPriceHistory", changes=False):
                pages = self._client.get_paginator("describe_spot_price_history").paginate(
                    Filters=[
                        {"Name": "instance-type", "Values": types},
                        {"Name": "availability-zone", "Values": zones},
                        {"Name": "product-description", "Values": [PRODUCT]},
                    ],
                    StartTime=datetime.fromtimestamp(now_s, UTC),
                    PaginationConfig={"PageSize": self._page},
                )
                told += [each for page in pages for each in page["SpotPriceHistory"]]
        told.sort(key=lambda each: each["Timestamp"])
        return {(each["InstanceType"], each["AvailabilityZone"]): float(each["SpotPrice"]) for each in told}

    def _shape(self, seen: "InstanceTypeInfoTypeDef") -> Shape:
        offered = seen["ProcessorInfo"].get("SupportedArchitectures", [])
        return shape_of(
            seen["VCpuInfo"]["DefaultVCpus"],
            seen["MemoryInfo"]["SizeInMiB"],
            next((name for told, name in ARCHITECTURES.items() if told in offered), "amd64"),
            self._pods_per_node,
            devices_of(seen),
        )

    def _type(self, seen: "InstanceTypeInfoTypeDef") -> MachineType:
        return MachineType(
            name=seen["InstanceType"],
            shape=self._shape(seen),
            vcpus=seen["VCpuInfo"]["DefaultVCpus"],
            memory_mib=seen["MemoryInfo"]["SizeInMiB"],
            local_disk_gib=seen.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
            burstable=seen.get("BurstablePerformanceSupported", False),
            bare_metal=seen.get("BareMetal", False),
            accelerated=any(seen.get(kind) for kind in ACCELERATORS),
            current=seen.get("CurrentGeneration", True),
        )


def _chunks(values: Iterable[str]) -> list[list[str]]:
    wanted = sorted(set(values))
    return [wanted[n : n + AT_ONCE] for n in range(0, len(wanted), AT_ONCE)]


def _all(known: Mapping[str, Known], wanted: Sequence[str], setting: str, why: str) -> dict[str, Known]:
    if missing := sorted(set(wanted) - known.keys()):
        raise Invalid(f"{setting}: {', '.join(missing)}: {why}")
    return {each: known[each] for each in wanted}
