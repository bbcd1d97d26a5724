"""What must outlive a boot: the epochs, and who this agent is.  Each write is on disk when it returns."""

import contextlib
import errno
import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.agent.options import Problem

EPOCHS, IDENTITY, LOCK, PAGE = "epoch", "identity", "agent.lock", "page"
PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Identity:
    agent_id: str
    instance_id: str
    token: str


def make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Problem(f"{option} {folder}: {error.strerror}: choose a directory that it may write") from None


def store(path: Path, value: dict[str, Any]) -> None:
    """Write whole or not at all, and wait for the disk.  Twice is once.  Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
    text = json.dumps(value).encode()
    try:
        if os.write(fd, text) < len(text):  # a full disk may take a part of it without a word
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(new))
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(new, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(path: Path) -> dict[str, Any] | None:
    """None if there is no such file.  Raises Problem if there is one that cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Problem(f"{path} is damaged: restore it from a copy")
    return value


def load_epochs(state: Path) -> tuple[int, int]:
    """The highest epoch that was heard of, and the highest that was served."""
    path = state / EPOCHS
    found = load(path) or {}
    highest, served = found.get("highest_epoch", 0), found.get("served_epoch", 0)
    if not isinstance(highest, int) or not isinstance(served, int) or (found and not highest):
        raise Problem(
            f"{path} is damaged. An agent that has forgotten its epoch could obey an older one: restore the "
            "file, or delete it if this instance never served"
        )
    return highest, served


def store_epochs(state: Path, highest: int, served: int) -> None:
    store(state / EPOCHS, {"highest_epoch": highest, "served_epoch": served})


def load_identity(state: Path) -> Identity | None:
    path = state / IDENTITY
    found = load(path)
    if found is None:
        return None
    try:
        identity = Identity(str(found["agent_id"]), str(found["instance_id"]), str(found["token"]))
    except KeyError as error:
        raise Problem(f"{path} has no {error.args[0]}: enrol this instance again") from None
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise Problem(f"{path} holds a token, and others may read it (mode {mode:o}): chmod 600 {path}")
    return identity


def store_identity(state: Path, identity: Identity) -> None:
    store(
        state / IDENTITY,
        {"agent_id": identity.agent_id, "instance_id": identity.instance_id, "token": identity.token},
    )


TRY_AGAIN_S: Final = 0.02


class Lock:
    """One agent for one runtime directory."""

    def __init__(self, run: Path) -> None:
        self.path = run / LOCK
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)

    def take(self, patience_s: float = 0.0) -> bool:
        """`patience_s`: a child that a killed agent had just begun to start holds it until it has started."""
        until_s = time.monotonic() + patience_s
        while not self._is_taken():
            if time.monotonic() >= until_s:
                return False
            time.sleep(TRY_AGAIN_S)
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
            os.truncate(self.fd, 0)
            os.pwrite(self.fd, str(os.getpid()).encode(), 0)
        return True

    def _is_taken(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        os.close(self.fd)

    @property
    def holder(self) -> int:
        text = os.pread(self.fd, 32, 0).decode(errors="replace")
        return int(text) if text.isdigit() else 0
