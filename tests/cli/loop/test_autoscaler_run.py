"""The daemon: turns, signals, figures and log lines."""

import io
import json
import os
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.adapters.logs import set_up
from holdfast.app.autoscaler import watching, wiring
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cli import main
from holdfast.cli.autoscaler.loop import Loop, told_to_stop
from holdfast.cli.autoscaler.loop.condition import Condition
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector
from holdfast.kernel import Busy, Invalid
from tests.adapters.kubernetes.watch.watched_server import WatchedServer, serving
from tests.cli.small_world import SmallWorld
from tests.workloads import ZONES
from tools.parts.ports import free_port


@pytest.fixture
def world() -> SmallWorld:
    return SmallWorld.of(3)


@pytest.fixture
def make(world: SmallWorld, tmp_path: Path) -> Callable[[], Autoscaler]:
    settings = Settings(database=str(tmp_path / "state.db"), pools=(Pool(subnet_ids=tuple(ZONES)),))
    return lambda: world.autoscaler(settings, {})


def scraped(collector: MetricsCollector) -> str:
    from prometheus_client import generate_latest

    return generate_latest(collector.registry()).decode()


def test_a_turn_leaves_figures_for_prometheus(make: Callable[[], Autoscaler]) -> None:
    loop = Loop(make, "run-1", 1.0, MetricsCollector("blue"))

    loop.run(turns=1)

    text = scraped(loop.collector)
    assert 'holdfast_workers{cluster="k3s-autoscaler",pool="default",state="serving",zone="a"} 1.0' in text
    assert "# HELP holdfast_usd_per_hour What the workers cost an hour." in text
    assert 'holdfast_turns_total{cluster="blue",outcome="idle"} 1.0' in text
    assert "holdfast_last_turn_timestamp_seconds" in text


def test_events_are_counted_once_each(make: Callable[[], Autoscaler], world: SmallWorld) -> None:
    loop = Loop(make, "run-1", 0.01, MetricsCollector("blue"))
    loop.run(turns=1)
    world.machines, world.its_nodes = world.machines[:1], world.its_nodes[:1]  # below the floor

    loop.run(turns=3)

    text = scraped(loop.collector)
    assert 'holdfast_events_total{cluster="blue",kind="beginScaleUp"} 1.0' in text
    assert [each for each in world.touched if each.startswith("launch")] == ["launch 1"]


def test_a_turn_that_failed_is_wired_anew_and_the_loop_goes_on(
    make: Callable[[], Autoscaler], world: SmallWorld
) -> None:
    made: list[Autoscaler] = []
    outcomes: list[str] = []

    def make_another() -> Autoscaler:
        made.append(make())
        return made[-1]

    def turned(result: TickResult) -> None:
        outcomes.append(result.outcome)
        world.broken = None

    world.broken = Invalid("no permission")
    Loop(make_another, "run-1", 0.01, MetricsCollector("blue"), turned=turned).run(turns=2)

    assert outcomes == ["refused", "idle"]
    assert len(made) == 2


def test_what_cannot_be_wired_anew_is_told_and_tried_again(
    make: Callable[[], Autoscaler], world: SmallWorld
) -> None:
    stream, tries = io.StringIO(), list[int]()
    set_up("json", stream=stream)
    world.broken = Invalid("no permission")

    def sometimes() -> Autoscaler:
        tries.append(1)
        if len(tries) == 2:
            raise Busy("the cloud does not answer")
        return make()

    Loop(sometimes, "run-1", 0.01, MetricsCollector("blue")).run(turns=3)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["level"] for line in lines if line["msg"] == "the cloud does not answer"] == ["ERROR"]
    assert len(tries) == 3
    assert {line["requestId"] for line in lines if "refused" in line["msg"]} == {"run-1"}


