"""Long polling without holding the lock: many short looks instead of one long wait."""

import json
import time
from collections.abc import Callable

from tools.parts.ec2.api.wire import Answer

LOOK_EVERY_S = 0.1


def is_long_poll(target: str) -> bool:
    return target == "AmazonSQS.ReceiveMessage"


def receive(body: bytes, look: Callable[[bytes], Answer]) -> Answer:
    """Answer once there is a message, or when the asked time is over.

    A queue's own default waiting time is not honoured: moto would sleep under the lock.
    """
    asked = json.loads(body)
    until_s = time.monotonic() + float(asked.get("WaitTimeSeconds", 0))
    briefly = json.dumps({**asked, "WaitTimeSeconds": 0}).encode()
    while True:
        answer = look(briefly)
        if not answer.ok or json.loads(answer.body).get("Messages") or time.monotonic() >= until_s:
            return answer
        time.sleep(LOOK_EVERY_S)
