"""Words on the screens: each machine counted once, durations and plurals as people write them, no trick."""

import io
import logging
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.adapters.logs import TextLines
from holdfast.app.doctor import Check
from holdfast.autoscaler.record import (
    DECLINED,
    READY,
    UNNEEDED,
    Cluster,
    Interrupted,
    Launch,
    LaunchStatus,
    PoolFailure,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.report.doing import doing, open_action
from holdfast.autoscaler.report.status import status
from holdfast.autoscaler.scale_down.drain import blockers
from holdfast.autoscaler.settings import DrainRules
from holdfast.autoscaler.snapshot.build import build
from holdfast.cli.autoscaler.views.status import screen
from holdfast.cli.doctor_view import screen as doctor_screen
from holdfast.cli.render import Harmless, show
from holdfast.cli.times import clock
from holdfast.cloud import Market, NoticeKind
from holdfast.cloud.kubernetes import BudgetSpec
from holdfast.cloud.text import counted, lasting, plain
from holdfast.kernel import Lock
from tests.autoscaler.unit.machines.test_requirements import TYPES
from tests.cli.small_shell import Shell, shell_in
from tests.cli.small_world import SmallWorld
from tests.workloads import budget, instance, listings, node, pending, pod, settings

NOW = 100_000.0
THREE = tuple(node(f"n-{n}", zone=zone) for n, zone in enumerate("abc"))
HOSTILE = "web\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\x7f"


def drawn(part: object) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None, markup=False, highlight=False)
    console.print(part)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_machine_that_serves_already_is_not_counted_as_starting_too() -> None:
    row = Launch(1, 1, "default", "a", "subnet-a", Market.SPOT, "t3.medium", "lt-1", 1, 4)
    answered = replace(row, status=LaunchStatus.ANSWERED, instance_ids=("i-0", "i-1", "i-8", "i-9"))
    up = ScaleUp("99940-req", int(NOW) - 60, 4, launches=(answered,), joined=("i-1",))
    look = listings(*THREE, instances=[*map(instance, ("i-0", "i-1", "i-2", "i-8", "i-9"))])

    found = status(Cluster(scale_up=up), build(look), settings(), NOW)

    assert (found.serving, found.starting) == (3, 2), "i-0 serves, though its action has not noted it yet"
    assert "5 workers, 2 of them starting" in drawn(screen(found))


def test_interruptions_say_what_becomes_of_each() -> None:
    struck = tuple(
        Interrupted(f"i-{n}", NoticeKind.INTERRUPTION, int(NOW), int(NOW) + 120, replacement=answer)
        for n, answer in enumerate((READY, UNNEEDED))
    )

    found = status(Cluster(interrupted=struck), build(listings(*THREE)), settings(), NOW)

    assert found.doing == "2 spot interruptions: 1 replaced, 1 not needed; both draining"


@pytest.mark.parametrize(
    ("kind", "replacement", "says"),
    [
        (NoticeKind.REPLACE, "", "1 worker to be replaced: 1 waiting for its turn"),
        (NoticeKind.REPLACE, "99-tick", "1 worker to be replaced: 1 being replaced"),
        (NoticeKind.REPLACE, READY, "1 worker to be replaced: 1 replaced; draining"),
        (NoticeKind.REBALANCE, "99-tick", "1 rebalance hint: 1 being replaced"),
        (NoticeKind.REBALANCE, DECLINED, "1 rebalance hint: 1 not followed"),
        (NoticeKind.REBALANCE, READY, "1 rebalance hint: 1 replaced; draining"),
        (NoticeKind.INTERRUPTION, "", "1 spot interruption: 1 undecided; draining"),
        (NoticeKind.NOT_READY, "99-tick", "1 node that is NotReady for too long: 1 being replaced"),
    ],
)
def test_only_what_is_drained_is_called_draining(kind: NoticeKind, replacement: str, says: str) -> None:
    noted = Interrupted("i-1", kind, int(NOW), int(NOW) + 120, replacement=replacement)
    assert doing(Cluster(interrupted=(noted,)), None) == says


def test_a_scale_down_of_which_nothing_is_left_is_not_called_terminating() -> None:
    targets = (Target("i-1", Status.SKIPPED),)
    action = open_action(Cluster(scale_down=ScaleDown("9-req", int(NOW) - 60, targets)), NOW)
    assert action is not None
    assert action.progress == "ends, i-1 skipped"


def test_what_is_gone_is_not_said_to_be_tried_again() -> None:
    kept = tuple(Skip(f"i-{n}", "a pod may not leave", int(NOW) + 600) for n in range(3))
    gone = Cluster(skipped=kept, gone=(Tombstone("i-1", int(NOW)),))

    found = status(gone, build(listings(*THREE)), settings(), NOW)

    assert [each.what for each in found.soon] == ["i-0 may be tried again", "i-2 may be tried again"]


