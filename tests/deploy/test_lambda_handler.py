"""The function answers everything, keeps inside its time, and loses no notice."""

import io
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast import lambda_handler
from holdfast.adapters import logs
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy, Conflict, HoldfastError, Invalid, Unknown
from holdfast.lambda_handler import Shell, margin_s, wired_by
from tests.adapters.aws.test_events import AT_S, ID, batch, event, message, state_change

SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event"}
NOTICE = Notice(ID, NoticeKind.INTERRUPTION, AT_S, AT_S + 120)


@dataclass
class Time:
    now: float = 1_000.0

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Context:
    aws_request_id: str = "r-1"
    remaining_s: float = 300.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.remaining_s * 1_000)


@dataclass
class Stub:
    """An autoscaler that ticks as told, and whose inbox may refuse."""

    result: TickResult = field(default_factory=lambda: TickResult(TickOutcome.IDLE))
    refusals: list[HoldfastError] = field(default_factory=list)
    """What the next tries to put bring."""
    settings: Settings = field(default_factory=lambda: Settings(cluster_name="mine"))
    calls: list[tuple[str, float, Sequence[Notice]]] = field(default_factory=list)
    kept: list[Notice] = field(default_factory=list)

    @property
    def inbox(self) -> "Stub":
        return self

    def put(self, notices: Sequence[Notice]) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.kept += notices

    def tick(
        self, owner: str, *, until_s: float, notices: Sequence[Notice], told: Callable[[str], None]
    ) -> TickResult:
        self.calls.append((owner, until_s, notices))
        for step in self.result.steps:
            told(step)
        return self.result


@dataclass
class Function:
    """A function, what it is wired to, and what it said."""

    stub: Stub = field(default_factory=Stub)
    time: Time = field(default_factory=Time)
    wirings: list[HoldfastError] = field(default_factory=list)
    """What the next wirings raise."""
    wired: int = 0
    metrics: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.shell = Shell(self.wire, clock=self.time, write=self.metrics.write)

    def wire(self) -> Autoscaler:
        self.wired += 1
        if self.wirings:
            raise self.wirings.pop(0)
        return cast("Autoscaler", self.stub)

    def __call__(self, event: object, **about: Any) -> dict[str, Any]:
        return self.shell.handle(event, Context(**about))

    def told(self) -> dict[str, float]:
        """Every metric, by name."""
        lines = [json.loads(line) for line in self.metrics.getvalue().splitlines()]
        return {
            metric["Name"]: line[metric["Name"]]
            for line in lines
            for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
        }


