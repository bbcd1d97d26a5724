"""A program out of Debian packages, without installing them.

apt fetches them with lists and cache of its own and checks Debian's signatures; dpkg
unpacks them into one folder.  So no service starts, nothing on the system changes, and
root is not needed.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.parts.part import CannotInstall, Say

# The hooks are cleared because those of the system tidy the system's own cache.
PRIVATE = """\
Dir::State::Lists "{folder}/lists";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


def unpack(packages: Sequence[str], folder: Path, say: Say) -> None:
    """Put the files of these packages, without what they depend on, below `folder`."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise CannotInstall(
                f"{packages[0]} comes as a Debian package and {tool} is missing: run on Debian 12"
            )
    own = folder / ".apt"
    for needed in ("lists/partial", "cache/archives/partial"):
        (own / needed).mkdir(parents=True)
    (own / "apt.conf").write_text(PRIVATE.format(folder=own))
    apt = ["apt-get", "--quiet", f"--config-file={own / 'apt.conf'}"]
    say("reading Debian's package lists")
    _run([*apt, "update"], own)
    say(f"fetching {', '.join(packages)}")
    _run([*apt, "download", *packages], own)
    for package in packages:
        _run(["dpkg-deb", "--extract", str(next(own.glob(f"{package}_*.deb"))), str(folder)], own)
    shutil.rmtree(own)


def _run(argv: list[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise CannotInstall(
            f"`{' '.join(argv)}` ended with {done.returncode}: check that `apt-get update` reaches a mirror\n"
            f"{done.stderr.strip()[-2000:]}"
        )
