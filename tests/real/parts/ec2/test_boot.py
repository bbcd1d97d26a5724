"""Only what the user data really brings about joins the cluster."""

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.traces import wait_until
from tests.real.userdata import SERVER, TOKEN, agent, joining
from tools.parts.boot.cluster import Join
from tools.parts.catalog.ec2 import PART
from tools.parts.ports import free_port


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    started = present(PART).start(rates=False)
    try:
        yield Site(started, Join(SERVER, TOKEN))
    finally:
        started.stop()


def test_an_instance_joins_as_its_user_data_says(site: Site) -> None:
    instance = site.launch(joining(), profile=True, zone="us-east-1b")
    node = site.wait_to_join(instance)
    assert node["metadata"]["name"] == instance
    labels = node["metadata"]["labels"]
    assert (labels["pool"], labels["holdfast.dev/instance"]) == ("default", instance)
    assert node["spec"] == {
        "providerID": f"aws:///us-east-1b/{instance}",
        "taints": [{"key": "holdfast.dev/unconfirmed", "value": "true", "effect": "NoSchedule"}],
    }
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.2+k3s1"
    assert node["status"]["capacity"]["cpu"] == "2"
    assert site.boot.nodes()[instance] == node
    console = site.wait_for_console(instance, "user data finished")
    assert "the agent is up" in console
    [call] = site.boot.aws_calls(instance)
    assert (call["args"][:2], call["code"]) == (["ssm", "get-parameter"], 0)


def test_the_user_data_of_a_template_version_is_used(site: Site) -> None:
    def data(label: str) -> dict[str, str]:
        script = agent(f"--node-label version={label}")
        return {
            "ImageId": site.account.image,
            "InstanceType": "c5.large",
            "UserData": base64.b64encode(script.encode()).decode(),
        }

    api = site.account.api
    api.create_launch_template(LaunchTemplateName="workers", LaunchTemplateData=data("one"))
    api.create_launch_template_version(LaunchTemplateName="workers", LaunchTemplateData=data("two"))
    answer = api.run_instances(
        MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateName": "workers", "Version": "2"}
    )
    node = site.wait_to_join(answer["Instances"][0]["InstanceId"])
    assert node["metadata"]["labels"]["version"] == "two"


def test_packed_user_data_is_unpacked(site: Site) -> None:
    site.wait_to_join(site.launch(gzip.compress(agent().encode())))


def test_a_broken_script_never_joins_and_the_console_says_why(site: Site) -> None:
    instance = site.launch("#!/bin/sh\nset -e\nnosuch-command --at-all\n" + agent())
    site.assert_never_joins(instance, "user data failed with code 127")
    assert "nosuch-command" in site.wait_for_console(instance, "not found")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (agent(token="guessed"), "401 Unauthorized"),
        (agent(server=f"https://127.0.0.1:{free_port()}"), "Connection refused"),
        (agent(server="http://127.0.0.1:6443"), "K3S_URL has to begin with https://"),
        (agent("--node-lable pool=default"), "flag provided but not defined: -node-lable"),
        (agent("--node-label node-role.kubernetes.io/worker=true"), "its domain is reserved"),
        ("#!/bin/sh\ncurl -sfL https://get.k3s.io | K3S_URL=https://x:6443 sh -\n", "nor K3S_TOKEN_FILE"),
        ("#cloud-config\nruncmd: [ls]\n", "user data is no script"),
        (joining(), "Unable to locate credentials"),
    ],
    ids=["token", "unreachable", "http", "flag", "label", "no token", "no script", "no profile"],
)
def test_an_agent_that_would_not_start_never_joins(site: Site, script: str, why: str) -> None:
    site.assert_never_joins(site.launch(script), why)


def test_an_agent_that_cannot_join_holds_the_script_up(site: Site) -> None:
    instance = site.launch(agent(token="guessed") + "echo further\n")
    site.wait_for_console(instance, "401 Unauthorized")
    assert "further" not in site.boot.console(instance)


