"""What befalls a primary.  Each fault harms one machine, and answers what undoes it, if anything does."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tests.agent.machine import alive
from tests.real.product.failover_fleet.fleet import Fleet, Wired, eventually
from tools.parts.imds.control import stamp

NOTICE_S = 120.0
Undo = Callable[[], None]


def nothing() -> None:
    """What is dead stays so."""


def notice(fleet: Fleet, wired: Wired) -> Undo:
    """Two minutes before the cloud takes it back; a hint comes first, which changes no role."""
    fleet.book.rebalance(wired.instance_id, stamp(time.time()))
    fleet.book.interrupt(wired.instance_id, "terminate", stamp(time.time() + NOTICE_S))
    return nothing


def killed_whole(fleet: Fleet, wired: Wired) -> Undo:
    wired.machine.signal(signal.SIGKILL, *wired.machine.all)
    return nothing


def agent_killed(fleet: Fleet, wired: Wired) -> Undo:
    wired.machine.signal(signal.SIGKILL, wired.machine.agent.pid)
    return nothing


def agent_stopped(fleet: Fleet, wired: Wired) -> Undo:
    pid = wired.machine.agent.pid
    wired.machine.signal(signal.SIGSTOP, pid)
    return lambda: wired.machine.signal(signal.SIGCONT, pid)


def watchdog_killed_then_agent(fleet: Fleet, wired: Wired) -> Undo:
    """The agent starts another watchdog; without its agent that one counts alone."""
    first = wired.machine.watchdog
    wired.machine.signal(signal.SIGKILL, first)
    eventually(lambda: wired.machine.watchdog != first, "another watchdog")
    wired.machine.signal(signal.SIGKILL, wired.machine.agent.pid)
    return nothing


def watchdog_stopped_then_agent(fleet: Fleet, wired: Wired) -> Undo:
    """The agent replaces the one that hangs, and then hangs itself."""
    first, agent = wired.machine.watchdog, wired.machine.agent.pid
    wired.machine.signal(signal.SIGSTOP, first)
    eventually(lambda: not alive(first) and wired.machine.watchdog != first, "another watchdog")
    wired.machine.signal(signal.SIGSTOP, agent)
    return lambda: wired.machine.signal(signal.SIGCONT, agent)


def service_killed(fleet: Fleet, wired: Wired) -> Undo:
    """Agent and watchdog are well: its health tells."""
    wired.machine.signal(signal.SIGKILL, wired.machine.counter)
    return nothing


def service_stopped(fleet: Fleet, wired: Wired) -> Undo:
    pid = wired.machine.counter
    wired.machine.signal(signal.SIGSTOP, pid)
    return lambda: wired.machine.signal(signal.SIGCONT, pid)


def all_stopped(fleet: Fleet, wired: Wired) -> Undo:
    """As if the machine were suspended.  The service wakes before what could stop it."""
    agent, dog, service = wired.machine.all
    wired.machine.signal(signal.SIGSTOP, agent, dog, service)

    def wake() -> None:
        wired.machine.signal(signal.SIGCONT, service)
        time.sleep(0.5)
        wired.machine.signal(signal.SIGCONT, dog, agent)

    return wake


def agent_and_watchdog_killed(fleet: Fleet, wired: Wired) -> Undo:
    """Nothing is left that could stop the service: it looks at its lease itself."""
    wired.machine.signal(signal.SIGKILL, wired.machine.watchdog, wired.machine.agent.pid)
    return nothing


def cut_off(fleet: Fleet, wired: Wired) -> Undo:
    """No server is reached, and what was sent arrives much later."""
    fleet.network.set(*wired.lines, asks=False, answers=False)
    return lambda: fleet.network.set(*wired.lines, asks=True, answers=True)


def answers_lost(fleet: Fleet, wired: Wired) -> Undo:
    """Servers hear each heartbeat and renew the lease; the agent hears nothing, so it stops at its end."""
    fleet.network.set(*wired.lines, asks=True, answers=False)
    return lambda: fleet.network.set(*wired.lines, asks=True, answers=True)


def released(fleet: Fleet, wired: Wired) -> Undo:
    """Its agent is asked to hand over."""
    with suppress(ProcessLookupError):
        wired.machine.agent.send_signal(signal.SIGUSR1)
    return nothing


@dataclass(frozen=True, slots=True)
class Fault:
    strike: Callable[[Fleet, Wired], Undo]
    for_blind: bool = True
    """Whether a service that knows nothing of leases is kept safe through it by agent and watchdog."""
    leases: int = 1
    """So many lease times pass before another may be promoted."""

    @property
    def name(self) -> str:
        return self.strike.__name__


FAULTS = (
    Fault(notice),
    Fault(killed_whole),
    Fault(agent_killed),
    Fault(cut_off),
    Fault(agent_stopped),
    Fault(service_killed),
    Fault(watchdog_killed_then_agent),
    Fault(all_stopped, for_blind=False),
    Fault(service_stopped),
    Fault(answers_lost, leases=3),  # until it stops, until that is believed, and until none is kept for it
    Fault(watchdog_stopped_then_agent),
    Fault(agent_and_watchdog_killed, for_blind=False),
    Fault(released),
)
