"""What a part is, and where it lives once it is installed.

Rule 1: a part is installed when its marker says so.  The marker is written last, so
        an interrupted install is simply not there and is begun again.
Rule 2: installs are serialised by a file lock: two runs side by side install once.
"""

import fcntl
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

Say = Callable[[str], None]
"""Shows one line of progress."""


class CannotInstall(Exception):
    """The part could not be installed; the message says why and what would help."""


class Absent(Exception):
    """The part is not installed; the message names the command that installs it."""


def cache_root() -> Path:
    """Outside every clone, so that a second clone finds what the first one built."""
    chosen = os.environ.get("HOLDFAST_PARTS")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "holdfast" / "parts"


class Part(ABC):
    """One outside system.  Subclasses add a `start` of their own shape."""

    name: ClassVar[str]
    version: ClassVar[str]
    licence: ClassVar[str]
    purpose: ClassVar[str]

    @property
    def home(self) -> Path:
        return cache_root() / f"{self.name}-{self.version}"

    @property
    def marker(self) -> Path:
        return self.home / ".installed"

    @property
    def installed(self) -> bool:
        return self.marker.exists()

    def require(self) -> None:
        """Raise Absent, with the fix, unless the part can be started."""
        if not self.installed:
            raise Absent(f"{self.name} {self.version} is not installed: run `make parts ONLY={self.name}`")

    @abstractmethod
    def build(self, say: Say) -> None:
        """Put everything into `self.home`.  Called under a lock, on an empty folder."""

    def install(self, say: Say) -> bool:
        """Install unless it is there already; say whether anything was done."""
        with _locked(cache_root() / f"{self.name}.lock"):
            if self.installed:
                return False
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir(parents=True)
            began_s = time.monotonic()
            self.build(say)
            self.marker.write_text(f"{time.monotonic() - began_s:.1f} s\n")
            return True

    def size_mb(self) -> float:
        files = (p for p in self.home.rglob("*") if p.is_file() and not p.is_symlink())
        return sum(p.stat().st_size for p in files) / 1e6


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
