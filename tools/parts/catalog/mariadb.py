"""MariaDB: the real server, out of Debian's packages but not installed on the system.

An empty data folder is made once, when the part is installed, and copied at each start.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.parts.packages.debian import unpack
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running
from tools.parts.stopping import Stopping

NAME = "mariadb"
USER = "root"
PACKAGES = ("mariadb-server-core", "mariadb-server", "mariadb-client-core", "liburing2", "libaio1")
SMALL = ("--innodb-log-file-size=8M", "--innodb-data-file-path=ibdata1:4M:autoextend")
"""The same for the copied folder and for the server that opens it."""


@dataclass(frozen=True)
class Mariadb(Stopping):
    """A started MariaDB; everything in it may be done by root, without a password, from loopback alone."""

    running: Running
    port: int
    argv: list[str] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)

    def url(self, database: str = "mysql") -> str:
        return f"mysql://{USER}@127.0.0.1:{self.port}/{database}"

    def kill(self) -> None:
        """End it as the loss of its machine would, but for the disk."""
        self.running.kill(NAME)

    def start_again(self) -> None:
        """After `kill`, on the same data and the same port."""
        self.running.start(NAME, self.argv, env=self.env)
        self.running.wait_until(NAME, lambda: answers(self.port))

    def stop(self) -> None:
        self.running.stop()


class MariadbPart(Part):
    name = NAME
    version = "10.11.19"
    licence = "GPL-2.0"
    purpose = "the server's database, one of three"

    @property
    def program(self) -> Path:
        return self.home / "usr/sbin/mariadbd"

    @property
    def env(self) -> dict[str, str]:
        """Its libraries lie beside it."""
        (libraries,) = {path.parent for path in self.home.glob("usr/lib/*/libaio.so.1")}
        return {"LD_LIBRARY_PATH": str(libraries)}

    def build(self, say: Say) -> None:
        unpack(PACKAGES, self.home, say)
        said = self._run([self.program, "--version"])
        if f"{self.version}-MariaDB" not in said.stdout:
            raise CannotInstall(
                f"the tests were written against the {self.version} of Debian 12, and this system's says: "
                f"{(said.stdout or said.stderr)[:200]}\nrun on Debian 12, or pin that version in the catalog"
            )
        say("making an empty data folder")
        made = self._run(
            [
                self.home / "usr/bin/mariadb-install-db",
                *("--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", *SMALL),
                *(f"--basedir={self.home / 'usr'}", f"--datadir={self.home / 'empty'}", *_as_root()),
            ]
        )
        if made.returncode:
            raise CannotInstall(
                f"mariadb-install-db ended with {made.returncode}\n{(made.stdout + made.stderr)[-2000:]}"
            )

    def start(self, settings: Mapping[str, str] | None = None) -> Mariadb:
        """An empty server; `settings` as on mariadbd's command line, without the dashes."""
        self.require()
        running, port = Running(self.name), free_port()
        try:
            data = running.folder / "data"
            shutil.copytree(self.home / "empty", data)
            chosen = {
                "basedir": str(self.home / "usr"),
                "datadir": str(data),
                "bind-address": "127.0.0.1",
                "port": str(port),
                "socket": str(running.folder / "socket"),
                "pid-file": str(running.folder / "pid"),
                "max-connections": "200",
                "innodb-buffer-pool-size": "64M",
                **(settings or {}),
            }
            words = [f"--{name}={value}" for name, value in chosen.items()]
            argv = [str(self.program), "--no-defaults", *_as_root(), *SMALL, *words, "--skip-name-resolve"]
            running.start(NAME, argv, env=self.env)
            running.wait_until(NAME, lambda: answers(port))
        except BaseException:
            running.stop()
            raise
        return Mariadb(running, port, argv, self.env)

    def _run(self, argv: list[str | Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **self.env})


def _as_root() -> list[str]:
    """As root it runs only if it is told to."""
    return ["--user=root"] if os.geteuid() == 0 else []


def answers(port: int) -> bool:
    """Whether it greets with version 10 of its protocol, which it does once it is ready."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as asked:
            return asked.recv(5)[4:] == b"\x0a"
    except OSError:
        return False


PART = MariadbPart()