@pytest.fixture
def logged() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    stream = io.StringIO()
    logger = logging.getLogger(logs.LOGGER)
    before = logger.handlers[:], logger.level, logger.propagate
    logs.set_up("json", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def failures(answer: dict[str, Any]) -> list[str]:
    assert set(answer) == {"batchItemFailures"}, "a queue is told nothing that it may not know"
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_a_schedule_is_one_tick_under_the_name_of_the_invocation() -> None:
    function = Function(Stub(TickResult(TickOutcome.IDLE, "nothing is wanted", steps=("a step",))))
    answer = function(SCHEDULED, aws_request_id="r-7")
    assert function.stub.calls == [("r-7", 1_000.0 + 300 - 20, ())]
    said = {"outcome": "idle", "why": "nothing is wanted", "code": ""}
    assert answer == {**said, "steps": ["a step"], "problems": []}


@pytest.mark.parametrize(("remaining_s", "margin"), [(300, 20), (80, 20), (40, 10), (3, 0.75)])
def test_new_work_ends_well_before_the_process_does(remaining_s: float, margin: float) -> None:
    assert margin_s(remaining_s) == margin
    function = Function()
    function(SCHEDULED, remaining_s=remaining_s)
    assert function.stub.calls[0][1] == pytest.approx(1_000 + remaining_s - margin)


def test_a_notice_is_handed_to_the_tick() -> None:
    function = Function()
    function(event())
    assert function.stub.calls[0][2] == (NOTICE,)


def test_a_batch_is_one_tick() -> None:
    function = Function()
    other = event(detail={"instance-id": "i-2"})
    answer = function(batch(message(event()), message(other, "m-2"), message(event(), "m-3")))
    assert failures(answer) == []
    ((_, _, notices),) = function.stub.calls
    assert [notice.instance_id for notice in notices] == [ID, "i-2"]


@pytest.mark.parametrize("said", [{}, None, 7, [], {"Records": "x"}, event(time=None), {"Records": [7]}])
def test_what_makes_no_sense_touches_nothing_and_is_no_exception(
    said: object, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    function = Function()
    answer = function(said)
    assert not function.wired
    assert answer.get("batchItemFailures", []) == []
    (line,) = logged()
    assert (line["level"], line["requestId"]) == ("ERROR", "r-1")
    assert line["msg"].startswith("not understood, and dropped: ")
    if "outcome" in answer:
        assert answer["outcome"] == "not understood"
        assert answer["problems"] == [answer["why"]]


def test_a_bad_message_does_not_come_back_and_the_good_ones_are_worked_on(
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    function = Function()
    answer = function(batch(message("{", "m-bad"), message(event(), "m-good")))
    assert failures(answer) == []
    assert function.stub.calls[0][2] == (NOTICE,)
    assert "m-bad" in logged()[0]["msg"]


def test_a_machine_that_starts_is_no_reason_to_tick() -> None:
    function = Function()
    assert function(state_change("running"))["outcome"] == "nothing to do"
    assert failures(function(batch(message(state_change("pending"))))) == []
    assert not function.wired


def test_the_wired_autoscaler_stays_warm() -> None:
    function = Function()
    for _ in range(3):
        function(SCHEDULED)
    assert function.wired == 1
    assert len(function.stub.calls) == 3


def test_settings_that_make_no_sense_are_answered_and_tried_again(
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    function = Function(wirings=[Invalid("MIN_WORKERS = 9 is above MAX_WORKERS = 3")])
    answer = function(SCHEDULED)
    assert answer["outcome"] == "refused"
    assert "MIN_WORKERS" in answer["why"]
    assert "MIN_WORKERS" in logged()[0]["msg"]
    assert function(SCHEDULED)["outcome"] == "idle"


@pytest.mark.parametrize("error", [Invalid("bad"), Busy("later"), Unknown("lost")])
def test_a_batch_that_met_an_unwired_function_comes_back_whole(error: HoldfastError) -> None:
    function = Function(wirings=[error])
    answer = function(batch(message(event()), message("{", "m-bad"), message(state_change("running"), "m-3")))
    assert failures(answer) == ["m-1"], "only what brought a notice is worth bringing again"


def test_a_notice_that_came_alone_and_could_not_be_kept_is_an_error_if_that_may_help() -> None:
    with pytest.raises(Busy):
        Function(wirings=[Busy("throttled")])(event())
    assert Function(wirings=[Invalid("no such table")])(event())["outcome"] == "refused"


def test_a_schedule_that_fails_is_never_an_error_because_the_next_one_is_near() -> None:
    assert Function(wirings=[Busy("throttled")])(SCHEDULED)["outcome"] == "busy"
    assert Function(Stub(TickResult(TickOutcome.BUSY, "throttled")))(SCHEDULED)["outcome"] == "busy"


@pytest.mark.parametrize("outcome", ["busy", "refused"])
def test_notices_of_a_failed_tick_are_put_again_until_they_are_kept(outcome: str) -> None:
    stub = Stub(
        TickResult(TickOutcome(outcome), "the API does not answer"),
        refusals=[Busy("throttled"), Unknown("lost")],
    )
    function = Function(stub)
    assert failures(function(batch(message(event())))) == []
    assert stub.kept == [NOTICE]
    assert function.time.now > 1_000, "it waited in between"


def test_notices_that_cannot_be_kept_come_back(logged: Callable[[], list[dict[str, Any]]]) -> None:
    stub = Stub(TickResult(TickOutcome.REFUSED, "no table"), refusals=[Invalid("no table")])
    assert failures(Function(stub)(batch(message(event())))) == ["m-1"]
    assert "1 notices could not be kept: no table" in logged()[-1]["msg"]


def test_a_busy_inbox_is_tried_no_longer_than_there_is_time() -> None:
    stub = Stub(TickResult(TickOutcome.BUSY, "throttled"), refusals=[Busy("throttled")] * 1_000)
    function = Function(stub)
    assert failures(function(batch(message(event())), remaining_s=60)) == ["m-1"]
    assert function.time.now <= 1_000 + 60 - margin_s(60)
    with pytest.raises(Busy):
        function(event(), remaining_s=60)


@pytest.mark.parametrize("error", [Busy("throttled"), Conflict("another was faster"), Unknown("lost")])
def test_a_notice_that_came_alone_is_brought_again_whatever_kept_it_out_for_now(error: HoldfastError) -> None:
    stub = Stub(TickResult(TickOutcome.BUSY, "throttled"), refusals=[error] * 1_000)
    with pytest.raises(type(error)):
        Function(stub)(event(), remaining_s=60)
    once = Stub(TickResult(TickOutcome.BUSY, "throttled"), refusals=[error])
    assert Function(once)(event())["outcome"] == "busy"
    assert once.kept == [NOTICE]


@pytest.mark.parametrize(("outcome", "wired"), [("idle", 1), ("out of time", 1), ("busy", 2), ("refused", 2)])
def test_a_function_that_failed_is_wired_anew(outcome: str, wired: int) -> None:
    """An address or a sign-in may have changed."""
    function = Function(Stub(TickResult(TickOutcome(outcome), "why")))
    for _ in range(2):
        function(SCHEDULED)
    assert function.wired == wired


def test_a_schedule_puts_nothing() -> None:
    stub = Stub(TickResult(TickOutcome.BUSY, "throttled"), refusals=[Invalid("nothing to keep")])
    Function(stub)(SCHEDULED)
    assert stub.refusals, "the inbox was not asked"


def test_notices_of_a_tick_that_worked_are_not_put_twice() -> None:
    for outcome in ("idle", "waiting", "out of time", "left to another"):
        stub = Stub(TickResult(TickOutcome(outcome)))
        Function(stub)(event())
        assert stub.kept == []


def test_every_tick_tells_whether_it_worked() -> None:
    for outcome, worked in (("idle", 1), ("out of time", 1), ("busy", 0), ("refused", 0)):
        function = Function(Stub(TickResult(TickOutcome(outcome))))
        function(SCHEDULED)
        assert function.told() == {"holdfast_tick_ok": worked, "holdfast_tick_conflicts": 0}


def test_a_tick_that_saw_something_tells_the_figures() -> None:
    function = Function(Stub(TickResult(TickOutcome.IDLE, cluster=Cluster(), snapshot=Snapshot(owner="r-1"))))
    function(SCHEDULED)
    assert function.told()["holdfast_workers_max"] == 10
    line = json.loads(function.metrics.getvalue().splitlines()[0])
    assert (line["cluster"], line["requestId"]) == ("mine", "r-1")


def test_steps_outcome_and_problems_are_logged(logged: Callable[[], list[dict[str, Any]]]) -> None:
    result = TickResult(
        TickOutcome.BUSY, "100 % throttled", steps=("beginScaleUp 1-r",), problems=("no right to evict",)
    )
    answer = Function(Stub(result))(SCHEDULED)
    assert [(line["level"], line["msg"]) for line in logged()] == [
        ("INFO", "beginScaleUp 1-r"),
        ("WARNING", "busy: 100 % throttled"),
        ("WARNING", "no right to evict"),
    ]
    assert {line["requestId"] for line in logged()} == {"r-1"}
    assert answer["problems"] == ["no right to evict"]


def test_a_defect_is_not_hidden() -> None:
    function = Function()
    function.stub.tick = lambda *_, **__: 1 / 0  # type: ignore[method-assign,assignment]
    with pytest.raises(ZeroDivisionError):
        function(SCHEDULED)


def test_settings_come_from_a_file_beside_the_code_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    seen: list[Settings] = []
    monkeypatch.setattr(lambda_handler, "assemble", lambda settings, environ: seen.append(settings))
    (tmp_path / "holdfast.toml").write_text("[autoscaler]\ncpu_up = 0.8\nmax_workers = 7\n")
    environ = {"LAMBDA_TASK_ROOT": str(tmp_path), "CPU_UP": "0.9", "MAX_WORKER": "3"}
    wired_by(environ)
    assert (seen[0].cpu_up, seen[0].max_workers) == (0.9, 7)
    assert [line["msg"] for line in logged() if "MAX_WORKERS" in line["msg"]], "a near miss is a warning"


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("[autoscaler\n")
    with pytest.raises(Invalid, match=r"holdfast\.toml in the function's zip is not TOML"):
        wired_by({"LAMBDA_TASK_ROOT": str(tmp_path)})


def test_wrong_settings_are_all_named_at_once() -> None:
    with pytest.raises(Invalid, match=r"(?s)CPU_UP.*MAX_WORKERS"):
        wired_by({"CPU_UP": "much", "MAX_WORKERS": "-1"})


def test_what_lambda_calls_is_set_up_once_and_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = Stub(TickResult(TickOutcome.IDLE, "nothing is wanted"))
    monkeypatch.setattr(lambda_handler, "wired_by", lambda environ: stub)
    monkeypatch.setattr(lambda_handler, "_shell", None)
    monkeypatch.setenv("LOG_LEVEL", "WARNING")
    logger = logging.getLogger(logs.LOGGER)
    before = logger.handlers[:], logger.level, logger.propagate
    try:
        assert lambda_handler.handler(SCHEDULED, Context())["outcome"] == "idle"
        assert lambda_handler.handler(SCHEDULED, Context())["outcome"] == "idle"
        assert logger.level == logging.WARNING
    finally:
        logger.handlers[:], logger.propagate = before[0], before[2]
        logger.setLevel(before[1])
    out, err = capsys.readouterr()
    assert [json.loads(line)["holdfast_tick_ok"] for line in out.splitlines()] == [1, 1]
    assert err == "", "what is below the level is not logged"
