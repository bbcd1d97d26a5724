"""What must be true of the file afterwards, whatever was killed when."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from holdfast.adapters.sql.sqlite import Database
from holdfast.app.autoscaler.stores import sqlite_cluster_store
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster, ScaleUp
from holdfast.kernel import FREE, Event, HoldfastError, Lock, Logged, Versioned

Acknowledged = tuple[int, str]
"""Version and commit id, told by a worker after its commit had returned."""


def judge(path: str, acknowledged: Sequence[Acknowledged], begun: set[str]) -> list[str]:
    """Every problem found; none is what we want.  `begun`: ids of all commits ever tried."""
    try:
        with closing(sqlite3.connect(path)) as raw:
            health = [row[0] for row in raw.execute("PRAGMA integrity_check")]
        with closing(Database(path)) as database:
            store = sqlite_cluster_store(database)
            found, log = store.read(SUBJECT), store.events(SUBJECT)
    except (sqlite3.Error, HoldfastError) as error:
        return [f"the file cannot be read: {error}"]
    ids = {logged.version: logged.commit_id for logged in log}
    return [
        *([] if health == ["ok"] else [f"integrity_check: {health}"]),
        *_in_order(log),
        *_kept(acknowledged, ids, begun),
        *_same(found, log),
    ]


def commit_ids(path: str) -> dict[int, str]:
    """The commit id behind each version of the log."""
    with closing(Database(path)) as database:
        return {logged.version: logged.commit_id for logged in sqlite_cluster_store(database).events(SUBJECT)}


def _in_order(log: Sequence[Logged]) -> Iterator[str]:
    """Versions 1..N without a gap, one commit id each, its events numbered from 0."""
    version, n, ids = 0, -1, list[str]()
    for logged in log:
        if logged.version == version:
            n += 1
        else:
            if logged.version != version + 1:
                yield f"version {logged.version} follows version {version}"
            version, n = logged.version, 0
            ids.append(logged.commit_id)
        if logged.commit_id != ids[-1]:
            yield f"version {version} has two commit ids"
        if logged.n != n:
            yield f"event {logged.n} of version {version} stands where {n} belongs"
    if len(set(ids)) != len(ids):
        yield "one commit id made two versions"


def _kept(acknowledged: Sequence[Acknowledged], ids: Mapping[int, str], begun: set[str]) -> Iterator[str]:
    for version, commit_id in acknowledged:
        if ids.get(version) != commit_id:
            yield f"version {version} was acknowledged to {commit_id}; the log has {ids.get(version)}"
    for version, commit_id in ids.items():
        if commit_id not in begun:
            yield f"version {version} is by {commit_id}, which no worker ever tried"


def _same(found: Versioned[Cluster], log: Sequence[Logged]) -> Iterator[str]:
    """The record is what its events make of an empty one."""
    told = Cluster()
    for logged in log:
        try:
            told = after(told, logged.event)
        except ValueError as error:
            yield f"version {logged.version}: {error}"
            return
    if found.value != told:
        yield f"the record is {found.value}; its events make {told}"
    last = (log[-1].version, log[-1].commit_id) if log else (0, "")
    if (found.version, found.commit_id) != last:
        yield f"the record is version {found.version} by {found.commit_id}; the log ends with {last}"


def after(cluster: Cluster, event: Event) -> Cluster:
    """The record after one event; ValueError if it cannot have happened to this one."""
    numbers = event.numbers
    match event.kind:
        case "begun" if cluster.scale_up is None:
            up = ScaleUp(event.about, int(numbers["started_s"]), int(numbers["requested"]))
            return replace(cluster, scale_up=up)
        case "finished" if cluster.scale_up and cluster.scale_up.action_id == event.about:
            count = cluster.worker_count + cluster.scale_up.requested
            if numbers["added"] != cluster.scale_up.requested or numbers["worker_count"] != count:
                raise ValueError(f"{event} does not follow from {cluster}")
            return replace(
                cluster, scale_up=None, worker_count=count, last_scale_s=int(numbers["last_scale_s"])
            )
        case "lockTaken":
            return cluster.with_lock(Lock(event.about, numbers["until_s"]))
        case "handedOver":
            return cluster.with_lock(Lock(event.about, numbers["until_s"]) if event.about else FREE)
    raise ValueError(f"{event} cannot happen to {cluster}")