def test_a_service_installed_without_starting_joins_when_it_is_started(site: Site) -> None:
    instance = site.launch(
        "#!/bin/sh\nexport INSTALL_K3S_SKIP_START=true\n"
        + agent().removeprefix("#!/bin/sh\n")
        + "echo installed\nsystemctl enable --now k3s-agent\n"
    )
    site.wait_to_join(instance)
    console = site.wait_for_console(instance, "joined as")
    assert console.index("installed") < console.index("joined as")


def test_a_reused_name_is_refused_until_its_node_is_deleted(site: Site) -> None:
    first = site.launch(agent("--node-name reused"))
    site.wait_to_join(first)
    site.account.terminate(first)
    second = site.launch(agent("--node-name reused"))
    site.assert_never_joins(second, "node password rejected")
    site.boot.delete_node("reused")
    site.wait_to_join(second)


def test_when_an_instance_ends_its_processes_end_and_its_node_stays_behind(
    site: Site, tmp_path: Path
) -> None:
    beat = "while sleep 0.1; do echo beat; done &\n"
    instance = site.launch(agent("--node-name ending") + beat)
    site.wait_to_join(instance)
    site.wait_for_console(instance, "beat\nbeat")
    site.account.terminate(instance)
    site.wait_for_console(instance, "powered off")
    conditions = site.boot.nodes()["ending"]["status"]["conditions"]
    assert [(c["type"], c["status"]) for c in conditions] == [("Ready", "Unknown")]
    assert site.boot.console(instance).rstrip().endswith("powered off")


def test_what_one_instance_writes_is_seen_by_no_other(site: Site) -> None:
    writing = (
        "mkdir /etc/holdfast-boot-test /tmp/holdfast-boot-test && hostname > /etc/holdfast-boot-test/name"
    )
    script = f"#!/bin/sh\nset -e\n{writing}\ncat /etc/holdfast-boot-test/name\n"
    instances = [site.launch(script) for _ in range(2)]
    for instance in instances:
        console = site.wait_for_console(instance, "user data finished")
        assert site.account.ec2.instance(instance)["hostname"] in console
    assert not Path("/etc/holdfast-boot-test").exists()
    assert not Path("/tmp/holdfast-boot-test").exists()


def test_configuration_files_on_the_instance_count_and_flags_outrank_them(site: Site) -> None:
    files = """#!/bin/sh
mkdir -p /etc/rancher/k3s/config.yaml.d
cat > /etc/rancher/k3s/config.yaml <<END
node-name: configured
node-label: [pool=file, only=file]
token: wrong
END
echo "token: also-wrong" > /etc/rancher/k3s/config.yaml.d/50.yaml
"""
    instance = site.launch(files + agent("--node-label pool=flag").removeprefix("#!/bin/sh\n"))
    node = site.wait_to_join(instance)
    assert node["metadata"]["name"] == "configured"
    assert node["metadata"]["labels"]["pool"] == "flag"
    assert "only" not in node["metadata"]["labels"], "a list of flags replaces the list of the file"


def test_a_stopped_instance_starts_again_with_its_agent_and_without_its_user_data(site: Site) -> None:
    instance = site.launch(agent("--node-name pausing") + "echo user data was here\n")
    site.wait_for_console(instance, "user data finished")
    site.account.api.stop_instances(InstanceIds=[instance])
    site.wait_for_console(instance, "powered off")
    assert site.boot.nodes()["pausing"]["status"]["conditions"][0]["status"] == "Unknown"
    site.account.ec2.wait_for_state(instance, "stopped")
    site.account.api.start_instances(InstanceIds=[instance])
    console = site.wait_for_console(instance, "boots again")
    wait_until(lambda: not site.boot.nodes()["pausing"]["status"]["conditions"], "its agent is back")
    assert console.count("user data was here") == 1
