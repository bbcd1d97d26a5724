"""Taking over the tables of seed 003 with what they hold: read, checked, set aside, and written anew.

Rule 1: nothing is guessed.  A group with two primaries has none afterwards: both are kept as they are, as
        zombies, the group is DEGRADED, and a person decides.
Rule 2: nothing is lost.  The old tables stay, under another name.
Rule 3: ids that databases would take for each other are refused before anything is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.adapters.sql.connection import Connection, Dialect
from holdfast.adapters.sql.database import Texts, Transaction
from holdfast.adapters.sql.groups.codec import check_id
from holdfast.adapters.sql.groups.write import Stored, WriteGroup
from holdfast.failover.group import TWO_PRIMARIES, Degraded, Group, GroupSettings, Member, Mode
from holdfast.failover.roles import Status
from holdfast.kernel import Event, Invalid, Write

TABLES: Final = ("agents", "instances", "replica_instances", "system_events", "clients", "spot_pools")
"""Names that both have."""
ASIDE: Final = "seed_003_"
KEPT: Final = {Status.REPLICA.value, Status.PRIMARY.value, Status.ZOMBIE.value, Status.TERMINATED.value}

COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = :name"
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What the seed's tables hold, in our words."""

    group: Group
    terminated: Sequence[Row]


def find(session: Connection, dialect: Dialect, now_s: float) -> Sequence[Found] | None:
    """None if there are no tables of the seed.  Raises Invalid for what cannot be taken over."""
    prefix = _prefix(session, dialect)
    if prefix is None:
        return None
    agents = _rows(session, f"{prefix}agents")
    instances = _rows(session, f"{prefix}instances")
    problems = [*_problems(agents, instances)]
    if problems:
        raise Invalid(
            f"{dialect.where}: the tables of before cannot be taken over: {'; '.join(problems)}. Nothing was "
            "changed (mend these rows, or name an empty database)"
        )
    by_agent: dict[str, list[Row]] = {}
    for row in instances:
        by_agent.setdefault(str(row["agent_id"]), []).append(row)
    return [_found(agent, by_agent.get(str(agent["id"]), []), now_s) for agent in agents]


def columns_of(session: Connection, dialect: Dialect, table: str) -> frozenset[str]:
    sql = dialect.placeholders(COLUMNS % dialect.macros["schema"])
    return frozenset(str(name).lower() for (name,) in session.run(sql, {"name": table}).rows)


def to_set_aside(session: Connection, dialect: Dialect) -> Sequence[str]:
    """The seed's tables, if they still stand where ours shall be."""
    if _prefix(session, dialect) != "":
        return []
    return [name for name in TABLES if columns_of(session, dialect, name)]


def adopt(session: Connection, dialect: Dialect, found: Sequence[Found], now_s: float) -> None:
    """Write the groups into our tables, in the caller's transaction."""
    tx = Transaction(session, Texts(dialect))
    for each in found:
        group = each.group
        tx.run("add_client_if_missing", client_id=group.client_id)
        tx.run("add_agent", id=group.subject, client_id=group.client_id, agent_id=group.agent_id)
        told = Event("migrated", now_s, reason="from the tables of before", code=_code(group))
        stored = Stored(group.subject, group.client_id, None, "{}", 0)
        WriteGroup(dialect, tx, stored, Write(group, (told,)), 1, "migration").run(None)
        for row in each.terminated:
            place = {"id": group.subject, "client_id": group.client_id, "instance_id": str(row["id"])}
            tx.run("add_instance", **place, status=str(Status.TERMINATED))
            at_s = _seconds(row.get("terminated_at")) or now_s
            tx.run("leave_record", **place, epoch=group.epoch, goal_version=1, at_s=at_s)


def _code(group: Group) -> str:
    return group.degraded.code if group.degraded else ""


