"""Everything there is, and the one lock over it."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tools.parts.ec2.api.faults import Faults
from tools.parts.ec2.api.moto_app import ACCOUNT, Moto
from tools.parts.ec2.api.rates import Rates
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ec2.delivery import Delivery
from tools.parts.ec2.events import Bus
from tools.parts.ec2.log import Log
from tools.parts.ec2.machines.capacity import Capacity
from tools.parts.ec2.machines.fleet import Fleet
from tools.parts.ec2.machines.prices import Prices
from tools.parts.ec2.machines.timers import Timers
from tools.parts.ec2.machines.tokens import Tokens
from tools.parts.imds.book import Book


@dataclass
class World:
    """A thread that touches any of it holds the lock; log, book and bus have locks of their own besides."""

    moto: Moto
    log: Log
    behaviour: Behaviour
    book: Book = field(default_factory=Book)
    capacity: Capacity = field(default_factory=Capacity)
    faults: Faults = field(default_factory=Faults)
    prices: Prices = field(default_factory=Prices)
    tokens: Tokens = field(default_factory=Tokens)
    rates: Rates = field(default_factory=lambda: Rates(time.monotonic))
    lock: threading.RLock = field(default_factory=threading.RLock)
    bus: Bus = field(default_factory=lambda: Bus(ACCOUNT))
    delivery: Delivery = field(init=False)
    fleet: Fleet = field(init=False)
    seed: int = 0

    def __post_init__(self) -> None:
        self.delivery = Delivery(self.log)
        self.bus.listen(self.delivery.take)
        timers = Timers(self.lock)
        self.fleet = Fleet(self.moto, self.log, self.bus, timers, self.book, self.behaviour, self.seed)


def make_world(log_file: Path, behaviour: Behaviour, seed: int) -> World:
    return World(Moto(), Log(log_file), behaviour, seed=seed)
