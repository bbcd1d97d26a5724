"""The machine's clock, and ids that were never drawn before."""

import time
import uuid


class SystemClock:
    def now_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def new_id() -> str:
    """Drawn, never derived: 32 characters, which fit every service's request token."""
    return uuid.uuid4().hex
