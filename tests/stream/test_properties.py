"""The number comes into the file, and nothing else changes in it."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import Invalid
from holdfast.stream.properties import NAME, set_max_leases, with_max_leases


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{NAME} = 12\n"),
        ("streamName = orders", f"streamName = orders\n{NAME} = 12\n"),
        ("streamName = orders\r\n", f"streamName = orders\r\n{NAME} = 12\r\n"),
        (f"{NAME} = 10\n", f"{NAME} = 12\n"),
        (f"{NAME}=10", f"{NAME}=12"),
        (f"  {NAME}:10\r\nx=1\r\n", f"  {NAME}:12\r\nx=1\r\n"),
        (f"{NAME} 10\n", f"{NAME} 12\n"),
        (f"{NAME}\n", f"{NAME}=12\n"),
        (f"{NAME} =\n", f"{NAME} =12\n"),
        (f"# {NAME} = 10\n", f"# {NAME} = 10\n{NAME} = 12\n"),
        (f"! {NAME} = 10\n", f"! {NAME} = 10\n{NAME} = 12\n"),
        (f"{NAME}s = 10\n", f"{NAME}s = 10\n{NAME} = 12\n"),
        (f"my{NAME} = 10\n", f"my{NAME} = 10\n{NAME} = 12\n"),
        (f"{NAME} = 10\n{NAME} = 11\n", f"{NAME} = 10\n{NAME} = 12\n"),
        (f"{NAME} = 1\\\n   0\nx=1\n", f"{NAME} = 12\nx=1\n"),
        (f"x = a\\\n{NAME} = 10\n", f"x = a\\\n{NAME} = 10\n{NAME} = 12\n"),
        (f"x = a\\\\\n{NAME} = 10\n", f"x = a\\\\\n{NAME} = 12\n"),
        (f"# note\\\n{NAME} = 10\n", f"# note\\\n{NAME} = 12\n"),
        (f"x = gr\xfc\xdfe\n{NAME} = 10\n", f"x = gr\xfc\xdfe\n{NAME} = 12\n"),
    ],
)
def test_the_number_is_set_where_java_would_read_it(before: str, after: str) -> None:
    assert with_max_leases(before, 12) == after
    assert with_max_leases(after, 12) == after, "twice is once"


LINES = st.sampled_from(
    ["a = 1", "# c", "! d", "", "  ", f"{NAME} = 3", f" {NAME}:4", "x = y\\", "  z\\\\", f"#{NAME}=5\\", "\\"]
)


@given(st.lists(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 999))
def test_whatever_the_file_the_number_is_in_force_and_other_properties_are_as_before(
    lines: list[str], newline: str, ended: bool, number: int
) -> None:
    before = newline.join(lines) + (newline if ended and lines else "")
    after = with_max_leases(before, number)
    was, now = as_java_reads(before), as_java_reads(after)
    assert now.pop(NAME) == str(number)
    was.pop(NAME, None)
    assert now == was


def as_java_reads(text: str) -> dict[str, str]:
    """A reader of its own, by the rules of java.util.Properties."""
    logical: list[str] = []
    going_on = ""
    began = False
    for natural in text.replace("\r\n", "\n").split("\n"):
        line = natural.lstrip(" \t\f")
        if not began and (not line or line[0] in "#!"):
            continue
        going_on += line
        began = True
        if (len(line) - len(line.rstrip("\\"))) % 2:
            going_on = going_on[:-1]
            continue
        logical.append(going_on)
        going_on, began = "", False
    if began:
        logical.append(going_on)
    found = {}
    for line in logical:
        cut = next((n for n, c in enumerate(line) if c in "=: \t\f"), len(line))
        value = line[cut:].lstrip(" \t\f")
        found[line[:cut]] = value[1:].lstrip(" \t\f") if value[:1] in ("=", ":") else value
    return found


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    path = tmp_path / "kcl.properties"
    path.write_bytes(b"streamName = orders\nmaxLeasesForWorker = 10\n")
    path.chmod(0o640)
    return path


def test_the_file_is_replaced_all_at_once_with_its_mode(properties: Path) -> None:
    before = properties.stat().st_ino
    assert set_max_leases(properties, 20)
    assert properties.read_bytes() == b"streamName = orders\nmaxLeasesForWorker = 20\n"
    assert properties.stat().st_mode & 0o777 == 0o640
    assert properties.stat().st_ino != before, "a reader has the old one or the new one, never a half"
    assert [path.name for path in properties.parent.iterdir()] == ["kcl.properties"]


def test_a_file_that_says_so_already_is_not_touched(properties: Path) -> None:
    before = properties.stat()
    assert not set_max_leases(properties, 10)
    assert properties.stat() == before


def test_a_link_stays_a_link(properties: Path) -> None:
    link = properties.with_name("link.properties")
    link.symlink_to(properties)
    assert set_max_leases(link, 20)
    assert link.is_symlink()
    assert b"= 20" in properties.read_bytes()


def test_a_read_only_file_is_left_alone_and_named(properties: Path) -> None:
    properties.chmod(0o444)
    before = properties.read_bytes()
    with pytest.raises(Invalid, match=r"--properties .*kcl\.properties: it is read-only: give a file"):
        set_max_leases(properties, 20)
    assert properties.read_bytes() == before


@pytest.mark.parametrize("name", ["nosuch.properties", "."])
def test_what_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid, match="--properties"):
        set_max_leases(tmp_path / name, 20)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    properties: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = properties.read_bytes()
    with pytest.raises(Invalid, match="No space left on device"):
        set_max_leases(properties, 20)
    assert properties.read_bytes() == before
    assert [path.name for path in properties.parent.iterdir()] == ["kcl.properties"]
