"""Settings from file and environment: what is taken, and everything that is refused, at once."""

import tomllib
from dataclasses import fields

import pytest

from holdfast.autoscaler.settings import Disruption, DrainRules, Pool, Settings, environment_names, ranges
from holdfast.autoscaler.settings.kinds import KINDS
from holdfast.autoscaler.settings.load import SCHEMA, load
from holdfast.cloud.kubernetes import Taint
from holdfast.settings import InvalidSettings, Loaded

READY_TO_SCALE_UP = {"WORKER_AMI_ID": "ami-1", "WORKER_SUBNET_IDS": "subnet-a"}
"""Without these a warning says that the pool cannot scale up."""


def loading(file: str = "", **environ: str) -> Loaded[Settings]:
    return load(tomllib.loads(file), environ)


def problems(file: str = "", **environ: str) -> tuple[str, ...]:
    with pytest.raises(InvalidSettings) as refused:
        loading(file, **environ)
    assert str(refused.value) == "\n".join(refused.value.problems)
    return refused.value.problems


def warnings(file: str = "", **environ: str) -> tuple[str, ...]:
    return loading(file, **READY_TO_SCALE_UP, **environ).warnings


def test_nothing_given_is_the_defaults_of_the_seeds() -> None:
    settings = loading().settings

    assert settings == Settings()
    assert (settings.cpu_up, settings.cpu_down, settings.pending_up_s, settings.idle_down_s) == (
        0.7,
        0.3,
        180,
        600,
    )
    assert (settings.cooldown_up_s, settings.cooldown_down_s) == (300, 600)
    assert (settings.min_workers, settings.max_workers) == (2, 10)
    assert (settings.max_batch_up, settings.max_batch_down) == (2, 1)
    assert (settings.join_timeout_s, settings.drain_timeout_s) == (600, 300)
    assert (settings.scale_down_stuck_s, settings.lock_ttl_s) == (900, 300)
    assert settings.prom_nodeport == 30900


def test_the_file_is_read_and_the_environment_outranks_it() -> None:
    file = "[autoscaler]\ncpu_up = 0.8\nmin_workers = 3\n[autoscaler.drain]\nkube_system_stays = false\n"

    settings = loading(file, CPU_UP="0.9", COOLDOWN_UP_SEC="30", DRAIN_UNMANAGED_PODS_STAY="no").settings

    assert (settings.cpu_up, settings.min_workers, settings.cooldown_up_s) == (0.9, 3, 30)
    assert not settings.drain.kube_system_stays
    assert not settings.drain.unmanaged_pods_stay
    assert settings.drain.local_storage_stays


def test_the_worker_names_of_the_seeds_fill_the_default_pool() -> None:
    settings = loading(
        WORKER_AMI_ID="ami-0abc",
        WORKER_SG_ID="sg-1",
        WORKER_KEY_NAME="ops",
        WORKER_INSTANCE_PROFILE="k3s-worker",
        WORKER_INSTANCE_TYPE="t3.medium, m5.large",
        WORKER_SUBNET_IDS="subnet-a,subnet-b",
        WORKER_LABELS="team=data,disk=ssd",
        WORKER_TAINTS="dedicated=gpu:NoSchedule,spot:PreferNoSchedule",
        CLUSTER_TAG_VALUE="blue",
    ).settings

    assert settings.cluster_name == "blue"
    assert settings.pools == (
        Pool(
            ami_id="ami-0abc",
            security_group_ids=("sg-1",),
            key_name="ops",
            instance_profile="k3s-worker",
            instance_types=("t3.medium", "m5.large"),
            subnet_ids=("subnet-a", "subnet-b"),
            labels={"team": "data", "disk": "ssd"},
            taints=(
                Taint(key="dedicated", value="gpu", effect="NoSchedule"),
                Taint(key="spot", effect="PreferNoSchedule"),
            ),
        ),
    )


POOLS = (
    '[[autoscaler.pools]]\nname = "default"\n[[autoscaler.pools]]\nname = "gpu"\nmax_workers = 3\n',
    "[autoscaler.pools.default]\n[autoscaler.pools.gpu]\nmax_workers = 3\n",
)


@pytest.mark.parametrize("file", POOLS)
def test_pools_are_written_as_a_list_or_by_name(file: str) -> None:
    settings = loading(file, WORKER_AMI_ID="ami-1").settings

    assert settings.pools == (Pool(ami_id="ami-1"), Pool(name="gpu", max_workers=3))


def test_pools_can_be_given_in_the_environment_as_json() -> None:
    settings = loading(POOLS[0], POOLS='[{"name": "arm", "architecture": "arm64"}]').settings

    assert settings.pools == (Pool(name="arm", architecture="arm64"),)


