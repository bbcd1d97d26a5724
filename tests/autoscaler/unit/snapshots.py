"""Small snapshots for tests of the pure workflow: what is not said is ordinary."""

from dataclasses import replace
from typing import Any

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Place, Snapshot, Worker
from holdfast.cloud import Instance, Market, State
from holdfast.cloud.launches import Template, launch_token

NOW_S = 1_730_000_000.0
SETTINGS = Settings(pools=(Pool(instance_types=("m5.large", "m5a.large"), subnet_ids=("s-a", "s-b")),))


def worker(instance_id: str, zone: str = "a", **said: Any) -> Worker:
    """In service and launched by us long ago; what an `Instance` knows goes to its machine."""
    action_id = said.pop("action_id", "1-req-0")
    machine = Instance(
        instance_id,
        said.pop("state", State.RUNNING),
        zone,
        "m5.large",
        said.pop("market", Market.SPOT),
        said.pop("launched_s", 1_000),
        said.pop("pool", "default"),
        action_id=action_id,
        token=said.pop("token", launch_token(action_id, 1, 1)),
    )
    usual = {"node_name": f"n-{instance_id}", "node_uid": f"uid-{instance_id}", "ready": True}
    return Worker(**{"instance": machine, **usual, **said})


def booting(instance_id: str, zone: str = "a", **said: Any) -> Worker:
    return worker(instance_id, zone, **{"node_name": "", "node_uid": "", "ready": False, **said})


def snapshot(*workers: Worker, pending: int = 0, cpu: float | None = 0.5, **said: Any) -> Snapshot:
    usual = Snapshot(
        owner="req-1",
        workers=workers,
        pending=pending,
        needs=lambda coming: (Need("default", pending - coming),) if pending > coming else (),
        load=Load(cpu, problem="" if cpu is not None else "no data"),
        templates={"default": Template("lt-1", 3, "d")},
        digests={"default": "d"},
        places=(Place("default", "a", "s-a"), Place("default", "b", "s-b")),
    )
    return replace(usual, **said)