def _prefix(session: Connection, dialect: Dialect) -> str | None:
    for prefix in ("", ASIDE):
        there = columns_of(session, dialect, f"{prefix}agents")
        if "logical_agent_id" in there and "commit_id" not in there:
            return prefix
    return None


def _rows(session: Connection, table: str) -> list[Row]:
    names = [str(name).lower() for name in session.names(f"SELECT * FROM {table} WHERE 1 = 0")]
    return [dict(zip(names, row, strict=True)) for row in session.run(f"SELECT * FROM {table}").rows]


def _problems(agents: Sequence[Row], instances: Sequence[Row]) -> Sequence[str]:
    found = []
    for row in agents:
        found += _not_an_id("agents", "client_id", row) + _not_an_id("agents", "logical_agent_id", row)
    for row in instances:
        found += _not_an_id("instances", "id", row)
    known = {str(row["id"]) for row in agents}
    found += [
        f"instances.agent_id = {row['agent_id']!r}: there is no such agent"
        for row in instances
        if str(row["agent_id"]) not in known
    ]
    return found


def _not_an_id(table: str, column: str, row: Row) -> list[str]:
    try:
        check_id(f"{table}.{column}", str(row[column]))
    except Invalid as invalid:
        return [str(invalid)]
    return []


def _found(agent: Row, rows: Sequence[Row], now_s: float) -> Found:
    living = [row for row in rows if row["instance_status"] != Status.TERMINATED.value]
    primaries = [str(row["id"]) for row in living if _is_primary(row)]
    one = len(primaries) == 1
    degraded = None
    if len(primaries) > 1:
        both = " and ".join(sorted(primaries))
        said = f"{both} were both primary: `failover revive` the right one, then `failover promote` it"
        degraded = Degraded(now_s, TWO_PRIMARIES, said)
    group = Group(
        client_id=str(agent["client_id"]),
        agent_id=str(agent["logical_agent_id"]),
        epoch=1 if primaries else 0,
        served_epoch=1 if one else 0,
        members=tuple(_member(row, now_s, keep_primary=one) for row in living),
        settings=_settings(agent),
        degraded=degraded,
        created_s=now_s,
    )
    return Found(group, [row for row in rows if row["instance_status"] == Status.TERMINATED.value])


def _is_primary(row: Row) -> bool:
    return bool(row["is_primary"]) and row["instance_status"] == Status.PRIMARY.value


def _member(row: Row, now_s: float, *, keep_primary: bool) -> Member:
    status = Status(row["instance_status"]) if row["instance_status"] in KEPT else Status.ZOMBIE
    failure = "" if row["instance_status"] in KEPT else f"was {row['instance_status']!r} before"
    if status is Status.PRIMARY and not (keep_primary and _is_primary(row)):
        status, failure = Status.ZOMBIE, "one of several primaries"
    demoted_s = (_seconds(row.get("terminated_at")) or now_s) if status is Status.ZOMBIE else 0.0
    return Member(
        instance_id=str(row["id"]),
        status=status,
        since_s=now_s,
        version=int(row.get("version") or 0),
        instance_type=str(row.get("instance_type") or ""),
        region=str(row.get("region") or ""),
        az=str(row.get("az") or ""),
        demoted_at_s=demoted_s,
        failure=failure,
    )


def _settings(agent: Row) -> GroupSettings:
    """Both modes at once is none: which one was meant is not guessed."""
    auto, manual = bool(agent.get("auto_switch_enabled", True)), bool(agent.get("manual_replica_enabled"))
    mode = Mode.OFF if auto == manual else Mode.AUTO_SWITCH if auto else Mode.MANUAL_REPLICA
    return GroupSettings(
        mode=mode,
        auto_terminate=bool(agent.get("auto_terminate_enabled")),
        terminate_wait_s=float(agent.get("terminate_wait_seconds") or GroupSettings().terminate_wait_s),
    )


def _seconds(value: Any) -> float:
    """A stored time, which the session takes for UTC."""
    if not isinstance(value, datetime):
        return 0.0
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