def test_steps_are_logged_with_their_action(make: Callable[[], Autoscaler], world: SmallWorld) -> None:
    stream = io.StringIO()
    set_up("json", stream=stream)
    world.machines, world.its_nodes = world.machines[:1], world.its_nodes[:1]

    Loop(make, "run-1", 0.01, MetricsCollector("blue")).run(turns=1)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (begun,) = [line for line in lines if "beginScaleUp" in line["msg"]]
    assert begun["requestId"] == "run-1"
    assert begun["actionId"].endswith("-run-1")


def test_what_is_to_be_mended_is_said_once_and_again_after_a_while(make: Callable[[], Autoscaler]) -> None:
    lines = io.StringIO()
    set_up("text", stream=lines)
    loop = Loop(make, "run-1", 0.01, MetricsCollector("blue"))
    broken = TickResult(TickOutcome.IDLE, "nothing to do", problems=("pool gpu: no image",))

    for at_s in range(100, 175, 2):
        loop._say(broken, at_s, at_s)
    loop._say(replace(broken, problems=()), 176, 176)
    loop._say(broken, 178, 178)

    # At the first look, 20 and 60 s later, and when it comes back.
    assert lines.getvalue().count("pool gpu: no image") == 4
    assert lines.getvalue().count("nothing to do") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_turn_end_and_then_stops(
    make: Callable[[], Autoscaler], number: signal.Signals
) -> None:
    turned: list[TickResult] = []

    def kill_in_the_middle(result: TickResult) -> None:
        turned.append(result)
        os.kill(os.getpid(), number)

    loop = Loop(make, "run-1", 600.0, MetricsCollector("blue"), turned=kill_in_the_middle)
    before = signal.getsignal(number)
    with told_to_stop(loop.end):
        loop.run()

    assert len(turned) == 1
    assert signal.getsignal(number) is before


def test_there_is_no_pause_where_time_ran_out(make: Callable[[], Autoscaler]) -> None:
    class OutOfTime(Autoscaler):
        def tick(self, owner: str, **said: object) -> TickResult:
            return TickResult(TickOutcome.OUT_OF_TIME)

    def made() -> Autoscaler:
        plain = make()
        return OutOfTime(**{name: getattr(plain, name) for name in plain.__dataclass_fields__})

    loop = Loop(made, "run-1", 3_600.0, MetricsCollector("blue"))
    loop.run(turns=5)

    assert loop.collector.turns == {"out of time": 5}


