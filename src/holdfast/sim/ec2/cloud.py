"""The simulated cloud: machines that boot, join, are taken back and end, under EC2's own rules.

Rule 1: a token names one launch.  Only a success is remembered: a refused request leaves its
        token free, so a late first try with an old token still launches.
Rule 2: a listing may show each machine as it was up to `lag_s` ago, in both directions.
Rule 3: nothing ends without a line in the log that says what ended it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool
from holdfast.cloud import ALIVE, Instance, MachineType, Notice, NoticeKind, Offering, Prices, Shape, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Template, Termination, launch_token
from holdfast.kernel import Invalid
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.ec2.market import SHAPES, Wares
from holdfast.sim.limits import RUN_INSTANCES_PER_S, Bucket
from holdfast.sim.world import World

NOTICE_S: Final = 120
LISTED_AFTER_DEATH_S: Final = 3_600.0
RUN_INSTANCES_BURST: Final = 5
RUN_INSTANCES_RESOURCES: Final = 1_000
"""Instances that may be launched at once; they come back as slowly as the requests."""
DESCRIBE_PER_S, DESCRIBE_BURST = 20.0, 100
TERMINATE_PER_S, TERMINATE_BURST = 5.0, 100


@dataclass(kw_only=True)
class Manners:
    """How the cloud behaves.  May be changed at any time."""

    pending_s: tuple[float, float] = (8.0, 30.0)
    joining_s: tuple[float, float] = (20.0, 80.0)
    """From running until its node appears."""
    stopping_s: tuple[float, float] = (5.0, 40.0)
    never_joins: float = 0.0
    """The part of all machines that boot and are never heard of."""
    dies_booting: float = 0.0
    lag_s: float = 3.0
    names_dead_tokens: bool = True
    """A token whose machines have all ended is refused by name.  False: they are returned, dead."""
    marks_requests: bool = False
    """Spot requests can be listed, and say which machines are being taken back: no queue need bring it."""
    addresses: int = 4_000
    """In each zone.  A new machine takes a free one, which another machine may have had before."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the cloud's own log."""

    at_s: float
    kind: str
    """launched, repeated, refused, asked to end, ended, terminated, notice or hint."""
    instance_ids: tuple[str, ...] = ()
    action_id: str = ""
    token: str = ""
    why: str = ""


def _nothing(machine: Machine) -> None:
    """No listener is told."""


