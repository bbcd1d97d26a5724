"""The machine's clock, and ids that were never drawn before."""

import time
import uuid
from datetime import UTC, datetime


class SystemClock:
    def now_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def mono_s() -> float:
    """Seconds on a clock that never steps."""
    return time.monotonic()


def new_id() -> str:
    """Drawn, never derived: 32 characters, which fit every service's request token."""
    return uuid.uuid4().hex


def seed_time(at_s: float) -> str:
    """As the seeds write times: `2025-11-19T10:00:00Z`."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
