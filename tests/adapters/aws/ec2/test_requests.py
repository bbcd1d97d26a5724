"""What is asked of EC2, before it is asked: requests, digests, permissions; and consoles, after."""

import base64
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.aws import ec2 as package
from holdfast.adapters.aws.ec2 import launch as launches
from holdfast.adapters.aws.ec2 import templates
from holdfast.adapters.aws.ec2.calls import CALLS
from holdfast.adapters.aws.ec2.catalog import devices_of, shape_of
from holdfast.adapters.aws.ec2.console import KEPT, end_of_console, masked
from holdfast.adapters.aws.ec2.launch import run
from holdfast.adapters.aws.ec2.templates import template_name
from holdfast.app.autoscaler.cloud import Ec2Cloud, launch_request, template_spec
from holdfast.autoscaler.record import Launch, LaunchStatus
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Market
from holdfast.cloud.launches import Refusal, Refused
from holdfast.kernel import Invalid

POOL = Pool(ami_id="ami-1", security_group_ids=("sg-1",), instance_profile="workers")
SETTINGS = Settings(k3s_url="https://10.0.0.5:6443", k3s_cluster_token_param="/k3s/token", pools=(POOL,))
LAUNCH = Launch(
    group=2,
    attempt=1,
    pool="default",
    zone="eu-central-1a",
    subnet_id="subnet-1",
    market=Market.SPOT,
    instance_type="m5.large",
    template_id="lt-1",
    template_version=7,
    count=20,
)
NO_CLIENT: Any = None


def run_request(settings: Settings, action_id: str, row: Launch) -> dict[str, Any]:
    return launches.run_request(launch_request(settings, action_id, row))


def template_data(pool: Pool, script: str) -> dict[str, Any]:
    return templates.template_data(template_spec(pool, lambda _: script))


def test_a_request_refers_to_a_numbered_template_and_says_whose_it_is() -> None:
    tags = [
        {"Key": "Name", "Value": "k3s-autoscaler-default"},
        {"Key": "Cluster", "Value": "k3s-autoscaler"},
        {"Key": "Role", "Value": "k3s-worker"},
        {"Key": "holdfast:action", "Value": "17-req"},
        {"Key": "holdfast:pool", "Value": "default"},
        {"Key": "holdfast:group", "Value": "2"},
    ]
    assert run_request(SETTINGS, "17-req", LAUNCH) == {
        "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "7"},
        "InstanceType": "m5.large",
        "SubnetId": "subnet-1",
        "MinCount": 1,
        "MaxCount": 20,
        "ClientToken": LAUNCH.token("17-req"),
        "InstanceMarketOptions": {
            "MarketType": "spot",
            "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
        },
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": tags},
            {"ResourceType": "volume", "Tags": tags},
        ],
    }
    assert len(LAUNCH.token("17-req")) <= 64


def test_a_repetition_is_the_same_whatever_became_of_the_row() -> None:
    """The status, the answer and the time of a row change; what is asked for does not."""
    moved = replace(LAUNCH, status=LaunchStatus.ANSWERED, instance_ids=("i-1",), reason="why")
    assert run_request(SETTINGS, "17-req", moved) == run_request(SETTINGS, "17-req", LAUNCH)


def test_on_demand_names_no_market() -> None:
    on_demand = replace(LAUNCH, market=Market.ON_DEMAND)
    assert "InstanceMarketOptions" not in run_request(SETTINGS, "17-req", on_demand)


@pytest.mark.parametrize("states", [["terminated"], ["terminated", "shutting-down"]])
def test_instances_that_come_back_dead_existed(states: list[str]) -> None:
    class Client:
        def run_instances(self) -> Any:
            return {
                "Instances": [{"InstanceId": f"i-{n}", "State": {"Name": s}} for n, s in enumerate(states)]
            }

    client: Any = Client()
    answer = run(client, {}, "default")
    assert isinstance(answer, Refused)
    assert answer.kind is Refusal.EXISTED
    assert "i-0" in answer.message


