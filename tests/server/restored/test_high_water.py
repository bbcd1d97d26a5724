"""How far the database had come is remembered across restarts; a full disk stops no server; variants."""

import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.opening import open_database
from holdfast.kernel import Invalid
from holdfast.server.driving import Driving
from holdfast.server.restored import high_water
from holdfast.server.restored.high_water import SETTLE_S, HighWater
from tests.proof import prove
from tests.variants import broken


def test_a_restarted_server_knows_how_far_the_database_had_come(tmp_path: Path) -> None:
    first = HighWater(tmp_path / "mark")
    first.saw(41)
    first.reached(42)
    first.flush()
    second = HighWater(tmp_path / "mark")
    second.saw(40)
    assert "change 40, not 42" in second.problem()


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def only_recover_makes_up_for_a_restore(module: ModuleType, folder: Path) -> None:
    """Three changes were lost: commits of a server that knows nothing of them are no recovery."""
    with_file = SqlGroupStore(open_database(f"sqlite:{folder / 'failover.db'}"))
    with_file.raise_change_number(40)
    old, new = module.HighWater(folder / "mark"), module.HighWater(folder / "none")
    old.saw(43)
    for _ in range(2):
        if not old.saw(with_file.change_number()):
            with_file.mark_restored(old.known)
    with_file.database.run("count_change")
    assert not new.saw(with_file.change_number())
    assert new.problem(), "a server that has seen nothing of it grants"
    for _ in range(5):
        with_file.database.run("count_change")
    assert not old.saw(with_file.change_number())
    assert old.problem(), "commits made up for what was lost"
    with_file.raise_change_number(high_water.number(with_file.change_number()) + 1_000)
    for mark in (old, new):
        assert mark.saw(with_file.change_number())
        assert not mark.problem()
        assert mark.withheld()
    with_file.mark_restored(old.known)
    assert with_file.change_number() > 1_000, "one that has reached the number is left as it is"
    with_file.database.close()


def leases_of_the_lost_database_are_over_first(module: ModuleType, folder: Path) -> None:
    clock = Clock()
    module.time = clock  # type: ignore[attr-defined]
    mark = module.HighWater(folder / "mark", lease_s=10.0)
    mark.saw(43)
    mark.saw(40)
    clock.now_s += 1
    assert mark.saw(1_040)
    clock.now_s += SETTLE_S
    assert mark.withheld(), "what it has granted may still run"
    clock.now_s += 10
    assert not mark.withheld()


PROMISES = {
    only_recover_makes_up_for_a_restore: (
        "H30: commits make up for changes that a restore has lost",
        {"change_n < max(0, self._known)": "number(change_n) < self._known"},
    ),
    leases_of_the_lost_database_are_over_first: (
        "H30: leases are granted while those of the lost database run",
        {", self._behind_since_s + self._lease_s)": ", 0.0)"},
    ),
}
VARIANTS = dict(PROMISES.values())


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise: Any, tmp_path: Path) -> None:
    promise(broken(high_water.__name__, {}), tmp_path)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_the_promise_needs_its_guard(promise: Any, tmp_path: Path) -> None:
    title, changes = PROMISES[promise]
    with pytest.raises(AssertionError):
        promise(broken(high_water.__name__, changes), tmp_path)
    prove("variant", title, caught_by=promise.__name__.replace("_", " "))


def test_a_mark_that_cannot_be_written_is_remembered_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    mark = HighWater(folder / "mark")
    folder.rmdir()
    mark.saw(42)
    assert "cannot be written: No such file or directory" in caplog.text
    mark.saw(41)
    assert "change 41, not 42" in mark.problem()
    mark.flush()


@pytest.mark.parametrize("held", [b"soon", b"\xff\xff", b"1.5"])
def test_a_mark_that_makes_no_sense_is_not_taken_for_none(tmp_path: Path, held: bytes) -> None:
    (tmp_path / "mark").write_bytes(held)
    with pytest.raises(Invalid, match="holds no number: if the database was not restored, remove it"):
        HighWater(tmp_path / "mark")


def test_a_defect_in_one_sweep_does_not_end_the_next_ones(caplog: pytest.LogCaptureFixture) -> None:
    swept, failed = threading.Event(), list[str]()

    class Store:
        def due(self, limit: int) -> list[str]:
            if not failed:
                raise OSError(28, "No space left on device")
            swept.set()
            return []

    store: Any = Store()
    driving = Driving(
        store, lambda subject: None, owner="test", threads=1, failed=failed.append, sweep_every_s=0.001
    )
    driving.start()
    assert swept.wait(60)
    driving.stop()
    assert failed == ["defect"]
    assert "a sweep failed" in caplog.text
