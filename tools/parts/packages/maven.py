"""Jars of Maven, fetched by a pom and believed by their SHA-256."""

import contextlib
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.parts.part import CannotInstall, Part, Say

OLDEST_JAVA = 17


def fetch_jars(part: Part, pom: Path, sums: Path, say: Say) -> Path:
    """Put what the pom names, and all that needs, into the part's home; the folder of jars.

    `sums` holds a line `sha256  name` for each: a jar that is missing, other or unlisted is refused.
    """
    maven = _program("mvn", part, "Maven 3.8 or newer")
    jars, repository = part.home / "jars", part.home / "repository"
    say(f"fetching {part.name} {part.version} and what it needs")
    words = ["--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}", "--file", str(pom)]
    done = subprocess.run(
        [maven, *words, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"],
        cwd=part.home,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CannotInstall(
            f"Maven could not fetch {part.name} {part.version}: check that `mvn` reaches its repository\n"
            f"{done.stdout.strip()[-2000:]}"
        )
    shutil.rmtree(repository, ignore_errors=True)
    _check(jars, _listed(sums))
    return jars


def compiled(part: Part, source: Path, jars: Path) -> Path:
    """One file, compiled against the jars; the folder of its classes, one a version of the source."""
    mark = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    classes = part.home / f"classes-{mark}"
    if classes.exists():
        return classes
    javac = _program("javac", part, f"a JDK of Java {OLDEST_JAVA} or newer")
    with tempfile.TemporaryDirectory(dir=part.home) as folder:
        words = ["--release", str(OLDEST_JAVA), "-d", f"{folder}/made", "-cp", f"{jars}/*", str(source)]
        done = subprocess.run([javac, *words], capture_output=True, text=True)
        if done.returncode:
            raise CannotInstall(f"{source.name} cannot be compiled:\n{done.stderr.strip()[-2000:]}")
        with contextlib.suppress(OSError):  # another process was faster
            Path(folder, "made").rename(classes)
    return classes


def java_program(part: Part) -> str:
    """The `java` on the path, if it is new enough."""
    java = _program("java", part, f"Java {OLDEST_JAVA} or newer")
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        first = said.splitlines()[0] if said else "nothing"
        raise CannotInstall(
            f"{part.name} needs Java {OLDEST_JAVA} or newer and `java -version` says {first!r}: "
            f"install Java {OLDEST_JAVA}"
        )
    return java


def _program(name: str, part: Part, wanted: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise CannotInstall(f"{part.name} is a Java library and {name} is missing: install {wanted}")
    return found


def _listed(sums: Path) -> Mapping[str, str]:
    return {name: total for total, name in (line.split() for line in sums.read_text().splitlines())}


def _check(jars: Path, listed: Mapping[str, str]) -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in jars.iterdir()}
    for name in sorted({*found, *listed}):
        if found.get(name) != listed.get(name):
            raise CannotInstall(
                f"{name} is not the file that was pinned "
                f"(sha256 {found.get(name, 'absent')}, expected {listed.get(name, 'no such jar')}): "
                "do not use it; find out what changed it"
            )
