"""The Kubernetes API and the source of the load: reachable, signed in, allowed, and telling."""

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


def ssm(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """The token of the API is ours to read; the one to join with is the workers'."""
    from holdfast.adapters.aws import ssm as store
    from holdfast.app.autoscaler import clients

    name = settings.k8s_api_token_param
    if name:
        client = clients.ssm_client(settings, environ)
        yield tried(SSM, f"read {name}", lambda: "readable" if store.parameter(client, name) else "empty")
    if settings.k3s_cluster_token_param:
        what = f"read {settings.k3s_cluster_token_param}"
        yield Check(SSM, what, None, "for the workers' own role; not tried here")
    elif any(not pool.launch_template_id for pool in settings.pools):
        fix = "set K3S_CLUSTER_TOKEN_PARAM, or give each pool a launch_template_id of your own"
        yield Check(SSM, "the token to join with", False, "k3s_cluster_token_param is empty", fix)


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
        yield from _permissions(api, settings)
        nodes: list[KubeNode] = []
        yield tried(KUBERNETES, "nodes", lambda: _nodes(api, nodes))
        if nodes:
            yield _load(settings, api, [node for node in nodes if instance_id_of(node)])
        yield from _join_check(settings)


def _permissions(api: "KubernetesApi", settings: Settings) -> Iterator[Check]:
    from holdfast.adapters.kubernetes import CALLS
    from holdfast.adapters.kubernetes.calls import LIST_NODE_METRICS
    from holdfast.adapters.kubernetes.permissions import can_i

    wanted = [call for call in CALLS if call != LIST_NODE_METRICS or settings.metrics == "metrics-server"]
    try:
        for permission in can_i(api.client, wanted):
            says = "allowed" if permission.allowed else "not allowed"
            yield Check(KUBERNETES, str(permission.call), permission.allowed, says, permission.fix)
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
