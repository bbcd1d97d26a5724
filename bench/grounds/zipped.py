"""Scripts that run as in Lambda: in a fresh process, from the unpacked zip, with boto3 beside it."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tools.package_lambda import build

LIBRARIES: Final = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six")
"""What Lambda brings; urllib3 comes with the zip."""
MARK: Final = "\nresult "
BEFORE: Final = """
import time
begun_s = time.process_time()
import sys
sys.path[:0] = {paths}
"""
AFTER: Final = """
import json
print({mark!r} + json.dumps(result))
"""


@dataclass(frozen=True)
class Zipped:
    size: int
    paths: tuple[Path, ...]

    def run(self, script: str, environ: Mapping[str, str]) -> Any:
        """What the script leaves in `result`.  `begun_s` is its CPU time at its first line."""
        code = BEFORE.format(paths=json.dumps([str(path) for path in self.paths]))
        code += script + AFTER.format(mark=MARK)
        env = {"PATH": os.environ["PATH"], **environ}
        done = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the measured process failed:\n{done.stderr}")
        return json.loads(done.stdout.rpartition(MARK)[2])


def unpacked(folder: Path) -> Zipped:
    """Build the zip and lay it out below the folder."""
    zipped, task = folder / "holdfast.zip", folder / "task"
    size = build(zipped)
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(task)
    return Zipped(size, (task, _runtime(folder / "runtime")))


def _runtime(folder: Path) -> Path:
    """boto3 and what it needs, in a folder that has nothing else."""
    folder.mkdir()
    for library in LIBRARIES:
        spec = find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        there = Path(spec.origin)
        there = there.parent if there.name == "__init__.py" else there
        (folder / there.name).symlink_to(there)
    return folder
