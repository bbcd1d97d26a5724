"""`chaos …`, in the shell of `make cluster`: what a bad day does to a fleet, one thing at a time."""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tools.parts.ec2.client import Ec2Control
from tools.parts.kubernetes.commands import SILENT
from tools.parts.play.playground import TYPES
from tools.parts.site import ZONES

POLL_S: Final = 0.05
NOTICE_MAX_S: Final = 3_600
ALIVE: Final = ("pending", "running")
DONE: Final = {
    "notice": "{0} has its spot notice: EC2 takes it back in {1:g} s",
    "rebalance": "{0} has a rebalance recommendation: EC2 may take it back, or not",
    "kill": "{0} is dead, without a warning",
    "hang": "the kubelet of {0} hangs; its node becomes NotReady. `chaos revive {0}` ends it",
    "revive": "the kubelet of {0} reports again",
}


class Trouble(Exception):
    """What was asked for makes no sense here; the message says why, and what would."""


def main() -> int:
    asked = _parser().parse_args()
    try:
        COMMANDS[asked.command](asked)
    except Trouble as trouble:
        print(f"chaos: {trouble}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not _is_no_answer(error):
            raise
        where = os.environ["AWS_ENDPOINT_URL"]
        print(f"chaos: the cloud at {where} does not answer: is `make cluster` still up?", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chaos",
        description="What a bad day does to the fleet of `make cluster`.  Without INSTANCE: the oldest that "
        "is sound yet.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, said: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=said, description=said)

    add("list", "The machines that there are.")
    for name, said in (
        ("notice", "Give a spot notice: the machine dies in two minutes."),
        ("rebalance", "Recommend a rebalance: the machine may be taken back, or not."),
        ("kill", "End a machine without a warning."),
        ("hang", "Stop the kubelet of a machine: its node becomes NotReady."),
        ("revive", "Let a kubelet report again."),
    ):
        command = add(name, said)
        command.add_argument("instance", nargs="?", default="", metavar="INSTANCE")
        if name == "notice":
            command.add_argument("--in", type=_seconds, default=120, dest="in_s", metavar="SECONDS")
    empty = add("empty", "Take all capacity out of a market, of a type or a zone if one is named.")
    empty.add_argument("market", choices=("spot", "on-demand"))
    empty.add_argument("--type", dest="instance_type", choices=tuple(TYPES))
    empty.add_argument("--zone", choices=ZONES)
    add("refill", "Give all capacity back.")
    crash = add("crash", "Wait for the next step of that kind, and kill the autoscaler in the middle of it.")
    crash.add_argument("when", choices=tuple(PHASES), metavar="|".join(PHASES))
    log = add("log", "What the cloud has done, as it says itself.")
    log.add_argument("--follow", "-f", action="store_true")
    return parser


def _list(asked: argparse.Namespace) -> None:
    for each in _machines():
        print(f"{each['InstanceId']}  {each['State']['Name']:<13}  {_market(each):<9}  {_zone(each)}")


def _befall(asked: argparse.Namespace) -> None:
    ec2, in_s = _ec2(), getattr(asked, "in_s", 0.0)
    instance_id = asked.instance or _meant(asked.command)
    if instance_id not in {each["InstanceId"] for each in _machines()}:
        raise Trouble(f"there is no machine {instance_id}: `chaos list` shows those that there are")
    match asked.command:
        case "notice":
            _tell(lambda: ec2.interrupt(instance_id, in_s=in_s))
        case "rebalance":
            _tell(lambda: ec2.rebalance(instance_id))
        case "kill":
            _tell(lambda: ec2.fail(instance_id))
        case "hang":
            _kubectl("label", "node", instance_id, f"{SILENT}=true", "--overwrite")
        case "revive":
            _kubectl("label", "node", instance_id, f"{SILENT}-")
    print(DONE[asked.command].format(instance_id, in_s))


def _empty(asked: argparse.Namespace) -> None:
    _ec2().set_capacity(0, market=asked.market, instance_type=asked.instance_type, zone=asked.zone)
    where = " ".join(filter(None, (asked.market, asked.instance_type, asked.zone)))
    print(f"no capacity is left: {where}. `chaos refill` gives it back")


def _refill(asked: argparse.Namespace) -> None:
    ec2 = _ec2()
    for market in ("spot", "on-demand"):
        for kind in (None, *TYPES):
            for zone in (None, *ZONES):
                ec2.set_capacity(None, market=market, instance_type=kind, zone=zone)
    print("all capacity is back")


def _crash(asked: argparse.Namespace) -> None:
    """By the record itself: no eye and no finger is quick enough for a drain of one pod."""
    settings: Any = importlib.import_module("holdfast.autoscaler.settings.load")
    stores: Any = importlib.import_module("holdfast.app.autoscaler.stores")
    subject: Any = importlib.import_module("holdfast.autoscaler.codec").SUBJECT
    tomllib: Any = importlib.import_module("tomllib")
    loaded = settings.load(tomllib.loads(Path("holdfast.toml").read_text()), os.environ)
    in_phase = PHASES[asked.when]
    _autoscalers()  # one must run, or the wait is in vain
    print(f"waiting for a {asked.when} …", flush=True)
    with stores.open_stores(loaded.settings) as opened:
        while in_phase(opened.store.read(subject).value):
            time.sleep(POLL_S)  # one that is under way already: the next one is meant
        while not in_phase(opened.store.read(subject).value):
            time.sleep(POLL_S)
    for pid in _autoscalers():
        os.kill(pid, signal.SIGKILL)
        print(f"killed process {pid} in the middle of a {asked.when}")


def _log(asked: argparse.Namespace) -> None:
    read = 0
    while True:
        for entry in _ec2().log(read, wait_s=10 if asked.follow and read else 0):
            read = entry["n"]
            print(json.dumps(entry), flush=True)
        if not asked.follow:
            return


PHASES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "scale-up": lambda cluster: cluster.scale_up is not None and bool(cluster.scale_up.joining),
    "scale-down": lambda cluster: cluster.scale_down is not None,
    "interruption": lambda cluster: bool(cluster.interrupted),
}
COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], None]]] = {
    "list": _list,
    **dict.fromkeys(DONE, _befall),
    "empty": _empty,
    "refill": _refill,
    "crash": _crash,
    "log": _log,
}


