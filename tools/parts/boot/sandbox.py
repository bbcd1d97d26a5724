"""A machine's own view of this computer: every file is there, no write leaves.

Private namespaces for mounts, processes and the host name; copy-on-write layers, kept in
memory, over every folder that user data may write to.  Where the kernel grants none of
this, user data is not executed at all.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tools.parts.part import Absent

MACHINE = "/mnt/machine"
"""Where the machine's folder is seen from inside."""
WRITABLE = ("etc", "var", "root", "home", "opt", "srv", "tmp", "usr/local")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NEEDED = {"unshare": "util-linux", "setpriv": "util-linux", "mount": "mount", "curl": "curl"}


APART = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]


def require() -> None:
    """Raise Absent, with the fix, unless user data can be executed on this computer."""
    missing = {package for program, package in NEEDED.items() if not shutil.which(program)}
    if missing:
        raise Absent(f"booting needs more programs: run `apt-get install {' '.join(sorted(missing))}`")
    if os.geteuid() != 0:
        raise Absent("booting executes user data, which is root on its instance: run as root")
    tried = subprocess.run(
        [*APART, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True, timeout=20
    )
    if tried.returncode:
        raise Absent(
            f"booting needs private mounts; in a container, make it privileged: {tried.stderr.strip()}"
        )


def enter(folder: Path) -> list[str]:
    """The command that runs `enter.sh` of the machine's folder inside its namespaces.

    It dies with the thread that starts it, and everything inside dies with it.
    """
    return ["setpriv", "--pdeathsig", "KILL", *APART, "sh", str(folder / "enter.sh")]


def write_enter(folder: Path, hostname: str, environment: dict[str, str]) -> None:
    """The first process of the machine: it lays the files out, runs the user data and stays."""
    given = " ".join(f"{name}='{value}'" for name, value in environment.items())
    layers = "\n".join(_layer(top) for top in WRITABLE)
    script = f"""set -e
mount -t tmpfs tmpfs /mnt
mkdir {MACHINE}
mount --bind '{folder}' {MACHINE}
layer() {{
    mkdir -p /mnt/upper/$1 /mnt/work/$1
    mount -t overlay overlay -o lowerdir=/$1,upperdir=/mnt/upper/$1,workdir=/mnt/work/$1 /$1
}}
{layers}
cp {MACHINE}/bin/* /usr/local/bin/
hostname '{hostname}'
echo '{hostname}' > /etc/hostname
cd /
set +e
env -i PATH={PATH} HOME=/root LANG=C.UTF-8 {given} {MACHINE}/part-001
echo $? > {MACHINE}/exit.new
mv {MACHINE}/exit.new {MACHINE}/exit
exec sleep infinity
"""
    (folder / "enter.sh").write_text(script)


def _layer(top: str) -> str:
    return f"[ ! -d /{top} ] || layer {top}"
