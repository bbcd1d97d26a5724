"""k3s on the instance: the command, and what `get.k3s.io` would install.

`python -m tools.parts.boot.k3s agent …` is the command, `… .k3s install …` the installer.
Neither runs a kubelet.  They check what the real ones check, write the request down, and
then wait, as systemd does, until the agent is in; the program outside does the joining.
"""

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.parts.boot.agent_request import AgentRequest, BadAgent, parse
from tools.parts.boot.sandbox import MACHINE

VERSION = "v1.36.3+k3s1"
AGENT = Path(MACHINE) / "agent"
SERVICE, REQUEST, JOINED = AGENT / "service.json", AGENT / "request.json", AGENT / "joined"


class Fatal(Exception):
    """The program ends here; the message goes to the console."""


def command(args: Sequence[str], env: Mapping[str, str]) -> None:
    """`k3s agent …` in the foreground."""
    if list(args) in (["--version"], ["-v"]):
        print(f"k3s version {env.get('INSTALL_K3S_VERSION') or VERSION}")
        return
    if not args or args[0] != "agent":
        raise Fatal(f"k3s {' '.join(args)}: only agents are recorded here")
    try:
        request = parse(args[1:], env, VERSION)
    except BadAgent as error:
        raise Fatal(f"Incorrect Usage: {error}") from error
    request.write(REQUEST)
    _wait_until_joined()
    while True:  # an agent in the foreground does not come back
        time.sleep(3600)


def install(args: Sequence[str], env: Mapping[str, str]) -> None:
    """The installer: `INSTALL_K3S_EXEC` and then its arguments make up the service's command."""
    words = [*shlex.split(env.get("INSTALL_K3S_EXEC", "")), *args]
    if not words or words[0].startswith("-"):
        words.insert(0, _default_command(env))
    url = env.get("K3S_URL", "")
    if url and not url.startswith("https://"):
        raise Fatal(f"[ERROR]  K3S_URL has to begin with https:// (it is {url})")
    version = env.get("INSTALL_K3S_VERSION") or VERSION
    print(f"[INFO]  Using {version} as release", flush=True)
    if words[0] != "agent":
        raise Fatal(f"[ERROR]  only agents are recorded here, not: k3s {words[0]}")
    print("[INFO]  Creating service k3s-agent", flush=True)
    _service(words[1:], env, version).write(SERVICE)
    if "true" in (env.get("INSTALL_K3S_SKIP_START"), env.get("INSTALL_K3S_SKIP_ENABLE")):
        return
    print("[INFO]  Starting k3s-agent", flush=True)
    SERVICE.rename(REQUEST)
    _wait_until_joined()


def _default_command(env: Mapping[str, str]) -> str:
    if not env.get("K3S_URL"):
        return "server"
    if not env.get("K3S_TOKEN") and not env.get("K3S_TOKEN_FILE"):
        raise Fatal("[ERROR]  K3S_URL makes this an agent, but neither K3S_TOKEN nor K3S_TOKEN_FILE is set")
    return "agent"


def _service(args: Sequence[str], env: Mapping[str, str], version: str) -> AgentRequest:
    try:
        return parse(args, env, version)
    except BadAgent as error:
        raise Fatal(f"Incorrect Usage: {error}\nJob for k3s-agent.service failed") from error


def _wait_until_joined() -> None:
    """Without end: a service that is never ready holds its starter for ever."""
    while not JOINED.exists():
        time.sleep(0.05)


def main() -> int:
    args = sys.argv[1:]
    try:
        if args[:1] == ["install"]:
            install(args[1:], os.environ)
        else:
            command(args, os.environ)
    except Fatal as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
