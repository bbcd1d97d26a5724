"""Every machine and node accounted for: what must hold of the books, each as a list of problems."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.cloud.kubernetes import CORDON_OWNERS, JOINING_TAINT
from holdfast.kernel import Logged
from tools.endure.books import NEVER_S, Books

LOOKED_S = 5.0
"""A look may be this old when something is decided by it."""


def launches_are_recorded(books: Books) -> Iterator[str]:
    """No machine that no event tells of, and none that is only imagined."""
    excused = {event.about for event in books.about("adopted", "terminating")}
    for instance_id in books.machines.keys() - books.recorded - excused:
        yield f"{instance_id} was launched, and no event tells of it"
    for instance_id in books.recorded - books.machines.keys():
        yield f"{instance_id} is recorded as launched, and never was"


def ends_are_condemned(books: Books) -> Iterator[str]:
    """Nothing is ended that was not condemned before, and nothing condemned lives on."""
    condemned = books.since("terminating")
    for machine in books.machines.values():
        if machine.ended_by_us and condemned.get(machine.instance_id, NEVER_S) > machine.ended_s:
            yield f"{machine.instance_id} was ended, and had not been condemned"
        if machine.alive and machine.instance_id in condemned:
            yield f"{machine.instance_id} was condemned, and lives on"
        if not machine.alive and not machine.ended_by_us and machine.warned_s == NEVER_S:
            yield f"{machine.instance_id} ended, and no event says why"


def floors_are_kept(books: Books, floor: int) -> Iterator[str]:
    """At each scale-down enough others served, in its own zone too.  What the cloud took is not our doing."""
    interrupted, condemned = books.since("interrupted"), books.since("terminating")
    for event in books.about("terminating"):
        if "left" not in event.numbers:
            continue  # it never served
        now_s, leaving = event.at_s, books.machines[event.about]
        others = [
            machine
            for machine in books.machines.values()
            if machine is not leaving
            and (machine.serves_at(now_s) or machine.serves_at(now_s - LOOKED_S))
            and interrupted.get(machine.instance_id, NEVER_S) > now_s
            and condemned.get(machine.instance_id, NEVER_S) > now_s
        ]
        if len(others) < floor:
            yield f"{event.about} was condemned with {len(others)} others left of {floor} needed"
        if len({other.zone for other in others}) < len({other.zone for other in [*others, leaving]}):
            yield f"{event.about} was condemned as the last one in {leaving.zone}"


def zones_are_balanced(books: Books, zones: Iterable[str]) -> Iterator[str]:
    """No zone has two more than another, but for those where machines were reclaimed: they are left alone."""
    reclaimed = {
        books.machines[about].zone for about in books.since("interrupted") if about in books.machines
    }
    count = Counter(dict.fromkeys(zones, 0))
    count.update(machine.zone for machine in books.alive.values())
    behind = {zone for zone in count if max(count.values()) - count[zone] > 1}
    if behind - reclaimed:
        yield f"zones are not balanced: {dict(sorted(count.items()))}"


def none_is_surplus(books: Books, needed: int) -> Iterator[str]:
    if len(books.alive) > needed:
        yield f"{len(books.alive)} machines live where {needed} carry everything"


def log_is_whole(logged: Sequence[Logged], version: int) -> Iterator[str]:
    """Every version has its events, in order."""
    missing = sorted(set(range(1, version + 1)) - {one.version for one in logged})
    if missing:
        yield f"the log of {version} versions misses {missing[:5]}"


def warnings_are_heard(books: Books) -> Iterator[str]:
    """A machine that the cloud takes back is known to be interrupted, or was leaving anyway."""
    known = {*books.since("interrupted"), *books.since("terminating")}
    for machine in books.machines.values():
        if machine.warned_s != NEVER_S and machine.instance_id not in known:
            yield f"{machine.instance_id} was to be taken back, and no event tells of it"


def others_are_let_be(books: Books, nodes: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Machines and nodes of another cluster: neither ended, nor marked."""
    for instance_id in books.foreign_ends:
        yield f"{instance_id} belongs to another cluster, and was ended"
    for node in nodes:
        if node["spec"].get("unschedulable") or CORDON_OWNERS in node["metadata"].get("annotations", {}):
            yield f"node {node['metadata']['name']} belongs to another cluster, and was cordoned"


def nodes_are_at_rest(nodes: Iterable[dict[str, Any]], books: Books) -> Iterator[str]:
    """A node for every machine and a machine for every node; open, and without marks."""
    alive = books.alive.keys()
    found: set[str] = set()
    for node in nodes:
        meta, spec = node["metadata"], node["spec"]
        instance_id = spec.get("providerID", "").rpartition("/")[2]
        found.add(instance_id)
        if instance_id not in alive:
            yield f"node {meta['name']} stands for {instance_id or 'nothing'}, which is gone"
        if spec.get("unschedulable"):
            yield f"node {meta['name']} was left cordoned"
        if CORDON_OWNERS in meta.get("annotations", {}):
            yield f"node {meta['name']} was left with owners of a cordon"
        if any(taint["key"] == JOINING_TAINT for taint in spec.get("taints", [])):
            yield f"node {meta['name']} was never admitted"
    for instance_id in alive - found:
        yield f"{instance_id} lives and is no node"