def test_run_serves_metrics_and_ends_after_its_turns(
    make: Callable[[], Autoscaler], world: SmallWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "assemble", lambda settings, *_, **__: replace(make(), settings=settings))
    seen: list[str] = []
    port = free_port()

    def fetch(result: TickResult) -> None:
        for path in ("metrics", "health", "ready"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
                seen.append(answer.read().decode())

    monkeypatch.setattr("holdfast.cli.autoscaler.run._say", fetch)
    arguments = ["autoscaler", "run", "--turns", "1", "--metrics-port", str(port), "--json"]
    done = CliRunner().invoke(main, [*arguments, "--log-format", "json"], env={"DATABASE": "state.db"})

    assert done.exit_code == 0, done.output
    assert "holdfast_workers{" in seen[0]
    assert seen[1:] == ["ok\n", "ok\n"]
    assert json.loads(done.stderr.splitlines()[-1])["msg"] == "stopped"


def test_health_and_readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [700.0]
    monkeypatch.setattr("holdfast.cli.autoscaler.loop.condition.mono_s", lambda: now_s[0])
    queue: list[str] = [""]
    ours = Condition(beside=[lambda: queue[0]], _ended_s=now_s[0])
    assert list(ours.unready(700.0, 30.0)) == ["no turn has ended yet"]

    ours.turned(TickResult(TickOutcome.IDLE, "all is well"))
    assert ours.unhealthy(900.0, 30.0) == ""
    assert list(ours.unready(900.0, 30.0)) == []
    assert ours.unhealthy(1_000.0, 30.0) == "no turn has ended for 300 s"
    assert list(ours.unready(1_000.0, 30.0)) == ["no turn has ended for 300 s"]

    now_s[0], queue[0] = 1_000.0, "the queue of notices: it does not exist"
    ours.turned(TickResult(TickOutcome.BUSY, "the API does not answer"))
    assert ours.unhealthy(1_000.0, 30.0) == "", "a new process could do no more"
    assert list(ours.unready(1_000.0, 30.0)) == ["the last turn was busy: the API does not answer", queue[0]]


def test_a_clock_that_is_set_makes_no_process_look_hung(
    make: Callable[[], Autoscaler], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(make, "run-1", 1.0, MetricsCollector("blue"))
    loop.run(turns=1)
    set_s = [time.time() + 3_600.0]
    monkeypatch.setattr(time, "time", lambda: set_s[0])
    assert loop.condition.unhealthy(time.monotonic(), 1.0) == ""
    set_s[0] -= 7_200.0
    loop.run(turns=1)
    assert loop.condition.unhealthy(time.monotonic() + 600.0, 1.0) == "no turn has ended for 600 s"


def test_a_turn_is_woken_and_what_happens_together_is_one_reason(make: Callable[[], Autoscaler]) -> None:
    turned: list[TickResult] = []
    loop = Loop(make, "run-1", 600.0, MetricsCollector("blue"), turned=turned.append)
    thread = threading.Thread(target=loop.run)
    thread.start()
    while not turned:
        time.sleep(0.01)
    for _ in range(5):
        loop.rests.wake()
    while len(turned) < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    loop.end()
    thread.join(60)

    assert len(turned) == 2


def test_run_with_watch_follows_the_cluster_and_decides_by_what_it_has_seen(
    world: SmallWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    pictures: list[Any] = []

    def assembled(settings: Settings, environ: Any, *, watches: Any, **said: Any) -> Autoscaler:
        pictures.append(watches)
        return world.autoscaler(replace(settings, pools=(Pool(subnet_ids=tuple(ZONES)),)), environ)

    monkeypatch.setattr(wiring, "assemble", assembled)
    with serving(WatchedServer()) as server:
        api = KubernetesApi(server.client())
        monkeypatch.setattr(watching, "connect_kubernetes", lambda *_: api)
        arguments = ["autoscaler", "run", "--turns", "2", "--every", "600", "--watch"]
        done = CliRunner().invoke(main, arguments, env={"DATABASE": "state.db"})

    assert done.exit_code == 0, done.output
    assert len(pictures) == 1
    assert any("watch=true" in asked for asked in server.asked), "and a list that came woke the second turn"


def test_a_port_in_use_is_a_message_and_exit_code_1(
    make: Callable[[], Autoscaler], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "assemble", lambda *_, **__: make())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(
            main,
            ["autoscaler", "run", "--turns", "1", "--metrics-port", port, "--metrics-address", "127.0.0.1"],
            env={"DATABASE": "state.db"},
        )

    assert done.exit_code == 1
    assert f"--metrics-port {port} on 127.0.0.1: Address already in use" in done.stderr


def test_a_last_turn_that_could_not_work_is_exit_code_1(
    make: Callable[[], Autoscaler], world: SmallWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "assemble", lambda *_, **__: make())
    world.broken = Invalid("no permission")

    done = CliRunner().invoke(main, ["autoscaler", "run", "--turns", "1"], env={"DATABASE": "state.db"})

    assert done.exit_code == 1
    assert "no permission" in done.stderr


def test_a_loop_turns_again_when_pods_have_waited_for_long_enough(make: Callable[[], Autoscaler]) -> None:
    loop = Loop(make, "run-1", 30.0, MetricsCollector("blue"))

    due = TickResult(TickOutcome.IDLE, "pods are pending for 3m of 3m", retry_at_s=1_012.0)
    assert loop._pause_s(due, 1_000.0) == 12.0
    assert loop._pause_s(replace(due, retry_at_s=0.0), 1_000.0) == 30.0
