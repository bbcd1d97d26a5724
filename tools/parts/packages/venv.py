"""A private Python environment for a part whose pins would fight with ours."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.parts.part import CannotInstall

REQUIREMENTS = Path(__file__).parent.with_name("requirements")


def make_venv(folder: Path, requirements: str) -> Path:
    """Install `requirements/<name>` with its hashes; returns the folder of its programs."""
    wanted = REQUIREMENTS / requirements
    _run([*_installer(folder), "--require-hashes", "-r", str(wanted)])
    return folder / "bin"


def unpack_wheels(folder: Path, requirements: str) -> None:
    """Lay the files of `requirements/<name>` into a folder, by hash, without what they depend on."""
    environment = folder.with_name(f"{folder.name}-installer")
    wanted = ["--require-hashes", "-r", str(REQUIREMENTS / requirements)]
    _run([*_installer(environment), "--no-deps", "--target", str(folder), *wanted])
    shutil.rmtree(environment)


def _installer(environment: Path) -> list[str]:
    """Make an environment; returns the command that installs into it."""
    uv, python = shutil.which("uv"), str(environment / "bin" / "python")
    if uv:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)])
        return [uv, "pip", "install", "--quiet", "--python", python]
    _run([sys.executable, "-m", "venv", str(environment)])
    return [python, "-m", "pip", "install", "--quiet"]


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise CannotInstall(f"{' '.join(argv)} failed:\n{done.stderr.strip()[-2000:]}")
