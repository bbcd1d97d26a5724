"""Each way in which a part of ours may fail to install says what is wrong and what would help."""

from pathlib import Path

import pytest

from tools.parts.catalog.extenddb import ExtenddbPart
from tools.parts.catalog.kcl import KclPart
from tools.parts.catalog.kinesis_local import KinesisLocalPart
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
        (KinesisLocalPart(), "node is missing", "install Node.js 18"),
        (KclPart(), "java is missing", "install Java 17"),
    ],
    ids=["extenddb", "prometheus", "kinesis-local", "kcl"],
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


@pytest.mark.parametrize(
    ("name", "says", "part"),
    [
        ("node", "echo v16.20.0", KinesisLocalPart()),
        ("java", "echo 'openjdk version \"11.0.2\"' >&2", KclPart()),
    ],
    ids=["node", "java"],
)
def test_a_tool_that_is_too_old_is_named_with_its_version(
    programs: Path, name: str, says: str, part: Part
) -> None:
    program(programs, name, f"#!/bin/sh\n{says}\n")
    said = refusal(part)
    assert ("v16.20.0" if name == "node" else "11.0.2") in said
    assert "or newer" in said


ANOTHER_JAR = """#!/bin/sh
for word; do folder=${word#-DoutputDirectory=}; done
mkdir -p "$folder"
echo 'not what was pinned' > "$folder/amazon-kinesis-client-2.7.2.jar"
"""


def test_jars_that_are_not_the_pinned_ones_are_refused(programs: Path) -> None:
    program(programs, "java", "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    program(programs, "mvn", ANOTHER_JAR)
    said = refusal(KclPart())
    assert "amazon-kinesis-client-2.7.2.jar is not the file that was pinned" in said


def test_a_repository_that_does_not_answer_is_reported_with_what_maven_said(programs: Path) -> None:
    program(programs, "java", "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    program(programs, "mvn", "#!/bin/sh\necho '[ERROR] no route'\nexit 1\n")
    said = refusal(KclPart())
    assert "check that `mvn` reaches its repository" in said
    assert "[ERROR] no route" in said


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
