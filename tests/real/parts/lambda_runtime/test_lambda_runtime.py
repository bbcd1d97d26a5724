"""What a handler may rely on, and what its caller sees when it fails."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.real.parts.lambda_runtime.conftest import FUNCTION, HANDLER, TIMEOUT_S
from tests.real.presence import present
from tests.real.traces import HANG_S, processes_naming, wait_until
from tools.parts.catalog.lambda_runtime import PART, LambdaRuntime


def test_an_event_goes_in_and_an_answer_comes_out(function: LambdaRuntime) -> None:
    event = {"detail": {"instance-id": "i-1"}, "numbers": [1, 2.5, None], "word": "Zürich"}
    answer = function.invoke(event)
    assert answer["event"] == event
    assert answer["function_name"] == "holdfast"
    assert answer["setting"] == "on"


def test_each_invocation_has_a_request_id_of_its_own(function: LambdaRuntime) -> None:
    ids = {function.invoke({})["request_id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(len(one) == 36 for one in ids)


def test_the_remaining_time_falls_from_the_timeout_and_starts_anew_each_time(function: LambdaRuntime) -> None:
    function.invoke({})
    told = [function.invoke({"sleep_s": 2})["remaining_ms"] for _ in range(2)]
    for before_ms, after_ms in told:
        assert after_ms < before_ms <= TIMEOUT_S * 1000
        assert after_ms <= before_ms - 1_990
    assert told[1][0] > told[0][1], "anew"


def test_two_invocations_share_one_warm_process(function: LambdaRuntime) -> None:
    first, second = function.invoke({}), function.invoke({})
    assert first["pid"] == second["pid"]
    assert second["calls"] == first["calls"] + 1


def test_an_exception_comes_back_as_its_type_and_message_and_the_process_stays(
    function: LambdaRuntime,
) -> None:
    before = function.invoke({})
    answer = function.invoke({"do": "raise"})
    assert answer["errorType"] == "Refused"
    assert answer["errorMessage"] == "not today"
    assert "in answer" in answer["stackTrace"][-1]
    assert function.invoke({})["pid"] == before["pid"]


def test_a_handler_that_exits_is_reported_and_the_next_invocation_is_cold(function: LambdaRuntime) -> None:
    before = function.invoke({})
    assert function.invoke({"do": "exit"})["errorType"] == "Runtime.ExitError"
    after = function.invoke({})
    assert after["pid"] != before["pid"]
    assert after["calls"] == 1


def test_a_handler_that_takes_too_long_is_ended(function: LambdaRuntime) -> None:
    before = function.invoke({})
    answer = function.invoke({"sleep_s": 60})
    assert answer["errorType"] == "Sandbox.Timedout"
    assert f"timed out after {TIMEOUT_S}" in answer["errorMessage"]
    after = function.invoke({})
    assert after["pid"] != before["pid"]
    assert after["calls"] == 1


def test_invocations_from_several_threads_come_one_after_another(function: LambdaRuntime) -> None:
    first = function.invoke({})
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(function.invoke, [{} for _ in range(4)]))
    assert {answer["pid"] for answer in answers} == {first["pid"]}
    assert sorted(answer["calls"] - first["calls"] for answer in answers) == [1, 2, 3, 4]


def test_a_handler_that_is_not_there_is_named() -> None:
    started = present(PART).start("sample.nosuch.answer", [FUNCTION], timeout_s=TIMEOUT_S)
    try:
        answer = started.invoke({})
        assert answer["errorType"] == "Runtime.ImportModuleError"
        assert "sample.nosuch" in answer["errorMessage"]
    finally:
        started.stop()


@pytest.mark.parametrize("emulator_dies_first", [False, True], ids=["stopped", "emulator killed"])
def test_nothing_is_left_of_a_function_that_was_stopped_while_busy(emulator_dies_first: bool) -> None:
    started = present(PART).start(HANDLER, [FUNCTION], timeout_s=60)
    folder = started.running.folder
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(started.invoke, {"sleep_s": 60})
        # Keeper, emulator and the runtime that it started for the event.
        wait_until(lambda: len(processes_naming(folder.name)) == 3, "the handler is at work")
        if emulator_dies_first:
            started.running.kill("emulator")
        started.stop()
        with pytest.raises(OSError, match=r"closed|reset|aborted"):
            busy.result(HANG_S)
    assert processes_naming(folder.name) == []
