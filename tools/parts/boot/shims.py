"""The programs that an instance finds in /usr/local/bin, and the k3s installer it downloads."""

import shutil
import sys
from pathlib import Path

from tools.parts.boot.sandbox import MACHINE

SOURCE = Path(__file__).parents[3]
METADATA = "169.254.169.254"

CURL = """#!/bin/sh
for word do
    shift
    case "$word" in
    *{metadata}*) word=$(printf %s "$word" | sed 's#\\(http://\\)\\{{0,1\\}}{metadata}#{imds}#') ;;
    *get.k3s.io*) word=file://{machine}/get-k3s.sh ;;
    esac
    set -- "$@" "$word"
done
exec {curl} "$@"
"""

SYSTEMCTL = """#!/bin/sh
echo "systemctl $* (recorded)"
case " $* " in
*" start k3s-agent"*|*" restart k3s-agent"*|*" --now k3s-agent"*)
    [ ! -f {machine}/agent/service.json ] || mv {machine}/agent/service.json {machine}/agent/request.json ;;
esac
"""

HOSTNAMECTL = """#!/bin/sh
case "$1" in
set-hostname|hostname) hostname "$2"; echo "$2" > /etc/hostname ;;
*) hostname ;;
esac
"""

SUDO = """#!/bin/sh
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
exec env "$@"
"""

WGET = """#!/bin/sh
echo "wget: not on this image; use curl" >&2
exit 127
"""

PROGRAM = """#!/bin/sh
export {exported}
exec env PYTHONPATH={source} {python} -m {module} "$@"
"""


def write_shims(folder: Path, imds: str, ec2: str) -> None:
    """Everything in `<folder>/bin`, and `get-k3s.sh` beside it."""
    programs = folder / "bin"
    programs.mkdir()
    curl = CURL.format(metadata=METADATA, imds=imds, machine=MACHINE, curl=shutil.which("curl"))
    addresses = f"AWS_ENDPOINT_URL={ec2} AWS_EC2_METADATA_SERVICE_ENDPOINT={imds}"
    texts = {
        "curl": curl,
        "wget": WGET,
        "sudo": SUDO,
        "hostnamectl": HOSTNAMECTL,
        "systemctl": SYSTEMCTL.format(machine=MACHINE),
        "aws": _program("tools.parts.boot.aws", addresses),
        "k3s": _program("tools.parts.boot.k3s", "K3S_RECORDED=true"),
    }
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (folder / "get-k3s.sh").write_text('exec k3s install "$@"\n')


def _program(module: str, exported: str) -> str:
    return PROGRAM.format(module=module, exported=exported, source=SOURCE, python=sys.executable)
