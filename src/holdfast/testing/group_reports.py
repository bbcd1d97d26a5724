"""What every store of groups promises of what agents say of themselves: part of `group_contract`."""

from collections.abc import Callable

from holdfast.failover.ports import Report
from holdfast.testing.group_case import Case, GroupTrial


def a_report_is_read_back_whole(trial: GroupTrial) -> None:
    """Whatever an agent says of itself, any letter among it, is there at the next look."""
    case = Case(trial)
    said = Report(position="0/16B3740 «ü» \0 \\ ' %", lag_s=0.25, healthy=False, hook_output="x" * 4_000)
    case.renew(case.beat(report=said))
    row = case.row("i-1")
    assert row.report == said
    assert (row.epoch, row.is_primary, row.session, row.boot_id) == (1, True, "s-i-1", "boot-1")
    assert abs(row.heartbeat_s - case.store.look(case.subject).now_s) < trial.term.granted_s


def a_batch_keeps_apart_what_each_says(trial: GroupTrial) -> None:
    """Short and long, plain and strange: each is stored and answered as if it had come alone."""
    case, other = Case(trial), Case(trial)
    strange = "\\'\"%s{}\n«😀»" * 500
    long = Report(position="'), ('x", hook_output=strange, highest_epoch=2**40, sync_epoch=-1)
    said = {"i-1": Report(position="", watchdog_ok=False), "i-2": long}
    stranger = other.beat(session="it's \\' a \\ clone%", report=long)
    grants = case.renew(
        *(case.beat(instance_id, report=report) for instance_id, report in said.items()),
        other.beat("i-3"), stranger, other.beat("i-2", epoch=2**33, report=said["i-1"]),
    )  # fmt: skip
    assert [grant.session_ok for grant in grants] == [True, True, False, False, True]
    assert [grant.known for grant in grants] == [True, True, False, True, True]
    assert {instance_id: case.row(instance_id).report for instance_id in said} == said
    assert (other.row("i-1").heartbeat_s, other.row("i-2").report) == (0, said["i-1"])
    (granted,) = case.renew(case.beat())
    assert granted.lease_s == trial.term.granted_s


REPORT_PROMISES: tuple[Callable[[GroupTrial], None], ...] = (
    a_report_is_read_back_whole,
    a_batch_keeps_apart_what_each_says,
)
