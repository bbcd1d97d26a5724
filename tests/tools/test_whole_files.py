"""A file that another process waits for is there whole, or not at all."""

import threading
from pathlib import Path

import pytest

from tools.parts.boot.whole import create_whole, write_whole

LONG = "x" * 200_000
"""More than one write of the operating system."""


def test_a_reader_finds_the_old_text_or_the_new_and_never_a_part(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    write_whole(file, LONG)
    done = threading.Event()

    def rewrite() -> None:
        for n in range(200):
            write_whole(file, LONG if n % 2 else "short")
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(file.read_text())
    writer.join()
    assert seen <= {LONG, "short"}
    assert [each.name for each in tmp_path.iterdir()] == ["node.json"]


def test_one_creator_wins_and_the_file_is_his(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    create_whole(file, "first")
    with pytest.raises(FileExistsError):
        create_whole(file, "second")
    assert file.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["node.json"]
