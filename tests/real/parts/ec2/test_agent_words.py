"""What a k3s agent is told, and what it would make of it."""

from pathlib import Path
from typing import Any

import pytest

from tools.parts.boot.agent_request import BadAgent, parse
from tools.parts.boot.node import BadNode, build_node, node_name

MACHINE: dict[str, Any] = {
    "id": "i-1",
    "architecture": "amd64",
    "private_ip": "10.0.0.7",
    "vcpus": 2,
    "memory_mib": 8192,
}


def test_flags_outrank_the_environment() -> None:
    env = {"K3S_URL": "https://env:6443", "K3S_TOKEN": "env", "K3S_NODE_NAME": "env"}
    asked = parse(["-s", "https://flag:6443", "--node-name=flag"], env, "v1")
    assert (asked.server, asked.token, asked.node_name) == ("https://flag:6443", "env", "flag")


def test_a_token_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame\n")
    assert parse(["--token-file", str(tmp_path / "token")], {}, "v1").token == "sesame"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--node-lable", "a=b"], "not defined: -node-lable"),
        (["--server"], "needs an argument: -server"),
        (["worker"], "takes no argument: worker"),
        (["--token-file", "/nosuch"], "/nosuch: no such file"),
    ],
    ids=["misspelt", "cut short", "stray word", "no such file"],
)
def test_words_that_the_agent_does_not_know_are_refused(args: list[str], reason: str) -> None:
    with pytest.raises(BadAgent, match=reason):
        parse(args, {}, "v1")


def test_the_node_is_what_the_flags_and_the_kubelet_arguments_say() -> None:
    args = [
        "--node-name=Worker-1",
        "--node-label=pool=spot",
        "--node-taint=dedicated=batch:NoSchedule",
        "--node-taint=fresh:NoExecute",
        "--kubelet-arg=provider-id=aws:///us-east-1a/i-1",
        "--kubelet-arg=max-pods=17",
        "--kubelet-arg=node-labels=more=labels",
        "--token=secret",
    ]
    asked = parse(args, {}, "v1.36.3+k3s1")
    node = build_node(asked, node_name(asked, "unused"), MACHINE)
    assert node["metadata"]["name"] == "worker-1"
    labels = node["metadata"]["labels"]
    assert (labels["pool"], labels["more"], labels["kubernetes.io/hostname"]) == (
        "spot",
        "labels",
        "worker-1",
    )
    assert node["spec"] == {
        "providerID": "aws:///us-east-1a/i-1",
        "taints": [
            {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
            {"key": "fresh", "effect": "NoExecute"},
        ],
    }
    assert (node["status"]["capacity"]["cpu"], node["status"]["capacity"]["pods"]) == ("2", "17")
    assert "secret" not in str(node)


def test_without_a_name_the_node_is_called_like_its_host_and_its_id_may_be_appended() -> None:
    plain, with_id = parse([], {}, "v1"), parse(["--with-node-id"], {}, "v1")
    assert node_name(plain, "ip-10-0-0-7.ec2.internal") == "ip-10-0-0-7.ec2.internal"
    assert node_name(with_id, "host").startswith("host-")
    assert node_name(with_id, "host") != node_name(with_id, "host")


@pytest.mark.parametrize(
    "word", ["--node-label=node-role.kubernetes.io/worker=true", "--node-taint=a=b:Never"]
)
def test_a_kubelet_does_not_start_with_reserved_labels_or_unknown_effects(word: str) -> None:
    asked = parse([word], {}, "v1")
    with pytest.raises(BadNode):
        build_node(asked, "n", MACHINE)
