"""One machine of the simulated cloud, and what a listing has shown of it over time."""

from dataclasses import dataclass, field
from enum import Enum

from holdfast.cloud import ALIVE, Instance, Offering, State


class Ending(Enum):
    """What ended a machine."""

    ASKED = "a client asked"
    RECLAIMED = "the cloud took it back"
    FAILED = "it failed"


@dataclass(slots=True)
class Machine:
    instance_id: str
    offering: Offering
    pool: str
    launched_s: float
    action_id: str = ""
    token: str = ""
    foreign: bool = False
    """Of another cluster: never listed for ours, never ours to touch."""
    address: str = ""
    """The name that its node joins under.  Addresses are used again."""
    deadline_s: float = 0.0
    """It has its notice, and dies then.  0: it has none."""
    ended_by: Ending | None = None
    protected: bool = False
    """Termination protection: no request ends it."""
    joins: bool = True
    """False: it boots and is never heard of."""
    served: bool = False
    """A pod was placed on it."""
    past: list[tuple[float, Instance]] = field(default_factory=list)

    @property
    def state(self) -> State:
        return self.past[-1][1].state

    @property
    def changed_s(self) -> float:
        return self.past[-1][0]

    @property
    def alive(self) -> bool:
        return self.state in ALIVE

    @property
    def listed(self) -> Instance:
        return self.past[-1][1]

    @property
    def ended_s(self) -> float:
        """When it stopped working; infinity while it works."""
        return next((at_s for at_s, seen in self.past if seen.state not in ALIVE), float("inf"))

    def enter(self, state: State, now_s: float) -> None:
        where = self.offering
        self.past.append(
            (
                now_s,
                Instance(
                    instance_id=self.instance_id,
                    state=state,
                    zone=where.zone,
                    instance_type=where.instance_type,
                    market=where.market,
                    launched_s=int(self.launched_s),
                    pool=self.pool,
                    action_id=self.action_id,
                    token=self.token,
                    private_dns=f"{self.address}.internal",
                ),
            )
        )

    def as_of(self, then_s: float) -> Instance | None:
        """What a listing of that moment shows; None if the machine was not there yet."""
        return next((seen for at_s, seen in reversed(self.past) if at_s <= then_s), None)
