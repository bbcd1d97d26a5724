"""A group as rows: columns by the names of the seeds, and what has no name there in `body`.

Each field stands once, but for times: a column holds them for people and their queries, `body` as they are.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import msgspec

from holdfast.failover.group import ID, Group, GroupSettings, Member, Replica
from holdfast.failover.roles import Status
from holdfast.kernel import Corrupt, Invalid

AS_TEXT: Final = json.JSONEncoder(allow_nan=False).encode
MEMBER_COLUMNS: Final = frozenset({"instance_id", "status", "version", "instance_type", "region", "az"})
REPLICA_COLUMNS: Final = frozenset({"replica_id", "instance_id", "status", "emergency"})
GROUP_COLUMNS: Final = frozenset({"client_id", "agent_id", "epoch", "members", "replicas"})
SETTINGS_COLUMNS: Final = frozenset({"mode", "auto_terminate", "terminate_wait_s"})


def key_of(subject: str) -> tuple[str, str]:
    """Client and agent of a subject; raises Invalid for ids that databases would take for each other."""
    client_id, _, agent_id = subject.partition("/")
    for what, value in (("client_id", client_id), ("agent_id", agent_id)):
        check_id(what, value)
    return client_id, agent_id


def check_id(what: str, value: str) -> None:
    if not ID.fullmatch(value):
        raise Invalid(f"{what} = {value!r}: is not an id (1 to 64 of A-Z a-z 0-9 . _ : -)")


def group_body(group: Group, stored: Mapping[str, Any]) -> str:
    said = _rest(group, GROUP_COLUMNS)
    said["settings"] = _rest(group.settings, SETTINGS_COLUMNS)
    return AS_TEXT({**foreign(stored, Group), **said})


def member_body(member: Member, stored: Mapping[str, Any]) -> str:
    return AS_TEXT({**foreign(stored, Member), **_rest(member, MEMBER_COLUMNS)})


def replica_body(replica: Replica, stored: Mapping[str, Any]) -> str:
    return AS_TEXT({**foreign(stored, Replica), **_rest(replica, REPLICA_COLUMNS)})


def foreign(stored: Mapping[str, Any], kind: type[Group | Member | Replica]) -> dict[str, Any]:
    """What a newer release wrote: kept as it is."""
    known = {field.name for field in fields(kind)}
    return {name: value for name, value in stored.items() if name not in known}


def loaded(body: Any) -> dict[str, Any]:
    """The body as it is, or nothing of it if it makes no sense: a write replaces it, a read says so."""
    try:
        found = json.loads(body) if isinstance(body, str | bytes) else body
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def group_of(
    where: str,
    subject: str,
    agent: Sequence[Any] | None,
    instances: Sequence[Sequence[Any]],
    replicas: Sequence[Sequence[Any]],
) -> Group:
    """The record in its rows; raises Corrupt, naming table, key and attribute."""
    client_id, agent_id = key_of(subject)
    if agent is None:
        return Group(client_id=client_id, agent_id=agent_id)
    reader = _Reader(where, subject)
    epoch, mode, auto_terminate, terminate_wait_s, body = agent
    if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
        raise reader.corrupt("epoch", f"is {epoch!r}; expected a whole number of at least 0")
    said = reader.body(body)
    settings = said.get("settings")
    said["settings"] = {
        **(settings if isinstance(settings, dict) else {}),
        "mode": mode,
        "auto_terminate": bool(auto_terminate),
        "terminate_wait_s": terminate_wait_s,
    }
    said |= {"client_id": client_id, "agent_id": agent_id, "epoch": epoch}
    said["members"] = [reader.member(row) for row in instances]
    said["replicas"] = [reader.replica(row) for row in replicas]
    try:
        return msgspec.convert(said, Group)
    except (ValueError, msgspec.ValidationError) as error:
        raise reader.corrupt("body", str(error)) from error


class _Reader:
    def __init__(self, where: str, subject: str) -> None:
        self._where, self._subject = where, subject

    def corrupt(self, attribute: str, problem: str) -> Corrupt:
        return Corrupt(
            table=f"{self._where}: agents, instances and replica_instances",
            key=self._subject,
            attribute=attribute,
            problem=f"{problem}. Nothing was changed: mend it by hand",
        )

    def body(self, text: Any) -> dict[str, Any]:
        try:
            found = json.loads(text) if isinstance(text, str | bytes) else text
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.corrupt("body", f"is {text!r}; expected a JSON object")
        return dict(found)

    def member(self, row: Sequence[Any]) -> dict[str, Any]:
        instance_id, status, is_primary, version, instance_type, region, az, body = row
        if status not in {each.value for each in Status}:
            raise self.corrupt("instance_status", f"{instance_id} is {status!r}; expected a known status")
        if Status(status).is_primary != bool(is_primary):
            raise self.corrupt("is_primary", f"{instance_id} is {is_primary!r} but its status is {status!r}")
        named = {"instance_id": instance_id, "status": status, "version": version}
        return {**self.body(body), **named, "instance_type": instance_type, "region": region, "az": az}

    def replica(self, row: Sequence[Any]) -> dict[str, Any]:
        replica_id, instance_id, status, emergency, body = row
        named = {"replica_id": replica_id, "instance_id": instance_id, "status": status}
        return {**self.body(body), **named, "emergency": bool(emergency)}


def _rest(value: Group | GroupSettings | Member | Replica, columns: frozenset[str]) -> dict[str, Any]:
    """All fields that have no column."""
    found: dict[str, Any] = msgspec.to_builtins(value)
    return {name: each for name, each in found.items() if name not in columns}
