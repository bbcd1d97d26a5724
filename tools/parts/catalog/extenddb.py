"""ExtendDB: a second DynamoDB, written by other people in another language.

What holds on both it and MiniStack is a property of the interface, not of one
imitation.  It keeps its tables in an SQLite file, checks signatures, and in its
developer mode knows exactly one key pair: the one of AWS's documentation.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

from tools.parts.packages.npm import unpack
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

PACKAGE = "@extenddb/linux-x64"
SHA512 = "VH9yqcA8morx94IGvqKhiQPOvakUGXzZ7c/bjyo42e4F+T/0VsxOFfSjYVj0/w65BBj1lExuU5ifpcYIqLSX6g=="
ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

# The shell becomes the server, so the process that is stopped is the server itself.
INIT_THEN_SERVE = """
"$0" init --sqlite-path tables.sqlite --bind-addr 127.0.0.1 --config extenddb.toml &&
exec "$0" serve --config extenddb.toml --foreground --port "$1"
"""


@dataclass(frozen=True)
class Extenddb:
    """A started ExtendDB, and the only keys it accepts."""

    running: Running
    endpoint: str
    access_key: str = ACCESS_KEY
    secret_key: str = SECRET_KEY

    def stop(self) -> None:
        self.running.stop()


class ExtenddbPart(Part):
    name = "extenddb"
    version = "0.1.10"
    licence = "Apache-2.0"
    purpose = "a second DynamoDB, independent of the first"

    @property
    def program(self) -> Path:
        return self.home / "package" / "extenddb"

    def build(self, say: Say) -> None:
        machine = platform.machine()
        if machine != "x86_64":
            raise CannotInstall(
                f"extenddb {self.version} is pinned for x86_64, this machine is {machine}; "
                "leave its tests out, or pin the package for this machine in its catalog file"
            )
        unpack(self, PACKAGE, SHA512, say)

    def start(self) -> Extenddb:
        self.require()
        running, port = Running(self.name), free_port()
        try:
            running.start(
                self.name,
                ["/bin/sh", "-c", INIT_THEN_SERVE, self.program, str(port)],
                # It writes a certificate below HOME and takes its key pair from the environment:
                # neither may be the developer's.
                env={
                    "HOME": str(running.folder),
                    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
                },
            )
            endpoint = f"http://127.0.0.1:{port}"
            running.wait_until(self.name, lambda: answers_http(f"{endpoint}/health"))
        except BaseException:
            running.stop()
            raise
        return Extenddb(running, endpoint)


PART = ExtenddbPart()
