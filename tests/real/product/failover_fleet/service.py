"""The counter of the examples, which also writes down each write that it takes.

A line of the ledger is in the file before the write is acknowledged.  With SERVICE_BLIND it does not look at
its lease: then only agent and watchdog keep it from serving for too long, as any software that knows nothing
of leases.
"""

import importlib
import os
import time
from typing import Any

example: Any = importlib.import_module("example")  # the counter of the examples, beside this file


class Blind(example.Lease):  # type: ignore[misc]
    def runs(self, epoch: int) -> bool:
        return True


class Service(example.Counter):  # type: ignore[misc]
    def add(self) -> int | None:
        began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        count: int | None = super().add()
        if count is not None:
            done = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            os.write(LEDGER, f"{NAME} {self.epoch} {count} {began} {done}\n".encode())
        return count


if __name__ == "__main__":
    NAME = os.environ["HOLDFAST_INSTANCE"]
    LEDGER = os.open(os.environ["SERVICE_LEDGER"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    example.Counter = Service
    if os.environ.get("SERVICE_BLIND"):
        example.Lease = Blind
    example.main()
