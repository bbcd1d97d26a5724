"""What the cloud did, from its own log, beside what the autoscaler says of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.kernel import Event, Logged
from tools.parts.ec2.client import Ec2Control

ASKED = "Client.UserInitiatedShutdown"
NEVER_S = float("inf")

Entry = dict[str, Any]


@dataclass
class Machine:
    """One instance of the cluster, as the cloud's own log tells of it."""

    instance_id: str
    zone: str = ""
    running_s: float = NEVER_S
    ended_s: float = NEVER_S
    ended_by_us: bool = False
    warned_s: float = NEVER_S

    @property
    def alive(self) -> bool:
        return self.ended_s == NEVER_S

    def serves_at(self, moment_s: float) -> bool:
        return self.running_s <= moment_s < self.ended_s

    def follow(self, entry: Entry) -> None:
        match entry["state"]:
            case "running":
                self.running_s = entry["at_s"]
            case "shutting-down" | "terminated":
                self.ended_s = min(self.ended_s, entry["at_s"])
                self.ended_by_us = self.ended_by_us or ASKED in str(entry.get("reason"))


@dataclass
class Books:
    machines: dict[str, Machine] = field(default_factory=dict)
    logged: list[Logged] = field(default_factory=list)
    repeated: int = 0
    """Launches that were asked for again, and were the same."""
    calls: int = 0
    foreign_ends: list[str] = field(default_factory=list)
    """Machines of others that a call tried to end."""

    @property
    def alive(self) -> dict[str, Machine]:
        return {name: machine for name, machine in self.machines.items() if machine.alive}

    def about(self, *kinds: str) -> Iterator[Event]:
        return (one.event for one in self.logged if one.event.kind in kinds)

    def since(self, kind: str) -> dict[str, float]:
        """By machine: when this was first said of it."""
        found: dict[str, float] = {}
        for event in self.about(kind):
            found.setdefault(event.about, event.at_s)
        return found

    @property
    def recorded(self) -> set[str]:
        told = (event.reason.split() for event in self.about("recordScaleUpInstances"))
        return {word for words in told for word in words if word.startswith("i-")}


class Ledger:
    """Keeps the books: reads on in both logs from where it stopped."""

    def __init__(self, ec2: Ec2Control, store: ClusterStore, cluster_name: str) -> None:
        self._ec2, self._store, self._cluster_name = ec2, store, cluster_name
        self.known = Books()
        """As of the last reading."""
        self._read = 0
        self._ours: dict[str, bool] = {}

    def books(self) -> Books:
        self._read_on()
        last = self.known.logged[-1].version if self.known.logged else 0
        self.known.logged += self._store.events(SUBJECT, last)
        return self.known

    def calls(self) -> int:
        """How often the cloud was made to launch or end something so far."""
        self._read_on()
        return self.known.calls

    def _read_on(self) -> None:
        entries = self._ec2.log(self._read)
        self._read += len(entries)
        for entry in entries:
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        machines = self.known.machines
        match entry["kind"]:
            case "state" if self._is_ours(entry["instance"]):
                machines.setdefault(entry["instance"], Machine(entry["instance"])).follow(entry)
            case "interruption" if entry["instance"] in machines:
                machines[entry["instance"]].warned_s = entry["at_s"]
            case "call" if entry["action"] == "RunInstances":
                self.known.calls += 1
                self.known.repeated += bool(entry.get("repeat"))
                for instance_id in entry.get("instances", []):
                    if instance_id in machines:
                        machines[instance_id].zone = entry["zone"]
            case "call" if entry["action"] == "TerminateInstances":
                self.known.calls += 1
                self.known.foreign_ends += [i for i in entry.get("instances", []) if not self._is_ours(i)]

    def _is_ours(self, instance_id: str) -> bool:
        if instance_id not in self._ours:
            tags = self._ec2.instance(instance_id)["tags"]
            self._ours[instance_id] = tags.get("Cluster") == self._cluster_name
        return self._ours[instance_id]
