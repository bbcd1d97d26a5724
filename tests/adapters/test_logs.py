"""Log lines that a machine can read, and lines that a person can."""

import io
import json
import logging
from typing import Any

import pytest

from holdfast.adapters.logs import concerning, set_up


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_has_time_level_message_request_and_action() -> None:
    stream = io.StringIO()
    logger = set_up("json", stream=stream)

    with concerning(request_id="req-1"), concerning(action_id="17-req-1"):
        logger.warning("launched %d", 3, extra={"pool": "gpu"})
    logger.info("outside")

    inside, outside = lines(stream)
    assert inside.pop("time").endswith("Z")
    assert inside == {
        "level": "WARNING", "msg": "launched 3", "requestId": "req-1", "actionId": "17-req-1", "pool": "gpu"
    }  # fmt: skip
    assert "requestId" not in outside


def test_a_defect_is_one_line_too() -> None:
    stream = io.StringIO()
    logger = set_up("json", stream=stream)

    try:
        raise ValueError("two\nlines")
    except ValueError:
        logger.exception("broken")

    (line,) = lines(stream)
    assert line["error"] == "ValueError"
    assert "test_logs.py" in line["trace"]


def test_text_lines_name_the_level_only_where_it_matters() -> None:
    stream = io.StringIO()
    logger = set_up("text", stream=stream)

    logger.info("all is well")
    logger.error("it is not")

    first, second = stream.getvalue().splitlines()
    assert first.endswith("Z all is well")
    assert second.endswith("Z error: it is not")


@pytest.mark.parametrize("style", ["text", "level", "json"])
def test_no_control_character_is_written_from_a_message_or_an_exception(style: str) -> None:
    stream = io.StringIO()
    logger = set_up(style, stream=stream)

    try:
        raise ValueError("\x1b[2J of a console")
    except ValueError:
        logger.exception("pod \x1b]0;title\x07")

    assert "\x1b" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()


def test_setting_up_again_replaces_and_reaches_no_other_logger() -> None:
    stream, other = io.StringIO(), logging.getLogger("botocore")
    before = list(other.handlers)
    set_up("json", stream=io.StringIO())
    set_up("json", stream=stream).info("once")
    other.error("not ours")

    assert [line["msg"] for line in lines(stream)] == ["once"]
    assert other.handlers == before
