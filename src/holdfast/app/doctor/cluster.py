"""The Kubernetes API and the source of the load: reachable, signed in, allowed, and telling."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.app.doctor.check import Check, failed, tried
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.kubernetes import KubeNode, instance_id_of
from holdfast.kernel import HoldfastError

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes import KubernetesApi

SSM = "SSM"
KUBERNETES = "Kubernetes"
METRICS = "metrics"
SKEW_MAX = 3
SERVERS_TOKEN, AGENTS_TOKEN = "::server:", "::node:"
AGENT_TOKEN_FIX = (
    "give the server an --agent-token of its own, and store what it writes to server/agent-token "
    "(docs/guides/deploy.md, step 3)"
)


def ssm(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """The token of the API is ours to read; the one to join with is the workers'."""
    from holdfast.adapters.aws import ssm as store
    from holdfast.app.autoscaler import clients

    name = settings.k8s_api_token_param
    if name:
        client = clients.ssm_client(settings, environ)
        yield tried(SSM, f"read {name}", lambda: "readable" if store.parameter(client, name) else "empty")
    if settings.k3s_cluster_token_param:
        yield _join_token(settings, environ)
    elif any(not pool.launch_template_id for pool in settings.pools):
        fix = "set K3S_CLUSTER_TOKEN_PARAM, or give each pool a launch_template_id of your own"
        yield Check(SSM, "the token to join with", False, "k3s_cluster_token_param is empty", fix)


def _join_token(settings: Settings, environ: Mapping[str, str]) -> Check:
    """Whether it is an agent's, where the operator may read it.  It is never shown."""
    from holdfast.adapters.aws import ssm as store
    from holdfast.app.autoscaler import clients

    name = settings.k3s_cluster_token_param
    what = f"join token {name}"
    try:
        token = store.parameter(clients.ssm_client(settings, environ), name)
    except store.NoParameter as error:
        return failed(SSM, what, error)
    except HoldfastError:
        return Check(SSM, what, None, "is for the workers' own role, and may not be read here")
    if SERVERS_TOKEN in token:
        says = "is the server's own: a process on a worker could join as a server by it, and read every key"
        return Check(SSM, what, False, says, AGENT_TOKEN_FIX)
    if AGENTS_TOKEN in token:
        return Check(SSM, what, True, "is an agent's")
    return Check(SSM, what, None, f"is in the short form, which does not say whose it is: {AGENT_TOKEN_FIX}")


def kubernetes(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.app.autoscaler.wiring import connect_kubernetes

    try:
        api = connect_kubernetes(settings, environ)
    except HoldfastError as error:
        yield failed(KUBERNETES, "sign in", error)
        return
    with api:
        reached = tried(KUBERNETES, "API server", lambda: api.version())
        yield reached
        if not reached.ok:
            return
        yield from _versions(settings, reached.says)
        yield from _permissions(api, settings)
        nodes: list[KubeNode] = []
        yield tried(KUBERNETES, "nodes", lambda: _nodes(api, nodes))
        if nodes:
            yield _load(settings, api, [node for node in nodes if instance_id_of(node)])
        yield from _join_check(settings)


def _versions(settings: Settings, server: str) -> Iterator[Check]:
    """Kubernetes lets a kubelet be up to three minor versions older than the server, and never newer."""
    if all(pool.launch_template_id for pool in settings.pools):
        return
    what, fix = (
        f"k3s {settings.k3s_version} of new nodes",
        f"set K3S_VERSION to {server}, or update the server",
    )
    new, known = _numbers(settings.k3s_version), _numbers(server)
    if "k3s" not in server or not known:
        yield Check(KUBERNETES, what, None, f"the server says {server}, which is no release of k3s")
    elif new == known:
        yield Check(KUBERNETES, what, True, "the server has the same")
    elif new[:2] > known[:2]:
        yield Check(KUBERNETES, what, False, f"is newer than the server's {server}", fix)
    elif new[0] != known[0] or known[1] - new[1] > SKEW_MAX:
        yield Check(KUBERNETES, what, False, f"is too old for the server's {server}", fix)
    else:
        yield Check(KUBERNETES, what, None, f"the server has {server}: it works; {fix}")


def _numbers(version: str) -> tuple[int, ...]:
    """`v1.33.5+k3s1` as (1, 33, 5, 1); empty for anything else."""
    match = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)(?:[^+]*\+k3s(\d+))?.*", version)
    return tuple(int(each or 0) for each in match.groups()) if match else ()


def _permissions(api: "KubernetesApi", settings: Settings) -> Iterator[Check]:
    from holdfast.adapters.kubernetes import CALLS
    from holdfast.adapters.kubernetes.calls import LIST_NODE_METRICS, WATCHES
    from holdfast.adapters.kubernetes.permissions import can_i

    wanted = [call for call in CALLS if call != LIST_NODE_METRICS or settings.metrics == "metrics-server"]
    try:
        for permission in can_i(api.client, wanted):
            may, watches = permission.allowed, permission.call in WATCHES
            says = "allowed" if may else "not allowed: `run --watch` needs it" if watches else "not allowed"
            ok = None if watches and not may else may
            yield Check(KUBERNETES, str(permission.call), ok, says, permission.fix)
    except HoldfastError as error:
        yield failed(KUBERNETES, "what we may do", error)


def _nodes(api: "KubernetesApi", found: list[KubeNode]) -> str:
    found += api.nodes()
    ready, known = (
        sum(map(test, found)) for test in (lambda n: n.is_ready, lambda n: bool(instance_id_of(n)))
    )
    return f"{len(found)}, {ready} of them ready, {known} with a machine that they name"


def _join_check(settings: Settings) -> Iterator[Check]:
    from holdfast.app.autoscaler.wiring import readiness_check_of

    if settings.join_check != "prometheus":
        return
    what = "ready nodes by kube-state-metrics"
    readiness_check = readiness_check_of(settings)
    if readiness_check is None:
        fix = "set PROMETHEUS_URL, or JOIN_CHECK=kubernetes"
        yield Check(METRICS, what, False, "it is not known where Prometheus is: the API's word counts", fix)
    else:
        yield tried(METRICS, what, lambda: f"{len(readiness_check.ready_nodes())} nodes")


def _load(settings: Settings, api: "KubernetesApi", workers: Sequence[KubeNode]) -> Check:
    from holdfast.app.autoscaler.wiring import metrics_of

    what = f"load by {settings.metrics}"
    try:
        pods = api.pods() if settings.metrics == "requests" else []
        load = metrics_of(settings, api).load(workers, pods, settings.idle_down_s)
    except HoldfastError as error:
        return failed(METRICS, what, error)
    if load.cpu is not None:
        return Check(METRICS, what, True, f"cpu {load.cpu:.0%}")
    if not workers:
        return Check(METRICS, what, None, "there is no worker to measure yet")
    fix = "without it nothing scales down; METRICS=metrics-server or METRICS=requests need no Prometheus"
    return Check(METRICS, what, False, load.problem, fix)