def test_the_worker_names_make_a_default_pool_beside_others() -> None:
    settings = loading(POOLS='[{"name": "arm"}]', WORKER_AMI_ID="ami-1", WORKER_SG_ID="sg-1").settings

    assert settings.pools == (Pool(ami_id="ami-1", security_group_ids=("sg-1",)), Pool(name="arm"))


def test_every_setting_has_a_name_in_the_environment_and_can_be_read_there() -> None:
    known = {f.name: f.type for f in fields(Settings) if f.name not in ("drain", "disruption", "pools")}
    known |= {f"drain.{f.name}": f.type for f in fields(DrainRules)}
    known |= {f"disruption.{f.name}": f.type for f in fields(Disruption)}
    declared = {table.prefix + field.name: field for table in SCHEMA.table.flat() for field in table.fields}
    names = [n for name in known for n in environment_names(name)]

    assert known.keys() == declared.keys()
    assert names == [n for field in declared.values() for n in field.environment]
    assert len(names) == len(set(names)) == len(known) + 1  # the cluster's name has two
    assert set(known.values()) <= set(KINDS)
    assert {f.type for f in fields(Pool)} <= set(KINDS)
    assert {*names, "POOLS", "WORKER_AMI_ID"} <= SCHEMA.environment


def test_every_number_has_a_range() -> None:
    numbers = {f.name for f in fields(Settings) if f.type in (int, float)}
    of_pools = {f.name for f in fields(Pool) if f.type in (int, float)}

    assert numbers == set(ranges.RANGES)
    assert of_pools == set(ranges.POOL_RANGES)
    assert {f.name for f in fields(Disruption) if f.type in (int, float)} == set(ranges.DISRUPTION_RANGES)
    assert {f.type for f in fields(DrainRules)} == {bool}


