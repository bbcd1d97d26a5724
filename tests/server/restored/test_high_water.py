"""How far the database had come is remembered across restarts, and a full disk stops no server."""

import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import Invalid
from holdfast.server.driving import Driving
from holdfast.server.restored.high_water import HighWater


def test_a_restarted_server_knows_how_far_the_database_had_come(tmp_path: Path) -> None:
    first = HighWater(tmp_path / "mark")
    first.saw(41)
    first.reached(42)
    first.flush()
    second = HighWater(tmp_path / "mark")
    second.saw(40)
    assert "change 40, not 42" in second.problem()


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
