"""The supervisor in a process of its own: `harness.py ORDERS GRACE_S PORT COMMAND …`.

The file has one JSON object: `first`, `next` and `problem`, as the live cap would say them.  Each start is
written to the file beside it.
"""

import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from holdfast.kernel import HoldfastError, Invalid
from holdfast.stream.supervise import signals
from holdfast.stream.supervise.health import Health, served
from holdfast.stream.supervise.supervisor import Supervisor


@dataclass
class FileOrders:
    path: Path
    told: int | None = None

    def _says(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.path.read_text())
        return found

    def first(self) -> int | None:
        return self._number("first")

    def next(self) -> int | None:
        wanted = self._number("next")
        return None if wanted == self.told else wanted

    def started(self, max_leases: int) -> None:
        self.told = max_leases
        with self.path.with_suffix(".started").open("a") as starts:
            starts.write(f"{max_leases}\n")

    def problem(self) -> HoldfastError | None:
        told = self._says().get("problem")
        return Invalid(str(told)) if told else None

    def _number(self, name: str) -> int | None:
        found = self._says().get(name)
        return found if isinstance(found, int) else None


def main(orders: str, grace_s: str, port: str, *command: str) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    health = Health()
    supervisor = Supervisor(
        command, FileOrders(Path(orders)), float(grace_s), health, lingers=bool(int(port))
    )
    with signals.blocked(), served(health, int(port), "127.0.0.1"):
        try:
            return supervisor.run()
        except Invalid as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
