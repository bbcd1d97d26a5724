"""Settings become a wired autoscaler.

Nothing here is asked of the world, but for the control plane's address where the settings leave it open.
"""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from holdfast.adapters.clock import SystemClock, new_id
from holdfast.app.autoscaler import clients
from holdfast.app.autoscaler.stores import open_stores
from holdfast.autoscaler.ports import Load, Metrics, Picture, ReadinessCheck
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.kernel import Outcome

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes import KubernetesApi
    from holdfast.adapters.kubernetes.watch.watches import Watches
    from holdfast.app.autoscaler.cloud import Ec2Cloud

API_PORT: Final = 6_443
SIDE_BY_SIDE_MAX: Final = 12


def assemble(
    settings: Settings,
    environ: Mapping[str, str] = os.environ,
    *,
    create_tables: bool = False,
    watches: "Watches | None" = None,
) -> Autoscaler:
    """Everything wired.  Raises Invalid for what makes no sense, Busy where the cloud does not answer.

    A missing table is made only if `create_tables` says so.  Otherwise the first read of a tick
    names it, and nothing is touched.
    """
    stores = open_stores(settings, environ, create_tables=create_tables)
    located, cloud = locate(settings, environ)
    kubernetes = connect_kubernetes(located, environ)
    return Autoscaler(
        settings=located,
        store=stores.store,
        inbox=stores.inbox,
        cloud=cloud,
        kubernetes=kubernetes,
        metrics=metrics_of(located, kubernetes),
        clock=SystemClock(),
        new_id=new_id,
        random=random.random,
        together=side_by_side,
        readiness_check=readiness_check_of(located),
        picture=_picture(watches, kubernetes),
    )


def _picture(watches: "Watches | None", kubernetes: "KubernetesApi") -> Picture | None:
    if watches is None:
        return None
    from holdfast.app.autoscaler.watching import WatchedPicture

    return WatchedPicture(watches, kubernetes)


def locate(settings: Settings, environ: Mapping[str, str] = os.environ) -> tuple[Settings, "Ec2Cloud"]:
    """The cloud; and the settings with the control plane's own address where they leave one open.

    The seeds know no other: Prometheus at its node port there, the API and the server to join at 6443.
    """
    from holdfast.app.autoscaler.cloud import Ec2Cloud

    client = clients.ec2_client(settings, environ)
    prices = clients.price_list(settings, environ, client)
    cloud = Ec2Cloud(client, settings, price_list=prices)
    asks_prometheus = "prometheus" in (settings.metrics, settings.join_check) and not settings.prometheus_url
    asks_api = bool(settings.k8s_api_token_param) and not settings.k8s_api_url
    asks_server = bool(settings.k3s_cluster_token_param) and not settings.k3s_url
    if not (asks_prometheus or asks_api or asks_server):
        return settings, cloud
    address = cloud.control_plane_address()
    if not address:
        return settings, cloud
    located = replace(
        settings,
        prometheus_url=f"http://{address}:{settings.prom_nodeport}"
        if asks_prometheus
        else settings.prometheus_url,
        k8s_api_url=f"https://{address}:{API_PORT}" if asks_api else settings.k8s_api_url,
        k3s_url=f"https://{address}:{API_PORT}" if asks_server else settings.k3s_url,
    )
    return located, Ec2Cloud(client, located, price_list=prices)


def connect_kubernetes(settings: Settings, environ: Mapping[str, str] = os.environ) -> "KubernetesApi":
    from holdfast.adapters.kubernetes import ClusterAccess, connect

    access = ClusterAccess(
        api_url=settings.k8s_api_url,
        ca_file=settings.k8s_ca_file,
        ca=settings.k8s_ca,
        token_param=settings.k8s_api_token_param,
        fetch_token=_token_fetcher(settings, environ),
        kubeconfig=settings.kubeconfig,
    )
    return connect(access, environ=environ)


def _token_fetcher(settings: Settings, environ: Mapping[str, str]) -> Callable[[], str] | None:
    """Reads the token from SSM; the client is made when it is first needed."""
    if not settings.k8s_api_token_param:
        return None

    def fetch() -> str:
        from holdfast.adapters.aws import ssm

        return ssm.parameter(clients.ssm_client(settings, environ), settings.k8s_api_token_param)

    return fetch


def metrics_of(settings: Settings, kubernetes: "KubernetesApi") -> Metrics:
    """The source of the load that the settings name."""
    if settings.metrics != "prometheus":
        from holdfast.adapters.kubernetes.metrics import MetricsServer, RequestsOnly

        if settings.metrics == "requests":
            return RequestsOnly()
        return MetricsServer(kubernetes.client, max_age_s=settings.metrics_max_age_s)
    if not settings.prometheus_url:
        return NoPrometheus(settings)
    from holdfast.adapters.prometheus import Prometheus

    return Prometheus(settings.prometheus_url, max_age_s=settings.metrics_max_age_s)


def readiness_check_of(settings: Settings) -> ReadinessCheck | None:
    """What else must call a new node Ready; None: the API's word is enough, or no other source is known."""
    if settings.join_check != "prometheus" or not settings.prometheus_url:
        return None
    from holdfast.adapters.prometheus import Prometheus

    return Prometheus(settings.prometheus_url, max_age_s=settings.metrics_max_age_s)


@dataclass(frozen=True)
class NoPrometheus:
    """The settings do not say where it is, and no control plane was found to look at."""

    settings: Settings

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        s = self.settings
        tags = f"{s.cluster_tag_key}={s.cluster_name} and {s.master_tag_key}={s.master_tag_value}"
        problem = (
            f"prometheus_url is empty, and no machine that runs is tagged {tags}: "
            "set PROMETHEUS_URL, or METRICS to another source"
        )
        return Load(None, problem=problem, source="prometheus")


def side_by_side(calls: Sequence[Callable[[], Outcome]]) -> Sequence[Outcome]:
    """Calls that do not depend on each other, in threads; the answers in the order of the calls."""
    if len(calls) < 2:
        return [call() for call in calls]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(calls), SIDE_BY_SIDE_MAX)) as threads:
        return list(threads.map(lambda call: call(), calls))
