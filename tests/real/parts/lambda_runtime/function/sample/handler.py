"""The handler.  It keeps a count in its module, as long as its process lives."""

import os
import time
from typing import Any

calls = 0


class Refused(Exception):
    """An error of the function's own."""


def answer(event: dict[str, Any], context: Any) -> dict[str, Any]:
    global calls
    calls += 1
    match event.get("do"):
        case "raise":
            raise Refused("not today")
        case "exit":
            os._exit(3)
    before_ms = context.get_remaining_time_in_millis()
    time.sleep(event.get("sleep_s", 0.05))
    return {
        "event": event,
        "request_id": context.aws_request_id,
        "function_name": context.function_name,
        "remaining_ms": [before_ms, context.get_remaining_time_in_millis()],
        "pid": os.getpid(),
        "calls": calls,
        "setting": os.environ.get("SETTING"),
    }
