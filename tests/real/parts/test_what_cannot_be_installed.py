"""Each way in which a part of ours may fail to install says what is wrong and what would help."""

from pathlib import Path

import pytest

from tools.parts.catalog.extenddb import ExtenddbPart
from tools.parts.catalog.lambda_runtime import LambdaRuntimePart
from tools.parts.catalog.prometheus import PrometheusPart
from tools.parts.part import CannotInstall, Part

ANOTHER_PACKAGE = """#!/bin/sh
# Called as: npm pack --silent --pack-destination FOLDER PACKAGE
echo 'not what was pinned' > "$4/extenddb.tgz"
echo extenddb.tgz
"""
ANOTHER_PROMETHEUS = """#!/bin/sh
# Called as: dpkg-deb --extract PACKAGE FOLDER
mkdir -p "$3/usr/bin"
printf '#!/bin/sh\\necho prometheus, version 3.5.0\\n' > "$3/usr/bin/prometheus"
chmod +x "$3/usr/bin/prometheus"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache, on which only the programs in this folder are found first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path / "parts"))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def refusal(part: Part) -> str:
    with pytest.raises(CannotInstall) as refused:
        part.install(print)
    assert not part.installed
    return str(refused.value)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("part", "missing", "fix"),
    [
        (ExtenddbPart(), "npm is missing", "install Node.js"),
        (PrometheusPart(), "apt-get is missing", "run on Debian 12"),
    ],
    ids=["extenddb", "prometheus"],
)
def test_a_missing_tool_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, part: Part, missing: str, fix: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    said = refusal(part)
    assert missing in said
    assert fix in said


def test_a_package_that_is_not_the_pinned_one_is_refused(programs: Path) -> None:
    program(programs, "npm", ANOTHER_PACKAGE)
    assert "is not the file that was pinned" in refusal(ExtenddbPart())


def test_a_registry_that_does_not_answer_is_reported_with_what_npm_said(programs: Path) -> None:
    program(programs, "npm", "#!/bin/sh\necho 'npm error network' >&2\nexit 1\n")
    said = refusal(ExtenddbPart())
    assert "check that npm reaches its registry" in said
    assert "npm error network" in said


def test_another_version_of_prometheus_is_refused(programs: Path) -> None:
    program(programs, "apt-get", '#!/bin/sh\n[ "$3" = download ] && touch prometheus_3.5.0_all.deb || true\n')
    program(programs, "dpkg-deb", ANOTHER_PROMETHEUS)
    said = refusal(PrometheusPart())
    assert "prometheus, version 3.5.0" in said
    assert "pin that version" in said


def test_a_mirror_that_does_not_answer_is_reported_with_what_apt_said(programs: Path) -> None:
    program(programs, "apt-get", "#!/bin/sh\necho 'E: no route' >&2\nexit 100\n")
    said = refusal(PrometheusPart())
    assert "check that `apt-get update` reaches a mirror" in said
    assert "E: no route" in said


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("part", [ExtenddbPart(), LambdaRuntimePart()], ids=["extenddb", "lambda"])
def test_a_platform_without_a_build_is_named(monkeypatch: pytest.MonkeyPatch, part: Part) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    said = refusal(part)
    assert "x86_64" in said
    assert "riscv64" in said
