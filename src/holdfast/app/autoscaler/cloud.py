"""EC2 as the autoscaler's `Cloud`: pools, launches and settings become EC2's own configurations."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.adapters.aws.ec2 import console, listing, spot_requests, terminate, user_data
from holdfast.adapters.aws.ec2.catalog import Catalog
from holdfast.adapters.aws.ec2.launch import LaunchRequest, run, run_request
from holdfast.adapters.aws.ec2.tags import TagScheme
from holdfast.adapters.aws.ec2.templates import Templates, TemplateSpec
from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.clock import SystemClock
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Instance, MachineType, Notice, Offering, Prices, Shape
from holdfast.cloud.launches import Launched, Refusal, Refused, Template, Termination

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

    from holdfast.adapters.aws.price_list import PriceList


UserData = Callable[[Pool], str]
"""The script that a pool's machines run when they first boot."""


def tag_scheme(settings: Settings) -> TagScheme:
    return TagScheme(
        cluster_key=settings.cluster_tag_key,
        cluster_name=settings.cluster_name,
        worker_key=settings.worker_tag_key,
        worker_value=settings.worker_tag_value,
        control_plane_key=settings.master_tag_key,
        control_plane_value=settings.master_tag_value,
    )


def launch_request(settings: Settings, action_id: str, row: Launch) -> LaunchRequest:
    """The request of this launch, the same every time: its token demands it."""
    tags = tag_scheme(settings).of_launch(action_id=action_id, pool=row.pool, group=row.group)
    return LaunchRequest(
        token=row.token(action_id),
        template_id=row.template_id,
        template_version=row.template_version,
        subnet_id=row.subnet_id,
        instance_type=row.instance_type,
        market=row.market,
        count=row.count,
        tags=tags,
    )


def template_spec(pool: Pool, script: UserData) -> TemplateSpec:
    """A pool with a template of its own has no script that we make."""
    return TemplateSpec(
        pool=pool.name,
        ami_id=pool.ami_id,
        security_group_ids=pool.security_group_ids,
        key_name=pool.key_name,
        instance_profile=pool.instance_profile,
        disk_gib=pool.disk_gib,
        disk_device=pool.disk_device,
        imds_hop_limit=pool.imds_hop_limit,
        user_data="" if pool.launch_template_id else script(pool),
        launch_template_id=pool.launch_template_id,
        launch_template_version=pool.launch_template_version,
    )


def join_script(settings: Settings, pool: Pool, *, patience_s: int = user_data.PATIENCE_S) -> str:
    """The script that joins a pool's machines to the settings' k3s cluster."""
    agent = user_data.K3sAgent(
        pool=pool.name,
        k3s_url=settings.k3s_url,
        k3s_version=settings.k3s_version,
        k3s_cluster_token_param=settings.k3s_cluster_token_param,
        k3s_ca_hash=settings.k3s_ca_hash,
        pods_per_node=settings.pods_per_node,
        labels=pool.labels,
        taints=pool.taints,
    )
    return user_data.join_script(agent, patience_s=patience_s)


class Ec2Cloud:
    """See `holdfast.autoscaler.ports.Cloud` for what each method promises.

    Raises Busy, Unknown, and `Denied` or another Invalid where trying again would not help.
    """

    def __init__(
        self,
        client: "EC2Client",
        settings: Settings,
        *,
        user_data: UserData | None = None,
        price_list: "PriceList | None" = None,
        now_s: Callable[[], float] | None = None,
        page: int = listing.PAGE,
    ) -> None:
        """`client` tries each call once: see `make_client`.  `user_data` makes a pool's first script,
        which by default joins the settings' k3s cluster.  `price_list`: of on-demand prices.  `page`: how
        much one answer may list."""
        self._client, self._settings, self._page = client, settings, page
        self._scheme = tag_scheme(settings)
        self._script = user_data or (lambda pool: join_script(settings, pool))
        self._templates = Templates(client, self._scheme, page)
        self._catalog = Catalog(
            client,
            pods_per_node=settings.pods_per_node,
            on_demand_usd=settings.usd_per_hour,
            price_list=price_list,
            now_s=now_s or SystemClock().now_s,
            page=page,
        )

    def instances(self) -> Sequence[Instance]:
        return listing.list_workers(self._client, self._scheme, self._page)

    def control_plane_address(self) -> str:
        """Of the newest control plane that runs, the private one; empty if there is none.  Repeatable."""
        return listing.control_plane_address(self._client, self._scheme, self._page)

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        request = run_request(launch_request(self._settings, action_id, launch))
        answer = run(self._client, request, launch.pool)
        if isinstance(answer, Refused) and answer.kind is Refusal.REFUSED:
            self._templates.forget()  # its version may have been deleted
        return answer

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        try:
            return terminate.terminate(self._client, instance_ids)
        except Denied:
            return dict.fromkeys(instance_ids, Termination.DENIED)

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        found = {pool.name: self._templates.find(self._spec(pool)) for pool in pools}
        return {name: template for name, template in found.items() if template is not None}

    def digest(self, pool: Pool) -> str:
        return self._templates.digest(self._spec(pool))

    def prepare(self, pool: Pool) -> None:
        self._templates.prepare(self._spec(pool))

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        return self._catalog.zones(subnet_ids)

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        return self._catalog.shapes(instance_types)

    def types(self) -> Sequence[MachineType]:
        return self._catalog.types()

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        return self._catalog.prices(offerings)

    def marked(self) -> Sequence[Notice]:
        return spot_requests.list_marked(self._client)

    def console(self, instance_id: str) -> str:
        return console.end_of_console(self._client, instance_id)

    def _spec(self, pool: Pool) -> TemplateSpec:
        return template_spec(pool, self._script)