def test_the_lock_says_who_holds_it_and_for_how_long() -> None:
    held = Cluster(lock=Lock("run-12345678", NOW + 6))

    found = status(held, build(listings(*THREE)), settings(), NOW)

    assert "held by run-12345678, expires in 6 s" in drawn(screen(found))


def test_pods_that_no_worker_would_help_are_counted_as_well() -> None:
    look = listings(*THREE, pods=[pending(f"web-{n}", cpu="900") for n in range(5)])

    found = status(Cluster(), build(look), settings(), NOW)

    assert "5 pods pending, 0 of them a new worker would take" in drawn(screen(found))


def test_plan_and_status_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shell_in(tmp_path, monkeypatch)
    shell.world.its_pods = [pending(f"web-{n}", cpu="1900m") for n in range(9)]
    failed = PoolFailure("default", 3, int(time.time()) + 600, "no image")
    shell.write(Cluster(pending_since_s=1, pool_failures=(failed,)))

    planned, found = shell.json("plan"), shell.json("status")

    assert (planned["decision"], planned["why"]) == (found["decision"], found["why"])
    assert planned["decision"] == "hold"


def test_plan_names_no_next_best_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shell_in(tmp_path, monkeypatch)
    shell.world = SmallWorld.of(1)

    said = shell("plan", WORKER_SUBNET_IDS="subnet-a").output

    assert "an hour together; nothing else would hold the same pods" in said
    assert "next best" not in said


def test_plan_names_what_is_to_be_mended_as_status_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = shell_in(tmp_path, monkeypatch)
    shell.world.all_types = TYPES
    asked = {"WORKER_REQUIREMENTS": '{"families": ["zz"]}'}

    planned, found = shell.json("plan", **asked), shell.json("status", **asked)

    (problem,) = planned["problems"]
    assert found["problems"] == [problem]
    assert "requirements.families = 'zz': EC2 has no such family" in problem
    assert "families = 'zz'" in shell("plan", **asked).output


def test_the_doctor_counts_what_it_did_not_check_and_loses_nothing_to_markup() -> None:
    checks = [
        Check("EC2", "pool [red]gpu[/red]", True, "[bold]3[/bold] workers"),
        Check("SSM", "token", None),
    ]

    text = drawn(Harmless(doctor_screen(checks)))

    assert "pool [red]gpu[/red]" in text
    assert "1 fine, 1 not checked" in text


def test_outside_a_configured_folder_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shell_in(tmp_path, monkeypatch)
    shell.environ = {}
    for name in ("DATABASE", "REGION", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)

    done = shell("status")

    assert "no holdfast.toml was found in this folder" in done.stderr
    Path("holdfast.toml").write_text("[autoscaler]\n")
    assert "no holdfast.toml" not in shell("status").stderr


@pytest.mark.parametrize(
    ("spec", "helps"), [({"max_unavailable": 0}, False), ({"min_available": "100%"}, False), ({}, True)]
)
def test_more_replicas_are_advised_only_where_they_help(spec: dict[str, int | str], helps: bool) -> None:
    full = budget("shop", allowed=0)
    asked = BudgetSpec(selector=full.spec.selector, **spec)

    (blocker,) = blockers([pod("a", node="n-1")], [msgspec.structs.replace(full, spec=asked)], DrainRules())

    assert ("more replicas or wait" in blocker.remedy) is helps


def test_no_control_character_reaches_a_terminal() -> None:
    table = Table()
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE))
    record = logging.makeLogRecord({"msg": HOSTILE, "levelno": logging.INFO})

    for text in (
        drawn(Harmless(table)),
        drawn(Harmless(Text(HOSTILE))),
        TextLines().format(record),
        plain(HOSTILE),
    ):
        assert not [char for char in text if char != "\n" and not char.isprintable()], ascii(text)
        assert "web" in text


def test_a_hostile_message_is_shown_harmless_wherever_a_command_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = shell_in(tmp_path, monkeypatch)
    shell.write(Cluster(paused_until_s=int(time.time()) + 600, paused_why=HOSTILE))

    for words in (("status",), ("explain",), ("plan",), ("history",), ("tick",)):
        done = shell(*words)
        assert "\x1b" not in done.output, words
        assert "\x9b" not in done.output, words
    assert "\x1b" not in Shell(tmp_path)("pause", "--until", "2h", "--why", HOSTILE).output


def test_nor_a_real_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    show(Text(HOSTILE))

    drawn_there = capsys.readouterr().out
    assert "web" in drawn_there
    assert not [trick for trick in ("\x1b[2J", "\x1b]0;", "\x07", "\x9b", "\u202e") if trick in drawn_there]


def test_plain_texts_stay_as_they_are() -> None:
    assert plain("Grüße\n\tan 東京 ✔") == "Grüße\n\tan 東京 ✔"


def test_counts_and_durations() -> None:
    assert [counted(n, "pod") for n in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert [lasting(s) for s in (6, 90, 7_500, 180_000)] == ["6 s", "1m30s", "2h05m", "2d2h"]
    assert clock(0).endswith(time.strftime("%Z", time.localtime(0)))
