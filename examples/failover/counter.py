"""A counter over HTTP, in a folder: the smallest thing worth keeping alive.

`python counter.py FOLDER PORT` serves as primary: `POST /add` counts one up and answers once it is on disk.
`python counter.py FOLDER PORT --standby-of HOST:PORT` copies that primary's count, and refuses to add.
SIGTERM makes a primary refuse too; it still tells its count, so that the standbys get the last of it.

It never serves without promotion, in two ways.  It is started by the hooks, never by itself at boot.  And
before each answer it looks at the page that agent and watchdog share: without a lease that runs at that very
moment it answers 503, even if agent, watchdog and this process were all stopped, and woken in any order.
"""

import argparse
import json
import mmap
import os
import signal
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DEADLINE, EPOCH = 2, 3  # words of the page
COPY_EVERY_S = 0.25


class Lease:
    """The lease of this machine's agent, as it stands in the page."""

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY)
        self.words = memoryview(mmap.mmap(fd, 0, prot=mmap.PROT_READ)).cast("q")
        os.close(fd)

    def runs(self, epoch: int) -> bool:
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return self.words[DEADLINE] > now and self.words[EPOCH] == epoch


class Counter:
    def __init__(self, folder: Path, lease: Lease | None, epoch: int) -> None:
        self.file, self.lease, self.epoch = folder / "count", lease, epoch
        self.lock = threading.Lock()
        self.count = int(self.file.read_text()) if self.file.exists() else 0
        self.synced = folder / "synced"
        """Touched by a standby whenever it has copied the primary: its age is the lag."""
        self.demoted = folder / "demoted"
        for mark in (self.synced, self.demoted):
            mark.unlink(missing_ok=True)

    def add(self) -> int | None:
        """The new count, once it is on disk; None: this one does not serve."""
        with self.lock:
            if self.lease is None or not self.lease.runs(self.epoch):
                return None
            self._store(self.count + 1)
            return self.count if self.lease.runs(self.epoch) else None

    def demote(self) -> None:
        """Acknowledge nothing from now on, and say so in a file."""
        with self.lock:
            self.lease = None
        self.demoted.touch()

    def follow(self, primary: str) -> None:
        """Copy the primary's count again and again."""
        while True:
            try:
                with urllib.request.urlopen(f"http://{primary}/count", timeout=1) as answer:
                    found = json.loads(answer.read())["count"]
                with self.lock:
                    if found != self.count:
                        self._store(found)
                self.synced.touch()
            except (OSError, ValueError, KeyError):
                pass  # the primary is away: the lag tells
            time.sleep(COPY_EVERY_S)

    def _store(self, count: int) -> None:
        new = self.file.with_suffix(".new")
        with new.open("w") as file:
            file.write(str(count))
            file.flush()
            os.fsync(file.fileno())
        new.rename(self.file)
        self.count = count


class Handler(BaseHTTPRequestHandler):
    counter: Counter

    def do_GET(self) -> None:
        counter = self.counter
        role = "primary" if counter.lease else "standby"
        self._answer(200, {"count": counter.count, "role": role, "epoch": counter.epoch})

    def do_POST(self) -> None:
        count = self.counter.add()
        if count is None:
            self._answer(503, {"error": "not the primary"})
        else:
            self._answer(200, {"count": count, "epoch": self.counter.epoch})

    def _answer(self, status: int, said: dict[str, object]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Every answer is told to the one who asked."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--standby-of", metavar="HOST:PORT", default="")
    given = parser.parse_args()
    lease = None
    if not given.standby_of:
        page = os.environ.get("HOLDFAST_PAGE")
        if not page:
            sys.exit("HOLDFAST_PAGE is missing: the hook on-promote starts this, under a lease")
        lease = Lease(page)
    counter = Counter(given.folder, lease, int(os.environ.get("HOLDFAST_EPOCH", "0")))
    Handler.counter = counter
    server = Server(("127.0.0.1", given.port), Handler)
    if given.standby_of:
        counter.synced.touch()
        os.utime(counter.synced, (0, 0))  # it has copied nothing yet
    signal.signal(signal.SIGTERM, lambda *_: counter.demote())
    (given.folder / "counter.pid").write_text(str(os.getpid()))
    if given.standby_of:
        threading.Thread(target=counter.follow, args=(given.standby_of,), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
