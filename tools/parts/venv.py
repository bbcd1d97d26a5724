"""A private Python environment for a part whose pins would fight with ours."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.parts.part import CannotInstall

REQUIREMENTS = Path(__file__).with_name("requirements")


def make_venv(folder: Path, requirements: str) -> Path:
    """Install `requirements/<name>` with its hashes; returns the folder of its programs."""
    wanted = REQUIREMENTS / requirements
    uv = shutil.which("uv")
    if uv:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    else:
        _run([sys.executable, "-m", "venv", str(folder)])
        install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    _run([*install, "--require-hashes", "-r", str(wanted)])
    return folder / "bin"


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise CannotInstall(f"{' '.join(argv)} failed:\n{done.stderr.strip()[-2000:]}")
