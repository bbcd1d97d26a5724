"""What a k3s agent was told: flags, environment and configuration files, as one request.

An unknown flag is an error, as it is for the real agent: it never joins.
"""

import glob
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.parts.boot.whole import write_whole

SINGLE = {
    "server", "token", "token-file", "node-name", "data-dir", "config", "v", "vmodule", "log",
    "lb-server-port", "container-runtime-endpoint", "default-runtime", "image-service-endpoint",
    "pause-image", "snapshotter", "private-registry", "bind-address", "resolv-conf", "flannel-iface",
    "flannel-conf", "flannel-cni-conf", "vpn-auth", "vpn-auth-file",
    "image-credential-provider-bin-dir", "image-credential-provider-config",
}  # fmt: skip
REPEATED = {
    "node-label", "node-taint", "kubelet-arg", "kube-proxy-arg", "node-ip", "node-external-ip",
    "node-internal-dns", "node-external-dns", "airgap-extra-registry",
}  # fmt: skip
SWITCHES = {
    "with-node-id", "debug", "alsologtostderr", "selinux", "protect-kernel-defaults", "docker",
    "rootless", "prefer-bundled-bin", "enable-pprof", "nonroot-devices", "disable-apiserver-lb",
    "disable-default-registry-endpoint",
}  # fmt: skip
SHORT = {"s": "server", "t": "token", "i": "node-ip", "d": "data-dir", "c": "config", "l": "log"}
ENVIRONMENT = {
    "K3S_URL": "server",
    "K3S_TOKEN": "token",
    "K3S_TOKEN_FILE": "token-file",
    "K3S_NODE_NAME": "node-name",
    "K3S_CONFIG_FILE": "config",
}
CONFIG = "/etc/rancher/k3s/config.yaml"

Settings = dict[str, list[str]]


class BadAgent(Exception):
    """The agent would not start with these words; the message says which is wrong."""


@dataclass(frozen=True)
class AgentRequest:
    args: list[str]
    version: str
    server: str
    token: str
    node_name: str | None
    with_node_id: bool
    node_ip: str | None
    labels: list[str]
    taints: list[str]
    kubelet_args: list[str]

    def write(self, file: Path) -> None:
        write_whole(file, json.dumps(asdict(self)))


def read_request(file: Path) -> AgentRequest:
    return AgentRequest(**json.loads(file.read_text()))


def parse(args: Sequence[str], env: Mapping[str, str], version: str) -> AgentRequest:
    """Flags outrank the environment, and that the configuration files; lists of flags replace lists."""
    given = _flags(args)
    from_env = {name: [env[key]] for key, name in ENVIRONMENT.items() if env.get(key)}
    file = (given.get("config") or from_env.get("config") or [CONFIG])[0]
    settings: Settings = {**_files(file), **from_env, **given}

    def one(name: str) -> str | None:
        return settings[name][-1] if settings.get(name) else None

    return AgentRequest(
        args=list(args),
        version=version,
        server=one("server") or "",
        token=one("token") or _from_file(one("token-file")),
        node_name=one("node-name"),
        with_node_id=one("with-node-id") == "true",
        node_ip=one("node-ip"),
        labels=settings.get("node-label", []),
        taints=settings.get("node-taint", []),
        kubelet_args=settings.get("kubelet-arg", []),
    )


def _flags(args: Sequence[str]) -> Settings:
    found: Settings = {}
    words = list(args)
    while words:
        word = words.pop(0)
        flag, equals, value = word.lstrip("-").partition("=")
        name = SHORT.get(flag, flag)
        if not word.startswith("-"):
            raise BadAgent(f"an agent takes no argument: {word}")
        if name not in SINGLE | REPEATED | SWITCHES:
            raise BadAgent(f"flag provided but not defined: -{flag}")
        if not equals and name in SWITCHES:
            value = "true"
        elif not equals:
            if not words:
                raise BadAgent(f"flag needs an argument: -{flag}")
            value = words.pop(0)
        found.setdefault(name, []).append(value)
    return found


def _files(file: str) -> Settings:
    """The configuration file and the drop-ins beside it, later ones winning."""
    found: Settings = {}
    for path in [file, *sorted(glob.glob(f"{file}.d/*.yaml"))]:
        if Path(path).exists():
            text = Path(path).read_text()
            read: Any = importlib.import_module("yaml").safe_load(text) or {}
            found.update({key: _texts(value) for key, value in read.items()})
    unknown = sorted(set(found) - SINGLE - REPEATED - SWITCHES)
    if unknown:
        raise BadAgent(f"unknown settings in {file}: {', '.join(unknown)}")
    return found


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in values]


def _from_file(path: str | None) -> str:
    if path is None:
        return ""
    if not Path(path).exists():
        raise BadAgent(f"open {path}: no such file or directory")
    return Path(path).read_text().strip()