def test_all_problems_are_named_at_once_each_as_it_was_spelled() -> None:
    file = """
        [autoscaler]
        cpu_up = 0.5
        max_worker = 3
        sweep_batch = 0
        [autoscaler.pools.gpu]
        min_workers = 5
        max_workers = 2
    """

    assert problems(file, CPU_DOWN="0.6", JOIN_TIMEOUT_SEC="soon") == (
        "[autoscaler] max_worker: there is no such setting; did you mean max_workers?",
        "JOIN_TIMEOUT_SEC = 'soon': give a whole number",
        "[autoscaler] sweep_batch = 0: must be at least 1 and at most 100000",
        "CPU_DOWN = 0.6 against [autoscaler] cpu_up = 0.5: "
        "must be lower, or the fleet would scale up and down at once",
        "[autoscaler.pools.gpu] min_workers = 5 against [autoscaler.pools.gpu] max_workers = 2: "
        "must not be higher",
    )


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"CPU_UP": "high"}, "CPU_UP = 'high': give a number"),
        ({"CPU_UP": "nan"}, "CPU_UP = 'nan': give a finite number"),
        ({"CPU_UP": "inf"}, "CPU_UP = 'inf': give a finite number"),
        ({"CPU_UP": "1.1"}, "CPU_UP = 1.1: must be more than 0 and at most 1"),
        ({"CPU_DOWN": "0"}, "CPU_DOWN = 0.0: must be more than 0 and at most 1"),
        ({"CPU_DOWN": "-0.1"}, "CPU_DOWN = -0.1: must be more than 0 and at most 1"),
        ({"MIN_WORKERS": "2.5"}, "MIN_WORKERS = '2.5': give a whole number"),
        ({"MIN_WORKERS": "-1"}, "MIN_WORKERS = -1: must be at least 0 and at most 100000"),
        ({"MAX_WORKERS": "9" * 30}, "9: must be at least 0 and at most 100000"),
        ({"MIN_WORKERS": "9" * 5_000}, "give a whole number"),
        ({"STATE_TABLE": "tafel-\u00e4"}, "STATE_TABLE = 'tafel-\u00e4': must be a table name"),
        ({"K8S_API_TOKEN_PARAM": "/k3s/\u00e4"}, "must be the name of an SSM parameter"),
        ({"COOLDOWN_UP_SEC": "-5"}, "COOLDOWN_UP_SEC = -5: must be at least 0 and at most 31536000"),
        ({"WORKER_TAINTS": "gpu=a:Never"}, "WORKER_TAINTS = 'gpu=a:Never': the effect of gpu must be one of"),
        ({"OBSERVE": "maybe"}, "OBSERVE = 'maybe': give true or false"),
        ({"CPU_DOWN": "0.8"}, "CPU_DOWN = 0.8 against cpu_up = 0.7 (the default): must be lower"),
        ({"CPU_DOWN": "0.7"}, "must be lower"),
        ({"MIN_WORKERS": "11"}, "MIN_WORKERS = 11 against max_workers = 10 (the default): must"),
        ({"MAX_BATCH_UP": "0"}, "MAX_BATCH_UP = 0: must be at least 1"),
        ({"MAX_BATCH_DOWN": "0"}, "MAX_BATCH_DOWN = 0: must be at least 1"),
        ({"LOCK_TTL_SEC": "0"}, "LOCK_TTL_SEC = 0: must be at least 1 and"),
        ({"DRAIN_TIMEOUT_SEC": "900"}, "would be abandoned as stuck"),
        ({"SCALE_DOWN_STUCK_SEC": "60"}, "drain_timeout_s = 300 (the default) against SCALE"),
        ({"AFTER_CORDON_SEC": "300"}, "no time is left to evict"),
        ({"BACK_OFF_FIRST_SEC": "2000"}, "BACK_OFF_FIRST_SEC = 2000 against back_off_max_s = 1800"),
        ({"ABSENT_SEC": "700"}, "forgotten before it is known to be gone"),
        ({"METRICS": "graphite"}, "METRICS = 'graphite': must be prometheus, metrics-server or requests"),
        ({"PROMETHEUS_URL": "10.0.0.5:30900"}, "must be an address such as http://10.0.0.5:30900"),
        ({"K8S_API_URL": "http://10.0.0.5"}, "must be an address such as https://10.0.0.5:6443"),
        ({"WORKER_DISK_GIB": "-1"}, "WORKER_DISK_GIB = -1: must be at least 0"),
        ({"K3S_VERSION": "latest"}, "must be a release such as"),
        ({"STATE_TABLE": "k3s", "LOGS_TABLE": "k3s"}, "must be two tables"),
        ({"WORKER_TAG_VALUE": "k3s-control-plane"}, "are also the control plane's tag"),
        ({"CLUSTER_TAG_KEY": "Role"}, "give the cluster a key of its own"),
        ({"CLUSTER_TAG_VALUE": "a", "CLUSTER_NAME": "b"}, "are the same setting: leave one out"),
        ({"WORKER_MARKET": "cheap"}, "WORKER_MARKET = 'cheap': must be spot or on-demand"),
        ({"WORKER_SUBNET_IDS": "subnet-a;subnet-b"}, "WORKER_SUBNET_IDS = 'subnet-a;subnet-b': must be"),
        ({"WORKER_INSTANCE_TYPE": ","}, "WORKER_INSTANCE_TYPE = '': name at least one"),
        ({"WORKER_TAINTS": "gpu"}, "write a taint as key=value:Effect"),
        ({"WORKER_TAINTS": "gpu=a:Never"}, "the effect of gpu must be one of"),
        ({"WORKER_LAUNCH_TEMPLATE_VERSION": "3"}, "give launch_template_id too"),
        ({"USD_PER_HOUR": "t3.medium"}, "write key=value,key=value"),
        ({"USD_PER_HOUR": "t3.medium=-1"}, "the price of t3.medium must be more than 0"),
        ({"POOLS": "{"}, "POOLS = '{': give a JSON list"),
        ({"POOLS": '[{"name": "a"}, {"name": "a"}]'}, "2 pools are called 'a'"),
        ({"POOLS": '[{"name": "a", "min_workers": 6}, {"name": "b", "min_workers": 5}]'},
         "the pools' min_workers (a 6, b 5) are 11 together, more than max_workers = 10 (the default)"),
        ({"POOLS": '[{"name": "a", "max_workers": 1}]'}, "the floor could never be reached"),
        ({"POOLS": '[{"name": "a"}]', "WORKER_SG_ID": "sg-1"}, "WORKER_SG_ID: they fill the pool default"),
        ({"POOLS": "[]"}, "pools: name at least one"),
        ({"POOLS": "[7]"}, "POOLS no. 1 = 7: must be a table"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_with_name_value_and_fix(environ: dict[str, str], says: str) -> None:
    (problem,) = problems(**environ)

    assert says in problem


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("[autoscaler]\ncpu_up = true\n", "[autoscaler] cpu_up = true: give a finite number"),
        ("[autoscaler]\ncpu_up = nan\n", "[autoscaler] cpu_up = nan: give a finite number"),
        ("[autoscaler]\nmin_workers = 2.0\n", "[autoscaler] min_workers = 2.0: give a whole number"),
        ("[autoscaler]\nmin_workers = false\n", "[autoscaler] min_workers = false: give a whole number"),
        ("[autoscaler]\nobserve = 1\n", "[autoscaler] observe = 1: give true or false"),
        ("[autoscaler]\nstate_table = 7\n", "[autoscaler] state_table = 7: give a text in quotes"),
        ("[autoscaler]\nCOOLDOWN_UP_SEC = 7\n", "did you mean cooldown_up_s?"),
        ("[autoscaler]\nmaximum_workers = 7\n", "did you mean max_workers?"),
        ("[autoscaler]\nxyzzy = 7\n", "[autoscaler] xyzzy: there is no such setting; remove it"),
        ("[autoscaler.drain]\nkube_system_stay = false\n", "[autoscaler.drain] kube_system_stay: there is"),
        ("[autoscaler.pools.gpu]\ninstance_type = 'a'\n", "did you mean instance_types?"),
        ("[autoscaler.pools.GPU]\n", "[autoscaler.pools.GPU] name = 'GPU': must be a name"),
        ('[autoscaler.pools."a.b"]\n', "name = 'a.b': must be a name"),
        ("[autoscaler]\npools = 3\n", "[autoscaler] pools = 3: must be tables, one a pool"),
        ("[autoscaler]\npools = [3]\n", "[[autoscaler.pools]] no. 1 = 3: must be a table"),
        ("[autoscaler]\ndrain = 3\n", "[autoscaler] drain = 3: must be a table"),
        ("autoscaler = 3\n", "autoscaler = 3: must be a table"),
        ("[autoscalr]\n", "autoscalr: there is no such setting; did you mean autoscaler?"),
    ],
)  # fmt: skip
def test_the_file_is_held_to_types_and_known_names(file: str, says: str) -> None:
    (problem,) = problems(file)

    assert says in problem


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CPU_UPP", "CPU_UP"),
        ("MIN_WORKER", "MIN_WORKERS"),
        ("MAXWORKERS", "MAX_WORKERS"),
        ("COOLDOWN_UP_SECONDS", "COOLDOWN_UP_SEC"),
        ("COOLDOWN_UP_S", "COOLDOWN_UP_SEC"),
        ("HOLDFAST_CPU_DOWN", "CPU_DOWN"),
        ("WORKER_INSTANCE_TYPES", "WORKER_INSTANCE_TYPE"),
        ("DRIAN_TIMEOUT_SEC", "DRAIN_TIMEOUT_SEC"),
    ],
)
def test_a_near_miss_in_the_environment_is_a_warning(name: str, meant: str) -> None:
    assert warnings(**{name: "1"}) == (
        f"{name} is set and means nothing to the autoscaler: did you mean {meant}?",
    )


