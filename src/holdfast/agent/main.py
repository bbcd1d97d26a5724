"""`holdfast failover agent`: from its command line to its loop."""

import contextlib
import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from holdfast.agent import files, watchdog
from holdfast.agent.calls import Calls
from holdfast.agent.client import Servers, tls_of
from holdfast.agent.endpoint import Endpoint
from holdfast.agent.files import Identity
from holdfast.agent.guard import Guard
from holdfast.agent.hooks import Hooks, end_marked, mark_of
from holdfast.agent.imds import Absent, Imds
from holdfast.agent.loop import Loop, sense
from holdfast.agent.options import ID, Options, Problem, check, folders, parser, say
from holdfast.agent.page import Page, boottime_s
from holdfast.failover.agent import words
from holdfast.failover.agent.resume import resumed
from holdfast.failover.agent.state import State, Timing, booted

RELEASE_S = 120.0
STALE_S = 60.0
STARTING_S = 1.0


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    try:
        if given.release:
            return release(folders(given)[1])
        return run(check(given))
    except Problem as problem:
        for line in str(problem).splitlines():
            sys.stderr.write(f"error: {line}\n")
        return 2


def run(options: Options) -> int:
    files.make_folder(options.state, "--state")
    files.make_folder(options.run, "--run")
    lock = files.Lock(options.run)
    try:
        if not lock.take(STARTING_S):
            raise Problem(f"--run {options.run}: another agent (process {lock.holder}) uses it")
        return _run_alone(options)
    finally:
        lock.release()


def _run_alone(options: Options) -> int:
    highest, served = files.load_epochs(options.state)
    tls = tls_of(options.servers, options.ca)
    imds = Imds(options.imds) if options.imds else None
    about = _about(options, imds)
    identity, enrolment = _identity(options, about)
    page = _page(options.run)
    state, session = _state(options, page, highest, served, about["address"])
    guard = Guard(page, options.protect, own=options.watchdog == "own")
    loop = Loop(state, page, guard, options.state, session)
    loop.serve_reads = options.serve_reads
    servers = Servers(options.servers, tls, identity.token)
    registration = _registration(options, identity, about, session, state)
    loop.calls = Calls(
        servers, identity, registration, loop.queue.put, state=options.state, enrolment=enrolment
    )
    loop.hooks = Hooks(options.hooks, page, _environment(identity, about, page), loop.queue.put)
    endpoint = Endpoint(options.listen, loop.asked) if options.listen else None
    threading.excepthook = _end_at_once
    signal.signal(signal.SIGTERM, lambda *_: setattr(loop, "ends", "SIGTERM"))
    signal.signal(signal.SIGINT, lambda *_: setattr(loop, "ends", "SIGINT"))
    signal.signal(signal.SIGUSR1, lambda *_: loop.queue.put(words.ReleaseAsked()))
    if endpoint:
        endpoint.serve()
    if imds:
        threading.Thread(target=sense, args=(imds, loop.queue.put), daemon=True, name="imds").start()
    loop.calls.start()
    try:
        loop.run()
    finally:
        guard.end()
    left = "what it protects stays under the watchdog" if page.armed_s else "nothing is served"
    say(f"ends ({loop.ends}): {left}")
    return 0


def _end_at_once(broken: threading.ExceptHookArgs) -> None:
    """A thread has died of what it does not know: the agent is started again rather than half alive."""
    sys.excepthook(broken.exc_type, broken.exc_value or broken.exc_type(), broken.exc_traceback)
    os._exit(70)


def release(run_folder: Path) -> int:
    """Ask the running agent to hand over, and wait until it has ended."""
    if not (run_folder / files.LOCK).exists():
        raise Problem(
            f"--run {run_folder}: no agent has run there: name the directory of the agent to release"
        )
    lock = files.Lock(run_folder)
    if lock.take():
        say("no agent runs there: nothing to hand over")
        return 0
    holder = lock.holder
    if holder <= 1:
        raise Problem(
            f"--run {run_folder}: the agent could not write down its number, perhaps for want of disk: "
            "send it SIGUSR1 by hand"
        )
    os.kill(holder, signal.SIGUSR1)
    until_s = boottime_s() + RELEASE_S
    while not lock.take():
        if boottime_s() > until_s:
            raise Problem(
                f"the agent (process {holder}) has not handed over within {RELEASE_S:g} s: see its log"
            )
        time.sleep(0.1)
    return 0


def _page(folder: Path) -> Page:
    path = folder / files.PAGE
    try:
        return Page(path)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}: --run needs 16 KB that can be written") from None


def _about(options: Options, imds: Imds | None) -> dict[str, str]:
    """What this instance is, by its options and by the metadata service."""
    found: dict[str, str] = {}
    if imds is not None:
        try:
            found = imds.identity()
        except Absent as absent:
            say(f"{absent}: going on without it; `--imds off` if there is none here")
    given = {
        "instance_id": options.instance_id,
        "instance_type": options.instance_type,
        "region": options.region,
        "az": options.az,
        "address": options.address,
    }
    return {name: value or found.get(name, "") for name, value in given.items()}


