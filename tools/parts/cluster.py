"""A Kubernetes cluster on loopback: a real control plane, and KWOK for its kubelets.

with start_cluster() as cluster:
    cluster.add_node("worker-1", cpu="4", memory="8Gi")
    cluster.request("POST", "/api/v1/namespaces/default/pods", pod).ok()
"""

from collections.abc import Sequence
from dataclasses import replace

from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.kubernetes import commands
from tools.parts.kubernetes.api import Api
from tools.parts.kubernetes.cluster import Cluster
from tools.parts.kubernetes.credentials import (
    User,
    admin,
    write_kubeconfig,
    write_signing_key,
    write_tokens,
)
from tools.parts.kubernetes.layout import Layout
from tools.parts.running import DidNotStart, Running

__all__ = ["NODE_GRACE_S", "Cluster", "start_cluster"]

NODE_GRACE_S = 50
"""How long a node may be silent before it is NotReady: Kubernetes' own default."""


def start_cluster(*, users: Sequence[str] = (), node_grace_s: int = NODE_GRACE_S) -> Cluster:
    """Start one and return when all of it works.  Each of `users` gets a token and no rights."""
    for part in (KUBERNETES, KWOK):
        part.require()
    attempts = 3
    while True:
        attempts -= 1
        try:
            return _start([User(name) for name in users], node_grace_s)
        except DidNotStart as error:
            # Between finding a free port and listening on it, another process may take it.
            if "address already in use" not in str(error) or not attempts:
                raise


def _start(users: Sequence[User], node_grace_s: int) -> Cluster:
    running = Running("cluster")
    try:
        at, boss = Layout(running.folder), admin()
        write_tokens(at.token_file, [boss, *users])
        write_signing_key(at.signing_key)
        api = Api(at.server, at.ca_file, boss.token)
        _start_control_plane(running, at, api)
        write_kubeconfig(at.kubeconfig, server=at.server, ca_file=at.ca_file, token=boss.token)
        _start_what_acts(running, at, api, node_grace_s)
    except BaseException:
        running.stop()
        raise
    return Cluster(running, at, api, {user.name: user.token for user in users})


def _start_control_plane(running: Running, at: Layout, api: Api) -> None:
    """etcd is the first to start and so the last to stop: an apiserver without it would not end."""
    running.start("etcd", commands.etcd(at))
    running.start("kube-apiserver", commands.apiserver(at))
    running.wait_until("etcd", at.etcd_socket.exists)
    running.wait_until("kube-apiserver", lambda: _says_ok(api, "/readyz"))


def _start_what_acts(running: Running, at: Layout, api: Api, node_grace_s: int) -> None:
    # KWOK would read, and the others might write, what a person keeps in their home folder.
    env = {"HOME": str(at.folder)}
    running.start("kube-scheduler", commands.scheduler(at), env=env)
    running.start("kube-controller-manager", commands.controllers(at, node_grace_s), env=env)
    running.start("kwok", commands.kwok(at, node_grace_s), env=env)
    service_account = "/api/v1/namespaces/default/serviceaccounts/default"
    running.wait_until("kube-controller-manager", lambda: _says_ok(api, service_account))
    scheduler, kwok = (_on_port(api, port) for port in (at.scheduler_port, at.kwok_port))
    running.wait_until("kube-scheduler", lambda: _says_ok(scheduler, "/readyz"))
    running.wait_until("kwok", lambda: _says_ok(kwok, "/healthz"))


def _on_port(api: Api, port: int) -> Api:
    return replace(api, server=f"https://127.0.0.1:{port}")


def _says_ok(api: Api, path: str) -> bool:
    try:
        return api.request("GET", path, timeout_s=30).status == 200
    except OSError:
        # The server does not listen yet, or the certificate is not there yet.
        return False
