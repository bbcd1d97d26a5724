"""Settings of the leases: the seed's names, and every problem named at once with its fix."""

import pytest

from holdfast.leases.settings import Settings
from holdfast.leases.settings.load import InvalidSettings, load

SEED = {
    "AWS_REGION": "eu-west-1",
    "STREAM_NAME": "kds-stream-prod",
    "APP_NAME": "my-app",
    "WORKER_ID": "worker-1",
    "KDS_WORKER_COUNT": "3",
    "ENABLE_DYNAMIC_MAX_LEASES": "true",
}


def read(**environ: str) -> Settings:
    return load({}, {**SEED, **environ}).settings


def test_the_seeds_names_mean_what_the_seed_says() -> None:
    settings = read()

    assert (settings.region, settings.stream_name, settings.app_name) == (
        "eu-west-1",
        "kds-stream-prod",
        "my-app",
    )
    assert (settings.worker_id, settings.kds_worker_count) == ("worker-1", 3)
    assert (settings.meta_table_name, settings.lease_table_name) == ("kds-stream-prod_meta", "my-app")


@pytest.mark.parametrize(
    ("environ", "worker_id"),
    [
        ({"WORKER_ID": "w", "POD_NAME": "p", "HOSTNAME": "h"}, "w"),
        ({"WORKER_ID": " ", "POD_NAME": "p", "HOSTNAME": "h"}, "p"),
        ({"WORKER_ID": "", "HOSTNAME": "h"}, "h"),
    ],
)
def test_a_pod_need_not_say_its_name_twice(environ: dict[str, str], worker_id: str) -> None:
    assert read(**environ).worker_id == worker_id


@pytest.mark.parametrize(
    ("environ", "worker_id"),
    [
        ({"HOSTNAME": "laptop"}, "from-the-file"),
        ({"POD_NAME": "p", "HOSTNAME": "laptop"}, "from-the-file"),
        ({"WORKER_ID": "w", "HOSTNAME": "laptop"}, "w"),
    ],
)
def test_an_id_in_the_file_outranks_the_name_of_the_machine(environ: dict[str, str], worker_id: str) -> None:
    """Workers on one machine have one HOSTNAME, and each a file of its own."""
    file = {"leases": {"stream_name": "s", "app_name": "a", "worker_id": "from-the-file"}}
    assert load(file, environ).settings.worker_id == worker_id


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"KDS_WORKER_COUNT": "three"}, r"KDS_WORKER_COUNT = 'three': give a whole number"),
        ({"MAX_LEASES_LIMIT": "0"}, r"MAX_LEASES_LIMIT = 0: must be at least 1"),
        ({"STREAM_NAME": ""}, r"stream_name is not set: give STREAM_NAME, or stream_name = "),
        ({"APP_NAME": "my app"}, r"APP_NAME = 'my app': must be letters"),
        (
            {"MEMBER_TTL_SEC": "5"},
            r"MEMBER_TTL_SEC = 5\.0 against heartbeat_s = 5\.0 \(the default\): must be",
        ),
        ({"META_TABLE": "my-app"}, r"table my-app is the lease table and the agreement's too"),
        ({"APP_NAME": "orders_meta", "STREAM_NAME": "orders"}, r"table orders_meta is .* by META_TABLE or"),
        ({"LEASE_TABLE": "kds-stream-prod_meta_events"}, r"table kds-stream-prod_meta_events is the lease"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_value_and_fix(environ: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidSettings, match=problem):
        read(**environ)


def test_the_file_says_the_same_and_the_environment_outranks_it() -> None:
    toml = {"leases": {"stream_name": "orders", "app_name": "billing", "member_ttl_s": 30}}

    settings = load(toml, {"APP_NAME": "audit"}).settings

    assert (settings.stream_name, settings.app_name, settings.member_ttl_s) == ("orders", "audit", 30.0)


def test_a_slip_in_a_name_is_told() -> None:
    assert load({}, {**SEED, "KDS_WORKERS_COUNT": "3"}).warnings == (
        "KDS_WORKERS_COUNT is set and means nothing to the leases: did you mean KDS_WORKER_COUNT?",
    )
