"""`holdfast autoscaler …` on a small world: what people see, what scripts read, what is touched."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.app.autoscaler import clients
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster, Condemned, ScaleDown, Status, Target
from holdfast.kernel import Busy, Event, Invalid
from tests.cli.small_shell import Shell, shell_in
from tests.cli.small_world import SmallWorld
from tests.ministack import client_for
from tests.workloads import instance, node, pending, pod

COMMANDS = (
    "run",
    "tick",
    "status",
    "explain",
    "plan",
    "pause",
    "resume",
    "abort",
    "replace",
    "sweep",
    "history",
    "doctor",
)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_in(tmp_path, monkeypatch)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(shell: Shell, command: str) -> None:
    done = shell(command, "--help")

    assert done.exit_code == 0
    assert "Example:" in done.output
    assert f"holdfast autoscaler {command}" in done.output
    assert "--json" in done.output
    assert "--config" in done.output


def test_the_group_lists_every_command_and_loads_none(shell: Shell) -> None:
    done = shell("--help")

    assert all(f"\n  {command} " in done.output for command in COMMANDS)


def test_status_says_what_why_and_the_cost(shell: Shell) -> None:
    shell.world.its_pods = [pending(f"web-{n}", cpu="1900m") for n in range(6)]
    shell.write(Cluster(pending_since_s=1))

    done = shell("status")

    assert done.exit_code == 0
    assert "3 workers" in done.output
    assert "$0.0375 an hour" in done.output
    assert "why    scale-up  pods are pending" in done.output
    assert "cpu 50%, at most 60% lately" in done.output
    assert shell.world.touched == []


def test_status_as_json_has_every_worker_with_its_price(shell: Shell) -> None:
    found = shell.json("status")

    assert (found["mode"], found["serving"]) == ("active", 3)
    assert found["usd_per_hour"] == pytest.approx(0.0375)
    assert [(w["instance_id"], w["state"], w["usd_per_hour"]) for w in found["workers"]] == [
        ("i-0", "serving", 0.0125),
        ("i-1", "serving", 0.0125),
        ("i-2", "serving", 0.0125),
    ]


def test_status_of_many_workers_fits_a_screen(shell: Shell) -> None:
    shell.world = SmallWorld.of(300)

    lines = shell("status", MAX_WORKERS="500").output.splitlines()

    assert len(lines) < 30
    assert max(map(len, lines)) <= 100
    assert any("100 serving" in line for line in lines)


def test_a_price_that_is_not_known_is_said_and_not_zero(shell: Shell) -> None:
    shell.world.usd = {}

    assert "cost not known" in shell("status").output
    assert shell.json("status")["usd_per_hour"] is None


def test_plan_touches_and_writes_nothing(shell: Shell) -> None:
    shell.world = SmallWorld.of(1)
    before = shell.record()

    done = shell("plan")

    assert done.exit_code == 0
    assert done.output.startswith("scale-up: below the floor")
    assert "an hour together; the next best would have cost $" in done.output
    assert "beginScaleUp" in done.output
    assert "Nothing was touched." in done.output
    assert shell.world.touched == []
    assert shell.record() == before


def test_tick_acts_and_tells_its_steps(shell: Shell) -> None:
    shell.world = SmallWorld.of(1)

    found = shell.json("tick")

    assert "launch 1" in shell.world.touched
    assert any("beginScaleUp" in step for step in found["steps"])
    assert found["outcome"] in ("waiting", "idle")
    assert shell.record().scale_up is not None


@pytest.mark.parametrize("command", ["tick", "sweep"])
def test_a_tick_that_cannot_work_is_exit_code_1_with_the_reason(
    shell: Shell, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.world.broken = Invalid("ec2:DescribeInstances: UnauthorizedOperation (grant the role this action)")

    done = shell(command)

    assert done.exit_code == 1
    assert "grant the role this action" in done.output
    assert "Traceback" not in done.output
    assert shell.world.touched == []


@pytest.mark.parametrize("command", ["plan", "explain"])
def test_what_cannot_be_looked_at_is_a_message_and_exit_code_1(shell: Shell, command: str) -> None:
    shell.world.broken = Busy("ec2:DescribeInstances: RequestLimitExceeded")

    done = shell(command)

    assert done.exit_code == 1
    assert "error: ec2:DescribeInstances: RequestLimitExceeded" in done.output
    assert "holdfast autoscaler doctor" in done.output


def test_wrong_settings_are_all_named_and_exit_code_2(shell: Shell) -> None:
    done = shell("status", CPU_DOWN="0.9", MIN_WORKERS="eleven")

    assert done.exit_code == 2
    assert "MIN_WORKERS = 'eleven': give a whole number" in done.output
    assert "CPU_DOWN = 0.9 against cpu_up = 0.7 (the default)" in done.output
    assert shell.world.touched == []


def test_wrong_settings_as_json(shell: Shell) -> None:
    done = shell("status", "--json", CPU_UP="7")

    assert done.exit_code == 2
    assert json.loads(done.stdout) == {
        "error": "InvalidSettings",
        "problems": ["CPU_UP = 7.0: must be more than 0 and at most 1"],
    }


def test_the_file_beside_is_read_unless_another_is_named(shell: Shell) -> None:
    Path("holdfast.toml").write_text('[autoscaler]\ncluster_name = "blue"\n')
    Path("other.toml").write_text('[autoscaler]\ncluster_name = "green"\n')

    assert shell.json("status")["cluster"] == "blue"
    assert shell.json("status", "--config", "other.toml")["cluster"] == "green"


@pytest.mark.parametrize(("text", "says"), [("cpu_up = [", "is no TOML"), ("\xff", "is no TOML")])
def test_a_file_that_is_no_toml_is_bad_input(shell: Shell, text: str, says: str) -> None:
    Path("holdfast.toml").write_text(text, encoding="latin-1")

    done = shell("status")

    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


def test_a_near_miss_in_the_environment_is_told_on_stderr_alone(shell: Shell) -> None:
    done = shell("status", "--json", CPU_UPP="0.9")

    assert "did you mean CPU_UP?" in done.stderr
    assert json.loads(done.stdout)["mode"] == "active"


def test_explain_names_rule_pod_and_what_lifts_it(shell: Shell) -> None:
    shell.world.its_pods = [pod("db", owner="", node="n-1"), pending("big", cpu="64")]

    done = shell("explain", MIN_WORKERS="1")

    assert "unmanaged pod  shop/db" in done.output
    assert "→ run it from a Deployment" in done.output
    assert "no pool could ever run it" in done.output
    assert "It scales down  if all of these hold" in done.output
    assert max(map(len, done.output.splitlines())) <= 100
    assert shell.world.touched == []


def test_explain_of_one_node_or_pod_shows_that_alone(shell: Shell) -> None:
    shell.world.its_pods = [pod("db", owner="", node="n-1"), pending("big", cpu="64")]

    by_machine = shell.json("explain", "i-1")
    by_name = shell.json("explain", "n-1", "big")

    assert [each["node"] for each in by_machine["nodes"]] == ["n-1"]
    assert by_machine["pods"] == []
    assert [each["node"] for each in by_name["nodes"]] == ["n-1"]
    assert [each["example"] for each in by_name["pods"]] == ["shop/big"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("n-99", "there is no node, machine or waiting pod called 'n-99'"),
        ("db", "shop/db has a node already"),
    ],
)
def test_explain_of_an_unknown_name_is_bad_input(shell: Shell, name: str, says: str) -> None:
    shell.world.its_pods = [pod("db", node="n-1")]

    done = shell("explain", name)

    assert done.exit_code == 2
    assert says in done.output


def test_pause_and_resume_are_written_into_the_record(shell: Shell) -> None:
    paused = shell("pause", "--until", "2h", "--why", "load test")

    assert paused.exit_code == 0
    assert "Paused until" in paused.output
    assert shell.record().paused_why == "load test"
    assert 7_100 < shell.record().paused_until_s - time.time() < 7_300
    assert shell.json("status")["mode"] == "paused"
    assert shell("resume").output == "Resumed.\n"
    assert shell.record().paused_until_s == 0
    assert shell("resume").output == "It was not paused.\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--until", "soon", "--why", "x"), "'soon' is no time: write 30m"),
        (("--until", "2020-01-01", "--why", "x"), "is over"),
        (("--until", "9999999999d", "--why", "x"), "too far ahead"),
        (("--until", "9" * 400 + "d", "--why", "x"), "too far ahead"),
        (("--until", "9999-12-31T23:59:59-14:00", "--why", "x"), "too far ahead"),
        (("--until", "2h"), "Missing option '--why'"),
        (("--until", "2h", "--why", " "), "say why"),
        (("--why", "x"), "Missing option '--until'"),
    ],
)
def test_a_pause_that_makes_no_sense_is_bad_input(
    shell: Shell, arguments: tuple[str, ...], says: str
) -> None:
    done = shell("pause", *arguments)

    assert done.exit_code == 2
    assert says in done.output
    assert shell.record() == Cluster()


def test_an_open_scale_down_is_aborted_and_what_is_terminating_is_not(shell: Shell) -> None:
    assert shell("abort").output == "There is no scale-down that could still be aborted.\n"
    ids = [machine.instance_id for machine in shell.world.machines][:2]
    targets = (Target(ids[0], Status.PLANNED), Target(ids[1], Status.CONDEMNED))
    condemned = (Condemned(ids[1], "1-me", "scale-down", int(time.time())),)
    shell.write(
        replace(Cluster(), scale_down=ScaleDown("1-me", int(time.time()), targets), condemned=condemned)
    )

    done = shell("abort", "--why", "batch job")

    assert f"Aborted: {ids[0]} stays in service." in done.output
    assert f"not to be stopped: {ids[1]}" in done.output
    down = shell.record().scale_down
    assert down is not None
    assert down.having(Status.SKIPPED) == (ids[0],)
    assert shell.record().skipped[0].reason == "aborted by an operator: batch job"
    assert shell.json("abort") == {"aborted": False, "staying": [], "terminating": [ids[1]]}


def test_sweep_accounts_for_everything_and_can_leave_it_at_that(shell: Shell) -> None:
    shell.world.machines += [
        instance("i-lost", launched_s=int(time.time()) - 60),
        instance("i-foreign", action_id=""),
    ]
    shell.world.its_nodes += [node("n-gone", instance_id="i-gone"), node("n-9", instance_id="i-foreign")]

    done = shell("sweep", "--dry-run")
    found = shell.json("sweep", "--dry-run")["found"]

    assert "3 machines of ours are in order, 1 of others are left alone" in done.output
    assert "machine i-lost: joining, launched by 1000-req-0, named by no record" in done.output
    assert [(each["what"], each["name"]) for each in found["found"]] == [
        ("machine", "i-lost"),
        ("node", "n-gone"),
    ]
    assert shell.world.touched == []


def test_sweep_removes_what_no_action_owns(shell: Shell) -> None:
    shell.world.machines.append(instance("i-lost", launched_s=2_000))
    shell.write(Cluster(cluster_uid=shell.world.uid, joined_since_s=1), Event("clusterKnown", 1.0))

    found = shell.json("sweep")

    assert "terminate i-lost" in shell.world.touched
    assert any("terminating i-lost" in step for step in found["result"]["steps"])
    assert not [each for each in shell.world.touched if "i-lost" not in each]


def test_a_mistyped_kind_is_answered_with_the_one_that_may_be_meant(shell: Shell) -> None:
    shell.write(Cluster(), Event("beginScaleUp", 1.0, "1-req"))

    done = shell("history", "--kind", "terminatin")

    assert "No event of that kind; did you mean terminating?  The log has: beginScaleUp" in done.stderr
    assert "did you mean" not in shell("history", "--kind", "terminating").stderr


def test_history_tells_every_kind_in_words_with_its_numbers(shell: Shell) -> None:
    now = time.time()
    shell.write(
        Cluster(worker_count=3, hold_reason="idle: the fleet has its minimum size"),
        Event("decision", now - 9_000, "scale-up", "pods are pending", {"cpu": 0.71, "usdPerHour": 0.0375}),
        Event("beginScaleUp", now - 50, "1-req", "pods are pending", {"requested": 2}),
        Event("lockTaken", now - 50, "req"),
        Event("inventedTomorrow", now - 1, "i-7", "because", {"n": 3}),
    )

    done = shell("history")

    assert "decided: scale-up" in done.output
    assert "cpu 71%, $0.0375 an hour" in done.output
    assert "scale-up begins" in done.output
    assert "inventedTomorrow i-7" in done.output
    assert "idle: the fleet has its minimum size" in done.output
    assert "cost     $0.0375 an hour" in done.output
    assert "is at work" not in done.output


def test_history_can_be_narrowed(shell: Shell) -> None:
    now = time.time()
    events = [Event("drainSkipped", now - 100 * n, f"i-{n}") for n in range(20, 0, -1)]
    shell.write(Cluster(), *events, Event("lockTaken", now, "req"))

    assert [row["about"] for row in shell.json("history", "--limit", "2")] == ["i-2", "i-1"]
    assert len(shell.json("history", "--since", "8m")) == 4
    assert [row["kind"] for row in shell.json("history", "--kind", "lockTaken")] == ["lockTaken"]
    assert "18 older ones are not shown" in shell("history", "--limit", "2").output
    assert "1 older one is not shown" in shell("history", "--limit", "19").output
    assert "The log has: drainSkipped, lockTaken" in shell("history", "--kind", "condemmed").stderr


def test_history_of_nothing_says_so(shell: Shell) -> None:
    said = shell("history").output
    assert "Nothing in the log" in said
    assert "k3s-autoscaler, not looked at yet" in said


def test_what_the_load_is_not_known_for_is_said(shell: Shell) -> None:
    shell.world.measured = Load(None, problem="http://10.0.0.1:30900: no answer", source="prometheus")

    done = shell("status")

    assert "not known: http://10.0.0.1:30900: no answer" in done.output
    assert "hold  the load is not known" in done.output


def test_a_missing_table_is_named_with_the_way_to_make_it(
    shell: Shell, dynamodb_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "dynamodb_client", lambda *_: client_for(dynamodb_endpoint))
    tables = {"DATABASE": "", "STATE_TABLE": "cli-state", "LOGS_TABLE": "cli-logs"}

    done = shell("tick", **tables)
    made = shell("tick", "--create-tables", **tables)

    assert done.exit_code == 1
    assert "cli-state" in done.output
    assert "--create-tables" in done.output
    assert shell.world.touched == []
    assert made.exit_code == 0, made.output


def test_colours_are_for_terminals_alone(shell: Shell) -> None:
    assert "\x1b[" not in shell("status").output
    assert "\x1b[" in shell("status", FORCE_COLOR="1", COLUMNS="100").output