def _identity(options: Options, about: dict[str, str]) -> tuple[Identity, str]:
    """Who this agent is, and its enrolment, if it has one that may still be needed."""
    known = files.load_identity(options.state)
    enrolment = _enrolment(options.enrol) if options.enrol and options.enrol.exists() else {}
    agent_id = options.agent_id or enrolment.get("agent_id", "") or (known.agent_id if known else "")
    instance_id = (
        about["instance_id"] or enrolment.get("instance_id", "") or (known.instance_id if known else "")
    )
    if known and (known.agent_id, known.instance_id) != (agent_id, instance_id):
        raise Problem(
            f"--state {options.state} belongs to {known.instance_id} of {known.agent_id}, not to "
            f"{instance_id} of {agent_id}: give each instance a directory of its own"
        )
    token = known.token if known else ""
    if not token and not enrolment.get("token"):
        where = f"--enrol {options.enrol}: there is no such file" if options.enrol else "--enrol is missing"
        raise Problem(
            f"{where}, and {options.state} holds no token: make one with `holdfast failover enrol AGENT`"
        )
    for what, value in (("--agent-id", agent_id), ("--instance", instance_id)):
        if not ID.fullmatch(value):
            raise Problem(f"{what} is missing: neither the enrolment nor the metadata service says it")
    return Identity(agent_id, instance_id, token), enrolment.get("token", "")


def _enrolment(path: Path) -> dict[str, str]:
    """The file that `holdfast failover enrol` wrote, or a bare token."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"--enrol {path}: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    if not text.startswith("{"):
        if not text or len(text.split()) > 1:
            raise Problem(
                f"--enrol {path}: it holds no enrolment: `holdfast failover enrol AGENT` writes one"
            )
        return {"token": text}
    path_is = files.load(path) or {}
    if not isinstance(path_is.get("token"), str):
        raise Problem(f"--enrol {path}: it has no token: `holdfast failover enrol AGENT` writes one")
    return {name: str(value) for name, value in path_is.items() if value is not None}


def _state(options: Options, page: Page, highest: int, served: int, address: str) -> tuple[State, str]:
    """Where the predecessor on this boot was, or fenced; and the session that goes with it."""
    timing = Timing(limits_s=options.limits_s)
    fresh = booted(highest_epoch=highest, served_epoch=served, address=address, timing=timing)
    _end_orphan(page)
    known = page.kept()
    if known is None:
        _forget_stale(options.protect)
        return fresh, uuid.uuid4().hex
    try:
        state = resumed(fresh, known, page.armed_s)
    except (KeyError, TypeError, ValueError):
        return fresh, uuid.uuid4().hex
    say(f"goes on where its predecessor was: {state.phase}, epoch {state.serving_epoch or highest}")
    return state, str(known["session"])


def _forget_stale(protect: str) -> None:
    """A pid file that an earlier boot has left names another process now, which must not be killed for it."""
    kind, _, name = protect.partition(":")
    if kind == "pidfile" and Path(name).exists():
        booted_s = time.time() - boottime_s()
        if Path(name).stat().st_mtime < booted_s - STALE_S:
            say(f"{name} is older than this boot: removed. Keep it where it does not outlive one, as in /run")
            Path(name).unlink()


def _end_orphan(page: Page) -> None:
    """A hook that a dead predecessor left running could still start a service: it is killed."""
    if page.hook_group > 1:
        mark = mark_of(page.hook_group)
        with contextlib.suppress(OSError):
            os.killpg(page.hook_group, signal.SIGKILL)
        if mark:
            end_marked(mark)
        page.hook_runs(0)


def _registration(
    options: Options, identity: Identity, about: dict[str, str], session: str, state: State
) -> dict[str, Any]:
    return {
        "agent_id": identity.agent_id,
        "instance_id": identity.instance_id,
        "session": session,
        # With the session: another process of the same boot waits for the lease of this one.
        "boot_id": f"{watchdog.boot_number():x}-{session[:8]}",
        "highest_epoch": state.highest_epoch,
        "served_epoch": state.served_epoch,
        "instance_type": about["instance_type"],
        "region": about["region"],
        "az": about["az"],
        "address": about["address"],
        "priority": options.priority,
        "never_promote": options.never_promote,
    }


def _environment(identity: Identity, about: dict[str, str], page: Page) -> dict[str, str]:
    return {
        "HOLDFAST_AGENT": identity.agent_id,
        "HOLDFAST_INSTANCE": identity.instance_id,
        "HOLDFAST_ADDRESS": about["address"],
        "HOLDFAST_PAGE": str(page.path.resolve()),
    }