def test_what_belongs_to_others_is_no_near_miss() -> None:
    others = (
        "PATH",
        "HOME",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "DATABASE_URL",
        "TERM",
        "LANG",
        "SHLVL",
        "PWD",
    )

    assert warnings(**dict.fromkeys(others, "1"), cpu_upp="1") == ()


def test_settings_without_effect_and_pools_that_cannot_scale_up_are_told() -> None:
    assert loading(
        DATABASE="state.db", STATE_TABLE="abc", METRICS="requests", PROMETHEUS_URL="http://a"
    ).warnings == (
        "STATE_TABLE = 'abc' has no effect: the record is in state.db",
        "PROMETHEUS_URL = 'http://a' has no effect: metrics = 'requests'",
        "pool default cannot scale up: give it an image (ami_id) and subnets (subnet_ids)",
    )


@pytest.mark.parametrize("url", ["https://10.0.0.5:6443", "http://127.0.0.1:8001", "http://localhost:8001"])
def test_the_api_may_be_unprotected_on_this_machine_only(url: str) -> None:
    assert loading(K8S_API_URL=url).settings.k8s_api_url == url


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert loading(CPU_UP="", WORKER_AMI_ID=" ").settings == Settings()


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("K8S_API_TOKEN_PARAM", "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0.c2lnbmVk"),
        ("K3S_CLUSTER_TOKEN_PARAM", "K10aabbcc::server:secret"),
        ("PROMETHEUS_URL", "http://me:secret@prometheus:9090"),
        ("K8S_CA", "secret"),
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(name: str, secret: str) -> None:
    (problem,) = problems(**{name: secret})

    assert problem.startswith(f"{name} = (not shown")
    assert secret not in problem


def test_a_secret_signs_nothing_without_an_address_and_is_not_shown() -> None:
    (problem,) = problems(NOTIFY_WEBHOOK_SECRET="hush")

    assert "give notify_webhook_url too" in problem
    assert "hush" not in problem
    for name in ("NOTIFY_WEBHOOK_URL", "NOTIFY_SLACK_URL"):
        (problem,) = problems(**{name: "http://hooks.example.com/hush"})
        assert name in problem
        assert "hush" not in problem, "an address without protection, which may hold a secret"
