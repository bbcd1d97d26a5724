"""The zip holds all that the function imports, compiled, and nothing that it does not."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import package_lambda
from tools.package_lambda import SIZE_MAX, build


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("zip") / "deep" / "holdfast.zip"
    build(out)
    return out


@pytest.fixture(scope="module")
def unpacked(zipped: Path) -> Path:
    """As Lambda lays it out: every file of another time than it had when it was compiled."""
    folder = zipped.parent / "task"
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(folder)
    return folder


def names(zipped: Path) -> list[str]:
    with zipfile.ZipFile(zipped) as archive:
        return archive.namelist()


def test_it_is_small_enough(zipped: Path) -> None:
    assert 100_000 < zipped.stat().st_size < SIZE_MAX


def test_it_brings_us_and_two_libraries_with_their_licences(zipped: Path) -> None:
    ours = {"holdfast", "msgspec", "urllib3"}
    assert {name.split("/")[0] for name in names(zipped)} == ours | {"aws-models", "licenses"}
    licences = {name.split("/")[1] for name in names(zipped) if name.startswith("licenses/")}
    assert licences == ours | {"botocore"}, "aws-models is botocore's"


@pytest.mark.parametrize("part", ["sim", "cli", "failover"])
def test_it_brings_nothing_that_the_function_never_imports(zipped: Path, part: str) -> None:
    assert not [name for name in names(zipped) if name.startswith(f"holdfast/{part}")]


def test_every_module_is_compiled(zipped: Path) -> None:
    there = set(names(zipped))
    for name in there:
        if name.endswith(".py"):
            folder, _, file = name.rpartition("/")
            assert f"{folder}/__pycache__/{Path(importlib.util.cache_from_source(file)).name}" in there


IMPORT = """
import sys
sys.path[:0] = [sys.argv[1]]
from holdfast import lambda_handler
"""


def test_the_handler_is_imported_from_it_alone(unpacked: Path) -> None:
    argv = [sys.executable, "-I", "-S", "-c", IMPORT, str(unpacked)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CHANGED = "import sys; sys.path[:0] = [sys.argv[1]]; import holdfast.cloud"


def test_the_compiled_files_are_taken_at_their_word(unpacked: Path) -> None:
    source = unpacked / "holdfast" / "cloud" / "__init__.py"
    before = source.read_text()
    source.write_text("raise SystemExit('compiled anew')")
    try:
        argv = [sys.executable, "-I", "-S", "-c", CHANGED, str(unpacked)]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    finally:
        source.write_text(before)


def test_the_same_sources_give_the_same_bytes(zipped: Path, tmp_path: Path) -> None:
    build(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == zipped.read_bytes()


def test_settings_are_put_beside_the_code(tmp_path: Path) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text("[autoscaler]\ncpu_up = 0.8\n")
    build(tmp_path / "out.zip", settings=settings)
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.read("holdfast.toml") == settings.read_bytes()


def test_the_command_says_what_to_deploy_it_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["package_lambda", "--out", str(tmp_path / "out.zip")])
    assert package_lambda.main() == 0
    said = capsys.readouterr().out
    assert f"Runtime=python3.{sys.version_info.minor} Architecture={package_lambda.architecture()}" in said
