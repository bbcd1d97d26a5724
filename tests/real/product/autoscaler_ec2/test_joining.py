"""Machines launched through the adapter boot, run their first script, and join; or say why not."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast.app.autoscaler.cloud import Ec2Cloud, join_script
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud.kubernetes import Taint
from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.product.autoscaler_ec2.supervisor import Supervisor
from tests.real.product.autoscaler_ec2.world import World
from tests.real.traces import wait_until
from tests.real.userdata import TOKEN
from tools.parts.boot.cluster import Join
from tools.parts.catalog.ec2 import PART

VERSION = "v1.33.5+k3s1"
PATIENCE_S = 5


class Yard:
    """Launches by the adapter, and looks at what became of it."""

    def __init__(self, site: Site, supervisor: Supervisor) -> None:
        self.site, self.supervisor = site, supervisor
        self.ssm = site.account.client("ssm")
        self.world = World(site.account, "yard", k3s_version=VERSION, k3s_ca_hash=supervisor.ca_hash)
        self.world.settings = replace(self.world.settings, k3s_url=supervisor.url)
        self._groups = 0

    def launch(self, pool: Pool | None = None, *, zone: str = "us-east-1a", **changed: Any) -> str:
        """One machine of a pool, with some of the settings changed."""
        wanted = replace(pool or self.world.pool, instance_profile="workers")
        self.world.settings = replace(self.world.settings, pools=(wanted,))
        settings: Settings = replace(self.world.settings, **changed)
        self.world.cloud = Ec2Cloud(
            self.world.client,
            settings,
            user_data=lambda each: join_script(settings, each, patience_s=PATIENCE_S),
        )
        self._groups += 1
        [instance] = self.world.launched(self.world.action, zone=zone, pool=wanted, group=self._groups)
        return instance

    def put(self, name: str, value: str) -> None:
        self.ssm.put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)

    def wait_for_console(self, instance: str, words: str) -> str:
        wait_until(lambda: words in self.world.cloud.console(instance), f"the console says: {words}")
        return self.world.cloud.console(instance)

    def asked(self, instance: str) -> dict[str, Any]:
        """What the agent on this machine was told."""
        file = self.world.ec2.running.folder / "boot/machines" / instance / "agent/asked.json"
        wait_until(file.exists, "the agent was told something")
        return dict(json.loads(file.read_text()))


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    supervisor = Supervisor(tmp_path_factory.mktemp("supervisor"))
    supervisor.up()
    started = present(PART).start(rates=False)
    try:
        yield Yard(Site(started, Join(supervisor.url, TOKEN)), supervisor)
    finally:
        started.stop()
        supervisor.down()


def test_a_machine_joins_with_its_identity_its_labels_and_the_joining_taint(yard: Yard) -> None:
    pool = replace(
        yard.world.pool,
        name="gpu",
        labels={"example.com/tier": "batch"},
        taints=(Taint(key="gpu", value="yes", effect="NoExecute"), Taint(key="only", effect="NoSchedule")),
    )
    instance = yard.launch(pool, pods_per_node=30, zone="us-east-1b")
    node = yard.site.wait_to_join(instance)

    assert node["metadata"]["name"] == instance
    assert node["spec"]["providerID"] == f"aws:///us-east-1b/{instance}"
    labels = node["metadata"]["labels"]
    assert labels["holdfast.dev/instance-id"] == instance
    assert labels["holdfast.dev/pool"] == "gpu"
    assert labels["topology.kubernetes.io/zone"] == "us-east-1b"
    assert labels["topology.kubernetes.io/region"] == "us-east-1"
    assert labels["example.com/tier"] == "batch"
    assert node["spec"]["taints"] == [
        {"key": "holdfast.dev/joining", "value": "true", "effect": "NoSchedule"},
        {"key": "gpu", "value": "yes", "effect": "NoExecute"},
        {"key": "only", "effect": "NoSchedule"},
    ]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == VERSION
    assert node["status"]["allocatable"]["pods"] == "30"
    console = yard.wait_for_console(instance, f"joined as {instance}")
    assert "user data finished" in yard.site.wait_for_console(instance, "user data finished")
    assert TOKEN not in console
    assert "WARNING" not in console


def test_the_agent_gets_a_token_that_names_the_authority(yard: Yard) -> None:
    instance = yard.launch()
    yard.site.wait_to_join(instance)
    assert yard.asked(instance)["token"] == f"K10{yard.supervisor.ca_hash}::node:{TOKEN}"
    assert TOKEN not in " ".join(yard.asked(instance)["args"]), "every user can read arguments"


def test_the_token_is_in_no_user_data_and_no_template(yard: Yard) -> None:
    script = join_script(yard.world.settings, yard.world.pool)
    assert TOKEN not in script
    assert "/k3s/token" in script


def test_a_rotated_token_is_read_again_and_joins(yard: Yard) -> None:
    yard.put("/k3s/rotating", "yesterdays")
    instance = yard.launch(k3s_cluster_token_param="/k3s/rotating")
    said = yard.wait_for_console(instance, f"not ready within {PATIENCE_S} s")
    assert "401 Unauthorized" in said
    assert "yesterdays" not in said
    assert yard.site.boot.node_of(instance) is None

    yard.put("/k3s/rotating", TOKEN)
    yard.site.wait_to_join(instance)
    yard.wait_for_console(instance, f"joined as {instance}")
    assert len(yard.site.boot.aws_calls(instance)) >= 2


def test_a_parameter_that_is_missing_is_named_and_waited_for(yard: Yard) -> None:
    instance = yard.launch(k3s_cluster_token_param="/k3s/later")
    said = yard.wait_for_console(instance, "cannot read the parameter /k3s/later in us-east-1")
    assert "ParameterNotFound" in said
    assert "ssm:GetParameter" in said
    yard.put("/k3s/later", TOKEN)
    yard.site.wait_to_join(instance)


def test_another_authority_is_never_joined_and_is_sent_nothing(yard: Yard) -> None:
    before = len(yard.supervisor.seen)
    instance = yard.launch(k3s_ca_hash="0" * 64)
    said = yard.wait_for_console(instance, "NOT JOINING")
    assert f"has the SHA-256 {yard.supervisor.ca_hash}, but k3s_ca_hash is {'0' * 64}" in said
    wait_until(lambda: len(yard.supervisor.seen) >= before + 2, "it has tried again")
    assert set(yard.supervisor.seen[before:]) == {("GET", "/cacerts", None)}
    assert yard.site.boot.aws_calls(instance) == [], "the token was not even read"
    assert yard.site.boot.node_of(instance) is None


def test_without_a_hash_a_bare_token_is_used_with_a_warning(yard: Yard) -> None:
    instance = yard.launch(k3s_ca_hash="")
    yard.site.wait_to_join(instance)
    assert "taken on trust" in yard.wait_for_console(instance, "joined as")
    assert yard.asked(instance)["token"] == TOKEN


def test_without_a_hash_a_full_token_is_left_to_the_agent_to_check(yard: Yard) -> None:
    full = f"K10{yard.supervisor.ca_hash}::server:{TOKEN}"
    yard.put("/k3s/full", full)
    instance = yard.launch(k3s_ca_hash="", k3s_cluster_token_param="/k3s/full")
    yard.site.wait_to_join(instance)
    warnings = [
        line for line in yard.wait_for_console(instance, "joined as").splitlines() if "WARNING" in line
    ]
    assert all("holds the server's token" in line for line in warnings), "of the hash there is nothing to say"
    assert yard.asked(instance)["token"] == full


def test_a_server_that_is_down_is_waited_for(yard: Yard) -> None:
    yard.supervisor.down()
    instance = yard.launch()
    yard.wait_for_console(instance, f"{yard.supervisor.url} does not answer: waiting for it")
    yard.supervisor.up()
    yard.site.wait_to_join(instance)


def test_a_machine_without_a_profile_says_what_it_lacks(yard: Yard) -> None:
    yard.put("/k3s/token", TOKEN)
    lacking = replace(yard.world.pool, instance_profile="")
    settings = replace(yard.world.settings, pools=(lacking,))
    instance = yard.site.launch(join_script(settings, lacking))
    said = yard.wait_for_console(instance, "The instance profile needs ssm:GetParameter")
    assert "Unable to locate credentials" in said


def test_the_shell_has_nothing_to_complain_about(yard: Yard) -> None:
    instance = yard.launch()
    yard.site.wait_to_join(instance)
    console = yard.site.wait_for_console(instance, "user data finished")
    assert "not found" not in console
    assert "syntax" not in console.lower()
    assert "parameter not set" not in console