def test_a_template_keeps_the_metadata_from_pods_and_the_stopped_from_staying() -> None:
    data = template_data(POOL, "#!/bin/sh\n")
    assert data["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }
    assert data["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert base64.b64decode(data["UserData"]) == b"#!/bin/sh\n"
    assert data["IamInstanceProfile"] == {"Name": "workers"}
    assert "KeyName" not in data
    assert "BlockDeviceMappings" not in data
    arn = "arn:aws:iam::1:instance-profile/workers"
    assert template_data(replace(POOL, instance_profile=arn), "")["IamInstanceProfile"] == {"Arn": arn}


def test_a_pool_without_an_image_or_with_too_long_a_script_is_refused_by_name() -> None:
    with pytest.raises(Invalid, match="ami_id of pool default is empty"):
        template_data(Pool(), "")
    with pytest.raises(Invalid, match="16385 bytes, 16384 at most"):
        template_data(POOL, "x" * 16_385)


CHANGES: dict[str, dict[str, Any]] = {
    "image": {"ami_id": "ami-2"},
    "groups": {"security_group_ids": ("sg-1", "sg-2")},
    "key": {"key_name": "mine"},
    "profile": {"instance_profile": "others"},
    "labels": {"labels": {"a": "b"}},
    "disk": {"disk_gib": 40},
    "device": {"disk_gib": 40, "disk_device": "/dev/sda1"},
    "name": {"name": "gpu"},
    "own template": {"launch_template_id": "lt-9", "launch_template_version": 3},
    "own version": {"launch_template_id": "lt-9", "launch_template_version": 4},
}
NOT_IN_A_TEMPLATE: dict[str, Any] = {
    "instance_types": ("c5.large",),
    "subnet_ids": ("subnet-9",),
    "min_workers": 3,
    "market": "on-demand",
}


def test_a_digest_changes_with_all_that_a_template_is_made_from_and_with_nothing_else() -> None:
    cloud = Ec2Cloud(NO_CLIENT, SETTINGS)
    digests = {name: cloud.digest(replace(POOL, **change)) for name, change in CHANGES.items()}
    digests["as it is"] = cloud.digest(POOL)
    others: list[dict[str, Any]] = [
        {"k3s_version": "v1.34.1+k3s1"},
        {"k3s_ca_hash": "a" * 64},
        {"pods_per_node": 30},
        {"cluster_name": "another"},
    ]
    for change in others:
        digests[str(change)] = Ec2Cloud(NO_CLIENT, replace(SETTINGS, **change)).digest(POOL)
    assert len(set(digests.values())) == len(digests)
    assert cloud.digest(replace(POOL, **NOT_IN_A_TEMPLATE)) == digests["as it is"]


def test_a_template_name_is_one_that_ec2_takes() -> None:
    assert template_name("prod", "gpu") == "holdfast-prod-gpu"
    assert re.fullmatch(r"[\w().\-/]{3,128}", template_name("a b@c" * 60, "gpu"), re.ASCII)


def test_a_shape_is_what_pods_may_have_of_what_is_sold() -> None:
    shape = shape_of(2, 8_192, "arm64", 30)
    assert (shape.cpu_m, shape.pods, shape.architecture) == (2_000, 30, "arm64")
    assert shape.memory == int(8_192 * 1024 * 1024 * 0.925) - 100 * 1024 * 1024
    assert shape_of(1, 64, "amd64", 30).memory == 0


def called_in_source() -> set[str]:
    """Every method of the client that the package names."""
    text = "\n".join(file.read_text() for file in Path(package.__file__).parent.glob("*.py"))
    names = re.findall(r"client\.(\w+)\(", text) + re.findall(r'get_paginator\("(\w+)"\)', text)
    return {name for name in names if name != "get_paginator"}


def test_what_is_declared_is_what_is_called() -> None:
    declared = {call.action for call in CALLS if not call.indirect}
    spelled = {"ec2:" + "".join(part.title() for part in name.split("_")) for name in called_in_source()}
    assert len(spelled) > 8
    assert declared == spelled


SECRET = "hunter2andmore"


@pytest.mark.parametrize(
    "line",
    [
        f"K3S_TOKEN={SECRET} sh install.sh",
        f"K3S_TOKEN='{SECRET} with a blank' sh",
        f"k3s agent --token {SECRET} --server x",
        f"k3s agent --token={SECRET}",
        f"token: {SECRET}",
        f'{{"password": "{SECRET}"}}',
        f"Authorization: Bearer {SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"K10{'a' * 64}::server:{SECRET}",
        f"export DB_PASSWORD={SECRET}",
        f"eyJhbGciOiJSUzI1NiJ9.{SECRET}.sig",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
        f"{SECRET}\n-----END PRIVATE KEY-----",
    ],
)
def test_secrets_are_masked(line: str) -> None:
    shown = masked(f"first\n{line}" if "END" not in line or "BEGIN" in line else line)
    assert SECRET not in shown
    assert "********" in shown


def test_what_is_no_secret_stays() -> None:
    said = "cannot read the parameter /k3s/token in us-east-1 (AccessDenied)\nfailed to validate the token"
    assert masked(said) == said


def test_a_page_of_one_word_is_masked_in_no_time() -> None:
    """Console output may be binary rubbish without a single blank."""
    assert masked("x" * 65_536) == "x" * 65_536
    assert masked("-" * 65_536) == "-" * 65_536


class Console:
    """Older machines know only what they printed when they first booted."""

    def __init__(self, output: str, *, nitro: bool = True) -> None:
        self.output, self.nitro, self.asked = output, nitro, list[dict[str, Any]]()

    def get_console_output(self, **asked: Any) -> Any:
        from botocore.exceptions import ClientError

        self.asked.append(asked)
        if asked.get("Latest") and not self.nitro:
            told = {"Error": {"Code": "UnsupportedOperation"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(told, "GetConsoleOutput")  # type: ignore[arg-type]
        return {"Output": self.output} if self.output else {}


@pytest.mark.parametrize("nitro", [True, False])
def test_the_end_of_a_console_is_kept_and_a_secret_across_the_cut_is_not(nitro: bool) -> None:
    client: Any = Console("first\nK3S_TOKEN=" + "s" * (KEPT - 5) + "\nlast", nitro=nitro)
    assert end_of_console(client, "i-1") == "first\nK3S_TOKEN=********\nlast"
    client.output = "x" * 9_000 + "end"
    assert end_of_console(client, "i-1") == "x" * (KEPT - 3) + "end"
    client.output = "\x1b[2Jboot\x07"
    assert end_of_console(client, "i-1").isprintable()
    client.output = ""
    assert end_of_console(client, "i-1") == ""


@pytest.mark.parametrize(
    ("told", "devices"),
    [
        ({}, ()),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA", "Count": 4}]}}, (("nvidia.com/gpu", 4),)),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "AMD", "Count": 1}]}}, (("amd.com/gpu", 1),)),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "Unheard of", "Count": 1}]}}, ()),
        (
            {"NeuronInfo": {"NeuronDevices": [{"Count": 6, "CoreInfo": {"Count": 2}}]}},
            (("aws.amazon.com/neuron", 6), ("aws.amazon.com/neuroncore", 12)),
        ),
    ],
)
def test_devices_are_called_as_pods_ask_for_them(told: Any, devices: tuple[tuple[str, int], ...]) -> None:
    assert devices_of(told) == devices
