"""What pods ask for and nodes can give, as the scheduler counts it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from holdfast.cloud.kubernetes import Container, Pod
from holdfast.cloud.quantity import Quantity, cpu_m, whole

Extended = tuple[tuple[str, int], ...]


class Amount(msgspec.Struct, frozen=True, gc=False):
    """What pods ask for, or a node has left."""

    cpu_m: int = 0
    memory: int = 0
    pods: int = 0
    extended: Extended = ()
    """Everything else by name, sorted."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.cpu_m + other.cpu_m,
            self.memory + other.memory,
            self.pods + other.pods,
            _plus(self.extended, other.extended, 1) if other.extended else self.extended,
        )

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(
            self.cpu_m - other.cpu_m,
            self.memory - other.memory,
            self.pods - other.pods,
            _plus(self.extended, other.extended, -1) if other.extended else self.extended,
        )

    def __mul__(self, times: int) -> "Amount":
        extended = tuple((name, amount * times) for name, amount in self.extended)
        return Amount(self.cpu_m * times, self.memory * times, self.pods * times, extended)

    def within(self, other: "Amount") -> bool:
        return self.times_within(other, 1) == 1

    def times_within(self, other: "Amount", most: int) -> int:
        """How often this fits into the other, `most` at most."""
        if self.cpu_m:
            most = min(most, other.cpu_m // self.cpu_m)
        if self.memory:
            most = min(most, other.memory // self.memory)
        if self.pods:
            most = min(most, other.pods // self.pods)
        if self.extended:
            has = dict(other.extended)
            most = min(most, *(has.get(name, 0) // amount for name, amount in self.extended))
        return max(0, most)


def lesser(one: Amount, other: Amount) -> Amount:
    """What both have at least."""
    left, right = dict(one.extended), dict(other.extended)
    return Amount(
        min(one.cpu_m, other.cpu_m),
        min(one.memory, other.memory),
        min(one.pods, other.pods),
        tuple(sorted((name, min(left[name], right[name])) for name in left.keys() & right.keys())),
    )


def total(amounts: Iterable[Amount]) -> Amount:
    """Their sum; a node's 30 pods are added up without 30 amounts in between."""
    cpu_m = memory = pods = 0
    extended: Extended = ()
    for amount in amounts:
        cpu_m += amount.cpu_m
        memory += amount.memory
        pods += amount.pods
        if amount.extended:
            extended = _plus(extended, amount.extended, 1)
    return Amount(cpu_m, memory, pods, extended)


def _plus(left: Extended, right: Extended, sign: int) -> Extended:
    total = dict(left)
    for name, amount in right:
        total[name] = total.get(name, 0) + sign * amount
    return tuple(sorted(total.items()))


def amount_of(resources: Mapping[str, Quantity], pods: int = 0) -> Amount:
    """Of requests or of what a node can give, as Kubernetes writes it."""
    return _amount({name: _units(name, value) for name, value in resources.items()}, pods)


def requests_of(pod: Pod) -> Amount:
    """What the scheduler reserves for a pod.

    Containers and sidecars run together.  Before that each ordinary init container runs alone
    with the sidecars that were started before it: the greater of both counts.
    """
    spec = pod.spec
    if len(spec.containers) == 1 and not (spec.init_containers or spec.overhead or spec.resources.requests):
        requests = spec.containers[0].resources.requests
        if len(requests) == 2 and (cpu := requests.get("cpu")) and (memory := requests.get("memory")):
            return _of_two(cpu, memory)
        return _of_one(tuple(requests.items()))
    together = _sum(spec.containers)
    if spec.init_containers:
        sidecars: dict[str, int] = {}
        starting: dict[str, int] = {}
        for container in spec.init_containers:
            own = _sum((container,))
            if container.restart_policy == "Always":
                _add(sidecars, own)
            else:
                _add(own, sidecars)
                starting = _greater(starting, own)
        _add(together, sidecars)
        together = _greater(together, starting)
    for name, value in spec.resources.requests.items():
        together[name] = _units(name, value)
    for name, value in spec.overhead.items():
        together[name] = together.get(name, 0) + _units(name, value)
    return _amount(together, 1)


@lru_cache(maxsize=16_384)
def _of_two(cpu: Quantity, memory: Quantity) -> Amount:
    """Most pods ask for these two, and a cluster has few kinds of them."""
    return Amount(_units("cpu", cpu), _units("memory", memory), 1)


@lru_cache(maxsize=16_384)
def _of_one(requests: tuple[tuple[str, Quantity], ...]) -> Amount:
    """Most pods have one container."""
    return _amount({name: _units(name, value) for name, value in requests}, 1)


def _sum(containers: Iterable[Container]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in containers:
        for name, value in container.resources.requests.items():
            total[name] = total.get(name, 0) + _units(name, value)
    return total


def _add(total: dict[str, int], by: Mapping[str, int]) -> None:
    for name, amount in by.items():
        total[name] = total.get(name, 0) + amount


def _greater(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {*one, *other}}


def _units(name: str, value: Quantity) -> int:
    return cpu_m(value) if name == "cpu" else whole(value)


def _amount(units: dict[str, int], pods: int) -> Amount:
    cpu, memory, pods = units.pop("cpu", 0), units.pop("memory", 0), units.pop("pods", pods)
    if not units:
        return Amount(cpu, memory, pods)
    return Amount(cpu, memory, pods, tuple(sorted((name, n) for name, n in units.items() if n)))
