"""A started boot program as a test holds it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.parts.boot import sandbox
from tools.parts.boot.cluster import Join, Node
from tools.parts.running import Running

SOURCE = Path(__file__).parents[3]


class Boot:
    """What the booted machines did, read from their folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def nodes(self) -> dict[str, Node]:
        """The nodes of a recorded cluster, by name."""
        return {file.stem: json.loads(file.read_text()) for file in self._folder.glob("nodes/*.json")}

    def delete_node(self, name: str) -> None:
        """As an operator deletes a Node object: its name is free again."""
        (self._folder / "nodes" / f"{name}.json").unlink()

    def node_of(self, instance_id: str) -> Node | None:
        """The node that this instance registered, as it registered it."""
        file = self._folder / "machines" / instance_id / "node.json"
        return json.loads(file.read_text()) if file.exists() else None

    def console(self, instance_id: str) -> str:
        file = self._folder / "machines" / instance_id / "console.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def aws_calls(self, instance_id: str) -> list[dict[str, Any]]:
        """What the instance asked of AWS with its command line tool."""
        file = self._folder / "machines" / instance_id / "aws.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def start_boot(running: Running, python: Path, ec2: str, join: Join) -> Boot:
    """Start it beside the stand-in; raises Absent where user data cannot be executed."""
    sandbox.require()
    folder = running.folder / "boot"
    folder.mkdir()
    argv = [str(python), "-m", "tools.parts.boot", "--ec2", ec2, "--folder", str(folder)]
    running.start("boot", [*argv, "--join", json.dumps(asdict(join))], env={"PYTHONPATH": str(SOURCE)})
    running.wait_until("boot", (folder / "ready").exists)
    return Boot(folder)
