"""What a person needs to run stream workers here: settings, an environment, and commands to run under a cap.

It knows the product as far as it writes its settings down.
"""

import json
import shlex
import sys
from pathlib import Path

from tools.parts.catalog.kcl import PART as KCL
from tools.parts.ports import free_port

ROOT = Path(__file__).parents[3]
STREAM, APP = "orders", "shop"
WORKERS = ("worker-1", "worker-2", "worker-3")
REGION = "us-east-1"

SETTINGS = """\
# Written by `make stream` for the stream and the DynamoDB that it has started.

[leases]
stream_name = {stream}
app_name = {app}
region = {region}
kds_worker_count = {workers}

# What a KCL is told leaves room for one worker that is missing; with `exec` that is so anyway.
lease_headroom_workers = 1

# In earnest these are three to ten times as long.
heartbeat_s = 1
member_ttl_s = 4
count_s = 1
fewer_shards_s = 2
restart_settle_s = 3
"""
OF_A_WORKER = """
worker_id = {worker}
health_port = {port}
"""

CONSUMER = """\
#!/bin/sh
# Stands for a consumer: it says how many leases it may hold, and runs until it is told to end.
echo "consuming with at most $1 leases"
exec sleep 1000000
"""
PROGRAM = """\
#!/bin/sh
export WORKER_ID="${{HOLDFAST_WORKER_ID:-$WORKER_ID}}"
{exports}
cd {root} && exec {argv} "$@"
"""


def furnish(folder: Path, kinesis: str, dynamodb: str) -> str:
    """Write it all into the folder; the stream's name."""
    (folder / "holdfast.toml").write_text(settings_text())
    for worker in WORKERS:
        (folder / f"{worker}.toml").write_text(settings_text() + own_text(worker, free_port()))
    programs = folder / "bin"
    programs.mkdir()
    (programs / "holdfast").symlink_to(Path(sys.executable).parent / "holdfast")
    _program(programs / "consumer", CONSUMER)
    _program(programs / "reshard", _calling([sys.executable, "-m", "tools.parts.stream.reshard"]))
    if KCL.installed:
        where = {"KINESIS_ENDPOINT": kinesis, "DYNAMODB_ENDPOINT": dynamodb}
        _program(programs / "kcl", _calling(KCL.command("")[:-1], where))
    (folder / "env").write_text(environment_text(programs, kinesis, dynamodb))
    return STREAM


def settings_text() -> str:
    # JSON's texts are TOML's.
    return SETTINGS.format(
        stream=json.dumps(STREAM), app=json.dumps(APP), region=json.dumps(REGION), workers=len(WORKERS)
    )


def own_text(worker: str, port: int) -> str:
    return OF_A_WORKER.format(worker=json.dumps(worker), port=port)


def environment_text(programs: Path, kinesis: str, dynamodb: str) -> str:
    """For a shell to read: any AWS client, holdfast itself and a KCL mean these two."""
    exported = {
        "AWS_ENDPOINT_URL_KINESIS": kinesis,
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": REGION,
        "STREAM_NAME": STREAM,
        "APP_NAME": APP,
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exported.items()]
    return "\n".join([*lines, f'export PATH={shlex.quote(str(programs))}:"$PATH"', ""])


def _calling(argv: list[str], exported: dict[str, str] | None = None) -> str:
    lines = [f"export {name}={shlex.quote(value)}" for name, value in (exported or {}).items()]
    return PROGRAM.format(exports="\n".join(lines), root=shlex.quote(str(ROOT)), argv=shlex.join(argv))


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
