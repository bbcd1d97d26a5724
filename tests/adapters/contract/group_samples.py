"""Groups that differ, and values that make no sense in their rows."""

from dataclasses import replace
from typing import Any

from holdfast.failover.group import Group, GroupSettings, Member, Mode, NoticeKind, Replica, Takeover
from holdfast.failover.roles import Status


def groups(client_id: str, agent_id: str) -> tuple[Group, Group, Group]:
    """A primary, its revocation, and its reinstatement: each may follow on each."""
    primary = Member(
        instance_id="i-1", status=Status.PRIMARY, since_s=1729999000.5, version=3, instance_type="m6i.large",
        region="eu-west-1", az="eu-west-1a", address="10.0.0.1:5432", notice=NoticeKind.TERMINATION,
        notice_at_s=1729999990.25, deadline_s=1730000110.25,
    )  # fmt: skip
    standby = Member(instance_id="i-2", status=Status.REPLICA, priority=50, replica_id="r-1", emergency=True)
    intent = Replica(
        replica_id="r-2",
        token="token-2",
        pool="m6i.large.eu-west-1b",
        market="on-demand",
        created_s=1730000000.1,
    )
    whole = Group(
        client_id=client_id,
        agent_id=agent_id,
        epoch=1,
        served_epoch=1,
        members=(primary, standby),
        replicas=(intent,),
        settings=GroupSettings(
            mode=Mode.MANUAL_REPLICA, auto_terminate=False, terminate_wait_s=1.5, max_lag_s=3.0
        ),
        created_s=1729999000.5,
    )
    takeover = Takeover(
        old="i-1", reason="termination notice", code="terminationNotice", started_s=1730000000.5
    )
    revoked = replace(primary, status=Status.DEMOTING, demoted_at_s=1730000000.5)
    again = replace(primary, status=Status.PROMOTING)
    return (
        whole,
        replace(whole, epoch=2, members=(revoked, standby), takeover=takeover),
        replace(
            whole,
            epoch=2,
            members=(again, standby),
            takeover=replace(takeover, candidate="i-1", rejected=("i-2",)),
        ),
    )


GROUP_ABSURDITIES: tuple[tuple[str, Any], ...] = (
    ("epoch", "second"),
    ("epoch", -1),
    ("version", "newest"),
    ("instance_status", "retired"),
    ("is_primary", 0),
    ("body", "no object"),
    ("body", '{"takeover": 7}'),
)
