"""A bad day on the real control plane: a node deleted, an instance ended, another cluster in between."""

from tests.real.product.command_line.shell import Shell
from tools.parts.cluster import start_cluster
from tools.parts.site import Site


def test_a_node_deleted_an_instance_ended_and_another_cluster_in_the_middle(shell: Shell, site: Site) -> None:
    found = shell.loop_until_serving(2)
    before = asked_to_end(site)
    deleted, ended = (worker for worker in found["workers"] if worker["state"] == "serving")

    site.cluster.request("DELETE", f"/api/v1/nodes/{deleted['node']}").ok()
    shell.json("tick", "--budget", "10")
    assert "nodeMissing" in kinds(shell)
    account = shell.json("sweep", "--dry-run")["found"]["found"]
    assert ("machine", "it had joined, and has no node any more") in [
        (each["what"], each["finding"]) for each in account if each["name"] == deleted["instance_id"]
    ]

    another_cluster_is_refused(shell)
    assert asked_to_end(site) == before, "absent once is no proof, and another cluster is none at all"

    site.client("ec2").terminate_instances(InstanceIds=[ended["instance_id"]])
    after = shell.loop_until_serving(2)
    serving = {worker["instance_id"] for worker in after["workers"] if worker["state"] == "serving"}
    assert not serving & {deleted["instance_id"], ended["instance_id"]}, "both were made good"
    assert asked_to_end(site) == [*before, ended["instance_id"]], "by hand, and nothing else"


def another_cluster_is_refused(shell: Shell) -> None:
    with start_cluster() as other:
        wrong = {"KUBECONFIG": str(other.kubeconfig)}
        for _ in range(2):
            refused = shell.run("tick", **wrong)
            assert refused.returncode == 1
            assert "another cluster answers" in refused.stdout + refused.stderr
        assert "another cluster answers" in " ".join(shell.run("status", **wrong).stdout.split())
        assert other.request("GET", "/api/v1/nodes").ok()["items"] == []
    assert kinds(shell).count("clusterRefused") == 1


def asked_to_end(site: Site) -> list[str]:
    """Machines that were asked to end, in the cloud's own log."""
    calls = [entry for entry in site.ec2.log() if entry["kind"] == "call"]
    asked = [call["parameters"] for call in calls if call["action"] == "TerminateInstances"]
    return [value for form in asked for name, value in form.items() if name.startswith("InstanceId")]


def kinds(shell: Shell) -> list[str]:
    return [event.kind for event in shell.events()]