class SimCloud:
    """A `Cloud` for the autoscaler, and the hand of fate for the scenario."""

    def __init__(self, world: World, subnets: Mapping[str, str], manners: Manners | None = None) -> None:
        self.world, self.manners = world, manners or Manners()
        self.wares = Wares(world.random)
        self.machines: dict[str, Machine] = {}
        """All that ever were."""
        self.log: list[Entry] = []
        self.told: Callable[[Entry], None] = lambda entry: None
        """Hears every line of the log as it is written."""
        self.joins: Callable[[Machine], None] = _nothing
        self.stops: Callable[[Machine], None] = _nothing
        self.boots: Callable[[], Random] = lambda: world.random
        """How long a machine takes from its launch until its node appears is drawn from this."""
        self.full_subnets: set[str] = set()
        """Those without a free address."""
        self.broken_pools: dict[str, str] = {}
        """What EC2 says to each launch of a pool whose image, template or permission is wrong."""
        self.undescribed: dict[str, str] = {}
        """Pools of whose settings no template can be made at all, and why."""
        self._subnets = dict(subnets)
        self._listed: dict[str, Machine] = {}
        self._tokens: dict[tuple[str, str], tuple[object, tuple[str, ...]]] = {}
        self._templates: dict[str, list[str]] = {}
        self._digests: dict[str, tuple[Pool, str]] = {}
        self._requests = Bucket(RUN_INSTANCES_PER_S, RUN_INSTANCES_BURST, world.now_s)
        self._resources = Bucket(RUN_INSTANCES_PER_S, RUN_INSTANCES_RESOURCES, world.now_s)
        self._describes = Bucket(DESCRIBE_PER_S, DESCRIBE_BURST, world.now_s)
        self._terminates = Bucket(TERMINATE_PER_S, TERMINATE_BURST, world.now_s)
        self._drawn = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted(set(self._subnets.values())))

    # The port

    def instances(self, lag_s: float | None = None) -> Sequence[Instance]:
        self._describes.take(1, "DescribeInstances")
        return self.listing(self.manners.lag_s if lag_s is None else lag_s)

    def listing(self, lag_s: float = 0.0) -> Sequence[Instance]:
        """What a listing shows that lags so far behind; without a lag, the truth."""
        now_s, draw = self.world.now, self.world.random.uniform
        shown = []
        for machine in tuple(self._listed.values()):
            if now_s - machine.changed_s >= lag_s:
                if machine.state is State.TERMINATED and now_s - machine.changed_s > LISTED_AFTER_DEATH_S:
                    del self._listed[machine.instance_id]
                else:
                    shown.append(machine.listed)
            elif (then := machine.as_of(now_s - draw(0, lag_s))) is not None:
                shown.append(then)
        return shown

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        self._requests.take(1, "RunInstances")
        token = launch.token(action_id)
        asked = (action_id, launch.pool, launch.subnet_id, launch.offering, launch.count)
        request = (*asked, launch.template_id, launch.template_version)
        before, ids = self._tokens.get((token, launch.zone), (None, ()))
        if before is not None:
            if before != request:
                return self._refuse(Refusal.MISMATCH, token, "IdempotentParameterMismatch")
            dead = all(self.machines[i].state is State.TERMINATED for i in ids)
            if dead and self.manners.names_dead_tokens:
                return self._refuse(Refusal.EXISTED, token, "IdempotentInstanceTerminated")
            self._write("repeated", ids, action_id=action_id, token=token)
            return Launched(ids)
        if problem := self._problem(launch):
            return self._refuse(Refusal.REFUSED, token, problem)
        if self.room(launch.offering) < launch.count:
            return self._refuse(Refusal.QUOTA, token, "MaxSpotInstanceCountExceeded")
        if launch.subnet_id in self.full_subnets:
            why = f"InsufficientFreeAddressesInSubnet: {launch.subnet_id}"
            return self._refuse(Refusal.SUBNET, token, why)
        self._resources.take(launch.count, "RunInstances, instances")
        count = self.wares.take(launch.offering, launch.count)
        if not count:
            return self._refuse(
                Refusal.CAPACITY, token, f"InsufficientInstanceCapacity: no {launch.offering}"
            )
        made = [
            self.add(launch.offering, pool=launch.pool, action_id=action_id, token=token)
            for _ in range(count)
        ]
        ids = tuple(machine.instance_id for machine in made)
        self._tokens[token, launch.zone] = (request, ids)
        self._write("launched", ids, action_id=action_id, token=token)
        for machine in made:
            self._boot(machine)
        return Launched(ids)

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        self._terminates.take(1, "TerminateInstances")
        said = {}
        for instance_id in instance_ids:
            machine = self.machines.get(instance_id)
            said[instance_id] = Termination.NOT_KNOWN
            if machine is None:
                continue
            self._write("asked to end", (instance_id,), action_id=machine.action_id)
            if machine.protected and machine.alive:
                said[instance_id] = Termination.PROTECTED
            elif self._knows(machine):
                said[instance_id] = Termination.ACCEPTED
                self.end(machine, Ending.ASKED)
        return said

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        found = {}
        for pool in pools:
            digest, made = self.digest(pool), self._templates.get(pool.name, [])
            if digest in made:
                found[pool.name] = Template(f"lt-{pool.name}", made.index(digest) + 1, digest)
        return found

    def digest(self, pool: Pool) -> str:
        if pool.name in self.undescribed:
            raise Invalid(self.undescribed[pool.name])
        known = self._digests.get(pool.name)
        if known is None or known[0] is not pool:
            known = self._digests[pool.name] = (pool, hashlib.sha256(repr(pool).encode()).hexdigest()[:32])
        return known[1]

    def prepare(self, pool: Pool) -> None:
        made, digest = self._templates.setdefault(pool.name, []), self.digest(pool)
        if digest not in made:
            made.append(digest)

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        return {subnet: self._subnets[subnet] for subnet in subnet_ids if subnet in self._subnets}

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        return {name: SHAPES[name] for name in instance_types if name in SHAPES}

    def types(self) -> Sequence[MachineType]:
        return self.wares.types()

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        known = {offering: self.wares.usd(offering) for offering in offerings}
        return Prices({offering: usd for offering, usd in known.items() if usd is not None})

    def marked(self) -> Sequence[Notice]:
        self._describes.take(1, "DescribeSpotInstanceRequests")
        return [
            Notice(
                each.instance_id,
                NoticeKind.INTERRUPTION,
                int(each.deadline_s) - NOTICE_S,
                int(each.deadline_s),
            )
            for each in self.machines.values()
            if each.deadline_s and each.alive
        ]

    def console(self, instance_id: str) -> str:
        machine = self.machines.get(instance_id)
        if machine is None:
            return ""
        return "" if machine.joins else "k3s agent: the server's certificate is not the one expected"

    # The hand of fate

    def add_subnet(self, subnet_id: str, zone: str) -> None:
        self._subnets[subnet_id] = zone

    def add(
        self,
        offering: Offering,
        *,
        pool: str = "default",
        action_id: str = "",
        token: str = "",
        foreign: bool = False,
        state: State = State.PENDING,
    ) -> Machine:
        """A machine appears.  Whether and when it boots is for the caller to say."""
        self._drawn += 1
        machine = Machine(
            instance_id=f"i-{self._drawn:05x}",
            offering=offering,
            pool=pool,
            launched_s=self.world.now,
            action_id=action_id,
            token=token or (launch_token(action_id, 1, self._drawn) if action_id else ""),
            foreign=foreign,
            address=self._address(offering.zone),
        )
        machine.enter(state, self.world.now)
        self.machines[machine.instance_id] = machine
        if not foreign:
            self._listed[machine.instance_id] = machine
        return machine

    def notice(self, machine: Machine, in_s: int = NOTICE_S) -> Notice:
        """Give the spot notice now; the machine dies at its deadline."""
        machine.deadline_s = self.world.now + in_s
        self._write("notice", (machine.instance_id,))
        self.world.after(in_s, self.end, machine, Ending.RECLAIMED)
        at_s = int(self.world.now)
        return Notice(machine.instance_id, NoticeKind.INTERRUPTION, at_s, at_s + in_s)

    def hint(self, machine: Machine) -> Notice:
        """It may be taken back before long, or not."""
        self._write("hint", (machine.instance_id,))
        return Notice(machine.instance_id, NoticeKind.REBALANCE, int(self.world.now))

    def end(self, machine: Machine, why: Ending) -> None:
        """Twice is once."""
        if not machine.alive:
            return
        machine.ended_by = why
        machine.enter(State.SHUTTING_DOWN, self.world.now)
        self._write("ended", (machine.instance_id,), action_id=machine.action_id, why=why.value)
        self.stops(machine)
        self._later(self.manners.stopping_s, self._terminated, machine)

    def alive(self) -> list[Machine]:
        """The living machines of our cluster."""
        return [machine for machine in self._listed.values() if machine.state in ALIVE]

    def usd_per_hour(self) -> float:
        return sum(self.wares.usd(machine.offering) or 0.0 for machine in self.alive())

    def _boot(self, machine: Machine) -> None:
        draw = self.world.random.random()
        machine.joins = draw >= self.manners.never_joins
        if draw > 1 - self.manners.dies_booting:
            self._later(self.manners.pending_s, self.end, machine, Ending.FAILED)
        else:
            self._boots(self.manners.pending_s, self._run, machine)

    def _run(self, machine: Machine) -> None:
        if machine.state is State.PENDING:
            machine.enter(State.RUNNING, self.world.now)
            if machine.joins:
                self._boots(self.manners.joining_s, self._join, machine)

    def _join(self, machine: Machine) -> None:
        if machine.state is State.RUNNING:
            self.joins(machine)

    def _terminated(self, machine: Machine) -> None:
        machine.enter(State.TERMINATED, self.world.now)
        self._write("terminated", (machine.instance_id,))

    def _boots(self, within_s: tuple[float, float], then: Callable[..., None], machine: Machine) -> None:
        self.world.after(self.boots().uniform(*within_s), then, machine)

    def _later(self, within_s: tuple[float, float], then: Callable[..., None], *arguments: object) -> None:
        self.world.after(self.world.random.uniform(*within_s), then, *arguments)

    def _knows(self, machine: Machine) -> bool:
        """Whether a call by id finds the machine: not at once after its launch, nor long after its end."""
        if machine.foreign or machine.instance_id not in self._listed:
            return False
        young = self.world.now - machine.launched_s < self.manners.lag_s
        return not (young and self.world.random.random() < 0.5)

    def _problem(self, launch: Launch) -> str:
        """What is wrong with the request itself; empty if nothing."""
        if launch.pool in self.broken_pools:
            return self.broken_pools[launch.pool]
        if self._subnets.get(launch.subnet_id) != launch.zone:
            return f"InvalidSubnetID.NotFound: {launch.subnet_id} in {launch.zone}"
        made = self._templates.get(launch.pool, [])
        if launch.template_id != f"lt-{launch.pool}" or not 1 <= launch.template_version <= len(made):
            return f"InvalidLaunchTemplateId.NotFound: {launch.template_id} {launch.template_version}"
        if launch.instance_type not in SHAPES:
            return f"InvalidParameterValue: {launch.instance_type}"
        return ""

    def room(self, offering: Offering) -> int:
        """How many more of these the account may have."""
        rooms = [RUN_INSTANCES_RESOURCES]
        for name in (offering.market, offering.quota):
            if name in self.wares.quota:
                used = sum(name in (m.offering.market, m.offering.quota) for m in self.alive())
                rooms.append(self.wares.quota[name] - used)
        return min(rooms)

    def _address(self, zone: str) -> str:
        taken = {m.address for m in self._listed.values() if m.state is not State.TERMINATED}
        prefix = f"ip-10-{self.zones.index(zone)}-"
        assert len(taken) < self.manners.addresses, "there are more machines than addresses"
        while True:
            address = f"{prefix}{self.world.random.randrange(self.manners.addresses)}"
            if address not in taken:
                return address

    def _refuse(self, kind: Refusal, token: str, message: str) -> Refused:
        self._write("refused", token=token, why=message)
        return Refused(kind, message)

    def _write(
        self, kind: str, ids: tuple[str, ...] = (), *, action_id: str = "", token: str = "", why: str = ""
    ) -> None:
        entry = Entry(self.world.now, kind, ids, action_id, token, why)
        self.log.append(entry)
        self.told(entry)
