"""A server, three machines, and every way to lose the primary: another serves soon, and never two at once."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.machine import eventually, hears
from tests.agent.metadata import Script
from tests.real.product.failover_agent.fleet import LEASE_S, Fleet, Machine, Prober
from tools.parts.imds.control import stamp

pytestmark = pytest.mark.waiting

Fault = Callable[[Machine], Callable[[], None]]
"""Harms the primary; what it answers undoes it, as far as it can be undone."""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    yield made
    made.close()


@pytest.fixture
def prober(fleet: Fleet) -> Iterator[Prober]:
    for _ in range(3):
        fleet.launch()
    made = Prober(fleet.machines).start()
    yield made
    made.close()


def killed_whole(machine: Machine) -> Callable[[], None]:
    machine.signal(signal.SIGKILL, *machine.all)
    return lambda: None


def agent_killed(machine: Machine) -> Callable[[], None]:
    machine.signal(signal.SIGKILL, machine.agent.pid)
    return lambda: None


def agent_stopped(machine: Machine) -> Callable[[], None]:
    machine.signal(signal.SIGSTOP, machine.agent.pid)
    return lambda: machine.signal(signal.SIGCONT, machine.agent.pid)


def all_stopped(machine: Machine) -> Callable[[], None]:
    """As if the machine were suspended; the service wakes before what could stop it."""
    agent, dog, counter = machine.all
    machine.signal(signal.SIGSTOP, agent, dog, counter)

    def wake() -> None:
        machine.signal(signal.SIGCONT, counter)
        time.sleep(0.5)
        machine.signal(signal.SIGCONT, dog, agent)

    return wake


def watchdog_and_agent_killed_one_after_the_other(machine: Machine) -> Callable[[], None]:
    dog = machine.watchdog
    machine.signal(signal.SIGKILL, dog)
    eventually(lambda: machine.watchdog != dog, "another watchdog")
    machine.signal(signal.SIGKILL, machine.agent.pid)
    return lambda: None


FAULTS: tuple[Fault, ...] = (
    killed_whole,
    agent_killed,
    agent_stopped,
    all_stopped,
    watchdog_and_agent_killed_one_after_the_other,
)


def epoch(prober: Prober) -> int:
    return prober.writes[-1].epoch if prober.writes else 0


def in_service(fleet: Fleet, prober: Prober) -> Machine:
    """The primary, once it serves and a standby is ready to take over."""

    def found() -> Machine | None:
        members = fleet.ask("GET", "/api/agents/db")["members"]
        primary = fleet.primary()
        ready = any(member["ready"] for member in members if member["status"] == "running_replica")
        serves = prober.writes and prober.writes[-1].told_s > time.monotonic() - 1
        return primary if primary and ready and serves else None

    machine: Machine = eventually(found, "a primary in service, and a standby")
    return machine


def test_every_way_to_lose_the_primary_is_survived_and_never_two_serve(fleet: Fleet, prober: Prober) -> None:
    for fault in FAULTS:
        primary, before = in_service(fleet, prober), epoch(prober)
        undo, began_s = fault(primary), time.monotonic()
        eventually(lambda before=before: epoch(prober) > before, f"a new primary after {fault.__name__}")  # type: ignore[misc]
        took_s = time.monotonic() - began_s
        undo()
        assert took_s < LEASE_S + 20, f"{fault.__name__}: {took_s:.1f} s, on a machine that may be busy"
        fleet.launch()
        time.sleep(1.0)  # what was woken had time to serve, if it would
    prober.close()
    assert prober.accidents() == []
    told = fleet.holdfast("why", "db")
    assert "is primary" in told


def test_a_notice_hands_over_before_the_machine_goes_and_loses_nothing(
    fleet: Fleet, prober: Prober, script: Script
) -> None:
    primary = in_service(fleet, prober)
    with_metadata = fleet.launch("--imds", script.server.url)
    eventually(lambda: "asked to follow, epoch 1" in with_metadata.said())
    primary.signal(signal.SIGKILL, *primary.all)
    eventually(lambda: epoch(prober) > 1)
    # Whichever took over: the one with metadata becomes primary by an operator's word.
    name = with_metadata.instance_id
    in_service(fleet, prober)
    if fleet.primary() is not with_metadata:
        eventually(lambda: ready(fleet, name))
        fleet.ask("POST", "/api/agents/db/switch", {"to": name})
        eventually(lambda: fleet.primary() is with_metadata, "the switch")
    in_service(fleet, prober)
    before = prober.writes[-1]
    script.book.interrupt("i-1", "terminate", stamp(time.time() + 120))
    began_s = time.monotonic()
    eventually(lambda: epoch(prober) > before.epoch, "the handover")
    assert time.monotonic() - began_s < 30, "without waiting for the lease"
    prober.close()
    assert prober.accidents() == []
    last = max(w.count for w in prober.writes if w.epoch == before.epoch)
    first = min(w.count for w in prober.writes if w.epoch > before.epoch)
    assert first == last + 1, "no acknowledged write is lost in a handover"


def ready(fleet: Fleet, instance_id: str) -> bool:
    members = fleet.ask("GET", "/api/agents/db")["members"]
    return any(member["ready"] for member in members if member["instance_id"] == instance_id)


def test_a_second_process_with_the_same_id_gets_nothing_while_the_first_serves(
    fleet: Fleet, prober: Prober
) -> None:
    primary, before = in_service(fleet, prober), epoch(prober)
    copy = fleet.copy(primary)
    eventually(lambda: "SESSION_HELD" in copy.said(), "the refusal")
    time.sleep(LEASE_S)
    assert "starting" not in copy.said()
    assert epoch(prober) == before
    assert in_service(fleet, prober) is primary
    prober.close()
    assert prober.accidents() == []
    assert {write.instance_id for write in prober.writes} == {primary.instance_id}


def test_a_restarted_agent_and_a_released_one(fleet: Fleet, prober: Prober) -> None:
    primary, before = in_service(fleet, prober), epoch(prober)
    counter = primary.counter
    for _ in range(3):
        primary.agent.send_signal(signal.SIGTERM)
        primary.agent.wait(60)
        primary.start()
        time.sleep(1.0)
    in_service(fleet, prober)
    assert primary.counter == counter, "restarts interrupt nothing"
    assert epoch(prober) == before
    eventually(lambda: hears(primary.agent.pid, signal.SIGUSR1), "the agent hears what it is asked")
    primary.agent.send_signal(signal.SIGUSR1)
    assert primary.agent.wait(60) == 0
    eventually(lambda: epoch(prober) > before, "the handover")
    prober.close()
    assert prober.accidents() == []
    gaps = [b.told_s - a.told_s for a, b in zip(prober.writes, prober.writes[1:], strict=False)]
    assert max(gaps) < LEASE_S + 10