def _autoscalers() -> list[int]:
    """The processes that were started by the program of this folder."""
    program = str(Path.cwd() / "bin" / "holdfast")
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue  # it has ended meanwhile
            if program in words and "run" in words:
                found.append(int(folder.name))
    if not found:
        raise Trouble("`holdfast autoscaler run` does not run in this folder: start it first")
    return found


def _ec2() -> Ec2Control:
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if not endpoint:
        raise Trouble("AWS_ENDPOINT_URL is not set: enter the folder and read its settings: `. ./env`")
    return Ec2Control(endpoint)


def _machines() -> list[Any]:
    """The workers that live, the oldest first."""
    endpoint = _ec2()
    make: Any = importlib.import_module("boto3").client
    pages = make("ec2", **endpoint.client_arguments()).get_paginator("describe_instances").paginate()
    found = [each for page in pages for group in page["Reservations"] for each in group["Instances"]]
    living = [each for each in found if each["State"]["Name"] in ALIVE]
    return sorted(living, key=lambda each: (each["LaunchTime"], each["InstanceId"]))


def _meant(command: str) -> str:
    """The oldest machine to which this can still happen."""
    hung, noticed = _hung(), _noticed()
    if command == "revive":
        fit, what = [each for each in _ids() if each in hung], "machine whose kubelet hangs"
    elif command in ("notice", "rebalance"):
        fit, what = [each for each in _ids(spot=True) if each not in noticed], "spot machine without a notice"
    else:
        fit, what = [each for each in _ids() if each not in hung | noticed], "machine that is sound"
    if not fit:
        raise Trouble(f"there is no {what}: `chaos list` shows those that there are")
    return fit[0]


def _ids(*, spot: bool = False) -> list[str]:
    return [str(each["InstanceId"]) for each in _machines() if not spot or _market(each) == "spot"]


def _hung() -> set[str]:
    names = _kubectl("get", "nodes", "-l", f"{SILENT}=true", "-o", "name")
    return {name.removeprefix("node/") for name in names.split()}


def _noticed() -> set[str]:
    """Those that EC2 has given notice, or hinted at."""
    entries = (entry for entry in _ec2().log() if entry["kind"] in ("interruption", "rebalance"))
    return {str(entry["instance"]) for entry in entries}


def _market(each: Mapping[str, Any]) -> str:
    return "spot" if each.get("InstanceLifecycle") == "spot" else "on-demand"


def _zone(each: Mapping[str, Any]) -> str:
    return str(each["Placement"]["AvailabilityZone"])


def _tell(befall: Callable[[], object]) -> None:
    try:
        befall()
    except Exception as error:
        raise Trouble(str(error)) from error


def _kubectl(*words: str) -> str:
    done = subprocess.run(["kubectl", *words], capture_output=True, text=True)
    if done.returncode:
        raise Trouble(done.stderr.strip())
    return done.stdout


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= NOTICE_MAX_S:
        raise argparse.ArgumentTypeError(f"{text} lies outside 0 to {NOTICE_MAX_S}")
    return seconds


def _is_no_answer(error: Exception) -> bool:
    """Whether the cloud could not be reached, as urllib or botocore say it."""
    return isinstance(error, urllib.error.URLError) or type(error).__name__ == "EndpointConnectionError"


if __name__ == "__main__":
    raise SystemExit(main())
