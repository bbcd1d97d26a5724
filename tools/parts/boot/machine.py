"""One booted instance: its user data runs, its agent tries to join, its console is kept."""

import base64
import contextlib
import gzip
import json
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tools.parts.boot import sandbox
from tools.parts.boot.agent_request import AgentRequest, read_request
from tools.parts.boot.cluster import Cluster, Join, Node, NotJoined, admit
from tools.parts.boot.node import BadNode, build_node, node_name
from tools.parts.boot.shims import write_shims
from tools.parts.boot.whole import write_whole

LOOK_EVERY_S = 0.05
JOIN_EVERY_S = 1.0
ROOM_S = 15.0
"""A boot that takes longer than this waits for something, and holds up no other."""

Publish = Callable[[str], None]
"""Shows the whole console output so far to clients that ask EC2 for it."""


class Machine(threading.Thread):
    """Lives from power-on to power-off; the thread itself is the parent of what runs inside."""

    def __init__(
        self,
        facts: Mapping[str, Any],
        folder: Path,
        join: Join,
        cluster: Cluster,
        publish: Publish,
        room: threading.Semaphore,
    ) -> None:
        """`room`: for as many as may run their user data at once."""
        super().__init__(name=str(facts["id"]), daemon=True)
        self._room, self._has_room_until_s = room, 0.0
        self._facts, self._folder, self._join, self._cluster = facts, folder, join, cluster
        self._publish = publish
        self._console = folder / "console.log"
        self._published_size = -1
        self._off = threading.Event()
        self._node: Node | None = None
        self._asked: AgentRequest | None = None
        self._node_name = ""
        self._next_try_s = 0.0
        self._last_error = ""

    def power_off(self) -> None:
        self._off.set()

    def run(self) -> None:
        inside: subprocess.Popen[bytes] | None = None
        try:
            if self._folder.exists():
                self._boot_again()
            else:
                (self._folder / "agent").mkdir(parents=True)
                inside = self._boot()
            while not self._off.wait(LOOK_EVERY_S):
                self._look(inside)
        except Exception as error:
            self._say(f"the machine broke: {type(error).__name__}: {error}")
        finally:
            if inside:
                inside.kill()
                inside.wait()
            self._leave_room()
            self._say("powered off" if self._off.is_set() else "halted")
            self._show_console()
        if self._node:
            with contextlib.suppress(OSError):
                self._cluster.stop_kubelet(self._node)

    def _finds_room(self) -> bool:
        """In life each has processors of its own.  Here many at once would slow down all that is not them."""
        while not self._off.is_set():
            if self._room.acquire(timeout=LOOK_EVERY_S):
                self._has_room_until_s = time.monotonic() + ROOM_S
                return True
        return False

    def _leave_room(self) -> None:
        if self._has_room_until_s:
            self._has_room_until_s = 0.0
            self._room.release()

    def _boot(self) -> subprocess.Popen[bytes] | None:
        self._say(f"{self._facts['id']} {self._facts['instance_type']} in {self._facts['zone']} boots")
        script = self._script()
        if script is None or not self._finds_room():
            return None
        part = self._folder / "part-001"
        part.write_bytes(script)
        part.chmod(0o700)
        write_shims(self._folder, self._facts["imds"], self._facts["ec2"])
        environment = {
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": self._facts["imds"],
            "AWS_ENDPOINT_URL": self._facts["ec2"],
        }
        sandbox.write_enter(self._folder, self._facts["hostname"], environment)
        with self._console.open("ab") as console:
            return subprocess.Popen(
                sandbox.enter(self._folder), stdin=subprocess.DEVNULL, stdout=console, stderr=console
            )

    def _boot_again(self) -> None:
        """After a stop: cloud-init runs user data once in a life, but the agent is a service."""
        self._say("boots again: user data ran at the first boot")
        asked, name = self._folder / "agent/asked.json", self._folder / "agent/name"
        if name.exists():
            self._asked, self._node_name = read_request(asked), name.read_text()

    def _script(self) -> bytes | None:
        """The user data, if it is something that would be executed."""
        encoded = self._facts["user_data"]
        script = base64.b64decode(encoded) if encoded else b""
        if script.startswith(b"\x1f\x8b"):
            script = gzip.decompress(script)
        if script.startswith(b"#!"):
            return script
        self._say(
            "no user data" if not script else "cloud-init: user data is no script (no #!): not executed"
        )
        return None

    def _look(self, inside: subprocess.Popen[bytes] | None) -> None:
        """One turn: has the script ended, has an agent started, is there more to show."""
        exited = self._folder / "exit"
        if exited.exists():
            code = exited.read_text().strip()
            exited.unlink()
            self._say(f"cloud-init: user data {'finished' if code == '0' else f'failed with code {code}'}")
            self._leave_room()
        elif inside and inside.poll() is not None:
            self._say(f"the machine stopped by itself with code {inside.returncode}")
            self._show_console()
            raise RuntimeError("its first process ended")
        self._try_to_join()
        if self._node or time.monotonic() > self._has_room_until_s:
            self._leave_room()
        self._show_console()

    def _try_to_join(self) -> None:
        asked = self._folder / "agent/request.json"
        if asked.exists():
            asked = asked.rename(asked.with_name("asked.json"))
            self._asked = read_request(asked)
            self._node_name = node_name(self._asked, self._facts["hostname"])
            (self._folder / "agent/name").write_text(self._node_name)
        if self._asked is None or self._node or time.monotonic() < self._next_try_s:
            return
        try:
            admit(self._join, self._asked.server, self._asked.token)
            node = build_node(self._asked, self._node_name, self._facts)
            self._cluster.join(node)
        except (NotJoined, BadNode) as error:
            self._next_try_s = time.monotonic() + JOIN_EVERY_S
            if str(error) != self._last_error:
                self._last_error = str(error)
                self._say(f"k3s agent: not joined: {error}")
            return
        self._node = node
        write_whole(self._folder / "node.json", json.dumps(node))
        (self._folder / "agent/joined").touch()
        self._say(f"k3s agent: joined as {self._node_name}")

    def _say(self, line: str) -> None:
        with self._console.open("a") as console:
            console.write(f"[{time.strftime('%H:%M:%S', time.gmtime())}] {line}\n")

    def _show_console(self) -> None:
        size = self._console.stat().st_size
        if size != self._published_size:
            self._published_size = size
            self._publish(self._console.read_text(errors="replace"))
