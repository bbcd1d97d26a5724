"""From the zip alone, with botocore beside it, a whole idle tick works, and loads nothing in vain."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.grounds import world
from bench.grounds.zipped import Zipped, unpacked
from tools import aws_calls

TICK = """
from holdfast.lambda_handler import handler

class Context:
    aws_request_id = "r-1"
    def get_remaining_time_in_millis(self):
        return 300_000

answer = handler({"source": "aws.events", "detail-type": "Scheduled Event"}, Context())
result = [answer, sorted(sys.modules)]
"""
NOT_NEEDED = (
    *("click", "rich", "greenlet", "yaml", "prometheus_client", "sqlite3", "asyncio", "tomllib", "unittest"),
    *("boto3", "s3transfer"),
    *("holdfast.sim", "holdfast.cli", "holdfast.failover", "holdfast.leases", "holdfast.adapters.sql"),
)
MODULES_MAX = 520
"""Each costs a cold start its search, its reading and its classes."""
IMPORTED = """
import sys, holdfast.lambda_handler
print("\\n".join(name for name in sys.modules if name.startswith("holdfast.")))
"""
NOT_THE_AUTOSCALERS = ("holdfast.failover", "holdfast.leases", "holdfast.sim", "holdfast.testing")

CLIENTS = """
import os
os.environ["AWS_DATA_PATH"] = sys.path[0] + "/aws-models"
import boto3
result = {}
for service in ("dynamodb", "ec2", "pricing", "sns", "ssm"):
    client = boto3.client(service)
    result[service] = [
        sorted(client.meta.service_model.operation_names),
        [name for name in dir(client.exceptions) if name.endswith("Exception")],
    ]
result["listed"] = repr(boto3.client("ec2").describe_instances()["Reservations"])
"""


def test_importing_the_handler_imports_no_other_part_and_no_simulated_world() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "holdfast.autoscaler.tick" in modules, "this test would see what is loaded"
    assert [name for name in modules if name.startswith(NOT_THE_AUTOSCALERS)] == []


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Zipped:
    return unpacked(tmp_path_factory.mktemp("lambda"))


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with world.started(3, 30, tmp_path_factory.mktemp("world")) as around:
        yield around


def test_an_idle_tick_needs_nothing_but_the_zip_and_botocore(zipped: Zipped, environ: dict[str, str]) -> None:
    answer, modules = zipped.run(TICK, environ)
    assert answer["outcome"] == "idle", answer
    assert answer["why"] == "the workers are neither busy nor idle"
    loaded = [name for name in modules if name.startswith(NOT_NEEDED)]
    assert not loaded, f"an idle tick loads {loaded}, which it does not need"
    assert {"botocore", "msgspec", "urllib3"} <= set(modules), "this test would see what is loaded"
    assert len(modules) <= MODULES_MAX, f"an idle tick loads {len(modules)} modules"


def test_the_cut_down_descriptions_know_every_call_and_every_error(
    zipped: Zipped, environ: dict[str, str]
) -> None:
    made = zipped.run(CLIENTS, environ)
    for service in aws_calls.OF_THE_FUNCTION:
        assert set(made[service][0]) == aws_calls.called(service)
    assert {"TransactionCanceledException", "ResourceNotFoundException"} <= set(made["dynamodb"][1])
    assert "ConditionalCheckFailedException" in made["dynamodb"][1]


def test_a_machine_is_read_in_the_few_fields_that_we_know(zipped: Zipped, environ: dict[str, str]) -> None:
    listed = zipped.run(CLIENTS, environ)["listed"]
    for field in (
        "InstanceId",
        "State",
        "Placement",
        "LaunchTime",
        "ClientToken",
        "InstanceLifecycle",
        "Tags",
    ):
        assert f"'{field}'" in listed
    assert "NetworkInterfaces" not in listed
    assert "00000000000000002" in listed, "all three are there"


@pytest.mark.parametrize("service", aws_calls.SERVICES)
def test_a_description_refers_to_nothing_that_it_left_out(service: str) -> None:
    told = aws_calls.description(service)
    assert set(told["operations"]) == aws_calls.called(service)
    referred = set(aws_calls.references([told["operations"], told["shapes"]]))
    assert referred <= set(told["shapes"])
