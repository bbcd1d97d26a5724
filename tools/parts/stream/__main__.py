"""`python -m tools.parts.stream`: a stream of 30 shards, and a table beside it, to play with until Ctrl-C."""

import argparse
import contextlib
import signal
import sys
import threading
import time
from pathlib import Path

from tools.parts.catalog.kcl import PART as KCL
from tools.parts.catalog.kinesis_local import PART as KINESIS
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.part import Absent
from tools.parts.play.playground import Taken, claim
from tools.parts.stream.folder import WORKERS, furnish
from tools.parts.stream.reshard import make

FOLDER = Path(__file__).parents[3] / "build" / "stream"
SHARDS = 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.parts.stream", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where settings go meanwhile")
    parser.add_argument("--shards", type=int, default=SHARDS, help="of the stream at its start")
    asked = parser.parse_args()
    asked_to_stop = threading.Event()
    for asks in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asks, lambda *_: asked_to_stop.set())
    with contextlib.ExitStack() as started:
        try:
            folder = started.enter_context(claim(asked.folder.resolve(), "stream"))
            play(started, folder, asked.shards)
        except (Absent, Taken) as error:
            print(error, file=sys.stderr)
            return 1
        print("\nCtrl-C stops and removes all of it.", flush=True)
        asked_to_stop.wait()
        print("\nstopping …", flush=True)
    print("everything is stopped and removed", flush=True)
    return 0


def play(started: contextlib.ExitStack, folder: Path, shards: int) -> None:
    began_s = time.monotonic()
    print("starting kinesis-local and MiniStack …", flush=True)
    kinesis = KINESIS.start()
    started.callback(kinesis.stop)
    ministack = MINISTACK.start()
    started.callback(ministack.stop)
    stream = furnish(folder, kinesis.endpoint, ministack.endpoint)
    make(kinesis.endpoint, stream, shards)
    print(f"ready after {time.monotonic() - began_s:.1f} s\n")
    show(folder, stream, shards)


def show(folder: Path, stream: str, shards: int) -> None:
    here = Path.cwd()
    enter = f"cd {folder.relative_to(here) if folder.is_relative_to(here) else folder} && . ./env"
    print(f"  stream      {stream}, {shards} shards")
    print(f"  settings    {', '.join(f'{worker}.toml' for worker in WORKERS)}, and holdfast.toml for looking")
    print("\n  No worker runs yet.  In three more terminals, start one each:\n")
    print(f"    {enter}")
    print("    holdfast leases exec --config worker-1.toml -- consumer {max_leases}")
    print("\n  In another, look, and double the shards:\n")
    print(f"    {enter}")
    print("    holdfast leases watch")
    print("    reshard 60")
    if KCL.installed:
        print("\n  `kcl {max_leases}` in the place of `consumer {max_leases}` is the real KCL.")
    print("\n  docs/guides/leases.md goes on from here.")


if __name__ == "__main__":
    raise SystemExit(main())
