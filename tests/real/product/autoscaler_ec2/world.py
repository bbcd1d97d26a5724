"""An account of the stand-in as the adapters see it."""

from dataclasses import replace
from typing import Any

from holdfast.adapters.aws.ec2 import make_client
from holdfast.app.autoscaler.cloud import Ec2Cloud
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Market
from holdfast.cloud.launches import Launched
from tests.real.account import Account

TYPE = "m5.large"


class World:
    """A cluster of its own name, so that no test sees another's machines."""

    def __init__(self, account: Account, name: str, **changed: Any) -> None:
        self.account, self.ec2 = account, account.ec2
        self.action = f"1700000000-{name}"
        """An action id: what is launched under it is launched once in the account's life."""
        self.pool = Pool(
            ami_id=self.account.image, subnet_ids=tuple(self.ec2.subnets().values()), instance_types=(TYPE,)
        )
        self.settings = Settings(
            cluster_name=name,
            k3s_url="https://127.0.0.1:6443",
            k3s_cluster_token_param="/k3s/token",
            pools=(self.pool,),
            **changed,
        )
        self.client = make_client(endpoint_url=self.ec2.endpoint, region=self.ec2.region)
        self.cloud = self.open()

    def open(self, **how: Any) -> Ec2Cloud:
        """Another process's adapter: nothing is remembered."""
        return Ec2Cloud(self.client, self.settings, **how)

    def row(self, zone: str = "us-east-1a", *, pool: Pool | None = None, **changed: Any) -> Launch:
        """A launch that can be made: its template is prepared."""
        wanted = pool or self.pool
        self.cloud.prepare(wanted)
        template = self.cloud.templates([wanted])[wanted.name]
        row = Launch(
            group=0,
            attempt=1,
            pool=wanted.name,
            zone=zone,
            subnet_id=self.ec2.subnets()[zone],
            market=Market.ON_DEMAND,
            instance_type=TYPE,
            template_id=template.template_id,
            template_version=template.version,
            count=1,
        )
        return replace(row, **changed)

    def launched(self, action_id: str, **changed: Any) -> tuple[str, ...]:
        answer = self.cloud.launch(action_id, self.row(**changed))
        assert isinstance(answer, Launched), answer
        return answer.instance_ids

    def calls(self, action: str) -> list[dict[str, Any]]:
        """What the stand-in noted of a changing call."""
        return [e for e in self.ec2.log() if e["kind"] == "call" and e["action"] == action]
