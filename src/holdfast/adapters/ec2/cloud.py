"""EC2 as the autoscaler's `Cloud`."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.adapters import user_data as scripts
from holdfast.adapters.ec2 import console, ending, launching, listing
from holdfast.adapters.ec2.goods import Goods
from holdfast.adapters.ec2.templates import Templates, UserData
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Instance, Offering, Prices, Shape
from holdfast.cloud.launches import Launched, Refusal, Refused, Template

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client


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
        now_s: Callable[[], float] = time.time,
        page: int = listing.PAGE,
    ) -> None:
        """`client` tries each call once: see `make_client`.  `user_data` makes a pool's first script,
        which by default joins the settings' k3s cluster.  `page`: how much one answer may list."""
        self._client, self._settings, self._page = client, settings, page
        script = user_data or (lambda pool: scripts.join_script(settings, pool))
        self._templates = Templates(client, settings, script, page)
        self._goods = Goods(client, settings, now_s, page)

    def instances(self) -> Sequence[Instance]:
        return listing.list_workers(self._client, self._settings, self._page)

    def control_plane_address(self) -> str:
        """Of the newest control plane that runs, the private one; empty if there is none.  Repeatable."""
        return listing.control_plane_address(self._client, self._settings, self._page)

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        request = launching.run_request(self._settings, action_id, launch)
        answer = launching.run(self._client, request, launch.pool)
        if isinstance(answer, Refused) and answer.kind is Refusal.REFUSED:
            self._templates.forget()  # its version may have been deleted
        return answer

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, bool]:
        return ending.terminate(self._client, instance_ids)

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        found = {pool.name: self._templates.find(pool) for pool in pools}
        return {name: template for name, template in found.items() if template is not None}

    def digest(self, pool: Pool) -> str:
        return self._templates.digest(pool)

    def prepare(self, pool: Pool) -> None:
        self._templates.prepare(pool)

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        return self._goods.zones(subnet_ids)

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        return self._goods.shapes(instance_types)

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        return self._goods.prices(offerings)

    def console(self, instance_id: str) -> str:
        return console.end_of_console(self._client, instance_id)
