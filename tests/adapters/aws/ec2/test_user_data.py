"""The first script of a machine: plain sh, without a secret, quoted whatever the settings hold."""

import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from holdfast.adapters.aws.ec2.user_data import may_be_set_by_kubelet
from holdfast.app.autoscaler.cloud import join_script
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud.kubernetes import Taint
from holdfast.kernel import Invalid

SETTINGS = Settings(
    k3s_url="https://10.0.0.5:6443/",
    k3s_cluster_token_param="/k3s/token",
    k3s_ca_hash="a" * 64,
    k3s_version="v1.33.5+k3s1",
    pods_per_node=60,
)
POOL = Pool(labels={"tier": "batch"}, taints=(Taint(key="gpu", value="yes"), Taint(key="only")))


def assigned(script: str, name: str) -> str:
    """What sh itself takes a line of the script to mean."""
    line = next(line for line in script.splitlines() if line.startswith(f"{name}="))
    done = subprocess.run(
        ["sh", "-c", f'{line}\nprintf %s "${name}"'], capture_output=True, text=True, check=True
    )
    return done.stdout


def flags(script: str) -> list[str]:
    """The agent's own words, as sh would hand them over on the machine i-1 in z-1."""
    inner = script[script.index('sh "$work/install" agent') :].split("\n}")[0]
    words = inner.replace("\\\n", " ").removeprefix('sh "$work/install" agent')
    done = subprocess.run(
        ["sh", "-c", f"id=i-1 zone=z-1 region=r-1 type=t-1 capacity=spot\nprintf '%s\\n' {words}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_sh_can_read_it() -> None:
    script = join_script(SETTINGS, POOL)
    assert script.startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert len(script.encode()) < 16_384 / 2, "half of what user data may have"


def test_the_same_settings_give_the_same_text() -> None:
    other_order = replace(POOL, labels=dict(reversed([*POOL.labels.items(), ("a", "b")])))
    assert join_script(SETTINGS, replace(POOL, labels={"tier": "batch", "a": "b"})) == join_script(
        SETTINGS, other_order
    )


def test_the_settings_arrive_in_the_script() -> None:
    script = join_script(SETTINGS, POOL)
    assert assigned(script, "url") == "https://10.0.0.5:6443"
    assert assigned(script, "version") == "v1.33.5+k3s1"
    assert assigned(script, "parameter") == "/k3s/token"
    assert assigned(script, "ca_hash") == "a" * 64
    assert flags(script) == [
        "--node-name",
        "i-1",
        "--kubelet-arg=provider-id=aws:///z-1/i-1",
        "--kubelet-arg=max-pods=60",
        "--node-label=holdfast.dev/instance-id=i-1",
        "--node-label=holdfast.dev/pool=default",
        "--node-label=topology.kubernetes.io/zone=z-1",
        "--node-label=topology.kubernetes.io/region=r-1",
        "--node-label=node.kubernetes.io/instance-type=t-1",
        "--node-label=holdfast.dev/capacity-type=spot",
        "--node-label=tier=batch",
        "--node-taint=holdfast.dev/joining=true:NoSchedule",
        "--node-taint=gpu=yes:NoSchedule",
        "--node-taint=only:NoSchedule",
    ]


@pytest.mark.parametrize("hostile", ["it's; touch spoiled", "$(touch spoiled)", "`touch spoiled`", '"; :'])
def test_no_setting_can_become_a_command(hostile: str) -> None:
    settings = replace(
        SETTINGS, k3s_url=f"https://{hostile}", k3s_cluster_token_param=hostile, k3s_ca_hash=hostile
    )
    pool = replace(POOL, name=hostile, taints=(Taint(key=hostile, value=hostile),))
    script = join_script(settings, pool)
    assert assigned(script, "url") == f"https://{hostile}"
    assert assigned(script, "parameter") == hostile
    assert assigned(script, "ca_hash") == hostile
    assert f"--node-label=holdfast.dev/pool={hostile}" in flags(script)
    assert f"--node-taint={hostile}={hostile}:NoSchedule" in flags(script)


@pytest.mark.parametrize("name", ["k3s_url", "k3s_version", "k3s_cluster_token_param"])
def test_what_a_machine_cannot_join_without_is_named(name: str) -> None:
    missing: dict[str, Any] = {name: ""}
    with pytest.raises(Invalid, match=f"{name} is empty"):
        join_script(replace(SETTINGS, **missing), POOL)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("tier", True),
        ("example.com/tier", True),
        ("holdfast.dev/anything", True),
        ("topology.kubernetes.io/zone", True),
        ("node.kubernetes.io/lifecycle", True),
        ("sub.node.kubernetes.io/x", True),
        ("kubelet.kubernetes.io/x", True),
        ("node-role.kubernetes.io/worker", False),
        ("node-restriction.kubernetes.io/x", False),
        ("kubernetes.io/role", False),
        ("example.k8s.io/x", False),
        ("notkubernetes.io/x", True),
    ],
)
def test_a_kubelet_may_not_set_every_label(key: str, allowed: bool) -> None:
    assert may_be_set_by_kubelet(key) is allowed


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"node-role.kubernetes.io/worker": "true"}, "keeps for itself"),
        ({"topology.kubernetes.io/zone": "here"}, "is set by itself"),
        ({"holdfast.dev/pool": "other"}, "is set by itself"),
        ({"a b": "c"}, "no label that Kubernetes would take"),
        ({"a": "b c"}, "no label that Kubernetes would take"),
        ({"a": "x" * 64}, "no label that Kubernetes would take"),
    ],
)
def test_a_label_that_would_keep_the_machine_out_is_refused_by_name(labels: dict[str, str], why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        join_script(SETTINGS, replace(POOL, labels=labels))
    assert next(iter(labels)) in str(refused.value)


def test_nothing_is_read_or_sent_before_the_authority_was_compared() -> None:
    script = join_script(SETTINGS, POOL)
    loop = next(line for line in script.splitlines() if line.startswith("until server_is_right"))
    assert shlex.split(loop)[1:8:2] == ["server_is_right", "read_token", "write_token", "download"]
