"""The first deal of tests to workers: those that wait go to one of them."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import lanes

TESTS = [f"tests/server/test_life.py::test_{n}" for n in range(4)] + [
    f"tests/sim/test_seeds.py::test_{n}" for n in range(6)
]


class Worker:
    """What a scheduler sees of a worker: what it was sent."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.sent: list[int] = []

    def send_runtest_some(self, tests: list[int]) -> None:
        self.sent += tests

    def send_steal(self, tests: list[int]) -> None: ...


def config(workers: int, dist: str = "worksteal") -> Any:
    options = {"dist": dist, "tx": ["popen"] * workers}
    return SimpleNamespace(getvalue=options.__getitem__)


def test_what_waits_goes_to_the_last_worker_and_the_rest_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("xdist.scheduler.worksteal.parse_tx_spec_config", lambda config: ["popen"] * 3)
    scheduling = lanes.scheduler(config(3), None)
    assert scheduling is not None
    workers = [Worker(f"gw{n}") for n in range(3)]
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        scheduling.add_node_collection(worker, TESTS)
    scheduling.schedule()
    assert [worker.sent for worker in workers] == [[4, 5, 6], [7, 8, 9], [0, 1, 2, 3]]


@pytest.mark.parametrize(("workers", "dist"), [(2, "worksteal"), (3, "load")])
def test_fewer_workers_and_other_manners_are_left_to_xdist(workers: int, dist: str) -> None:
    assert lanes.scheduler(config(workers, dist), None) is None
