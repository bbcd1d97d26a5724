"""What an instance started does not outlive the instance, nor the program that boots it."""

from functools import partial

from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.traces import processes_naming, wait_until
from tests.real.userdata import SERVER, TOKEN
from tools.parts.boot.cluster import Join
from tools.parts.catalog.ec2 import PART

MARK = "HOLDFAST_BOOT_MARK"


def daemon(mark: str) -> str:
    """User data that leaves a process of a session of its own behind."""
    return f"#!/bin/sh\nsetsid env {MARK}={mark} sleep 600 &\n"


def runs(mark: str) -> bool:
    return bool(processes_naming(mark))


def test_processes_of_an_instance_end_with_it_and_with_the_program_that_boots_it() -> None:
    started = present(PART).start(rates=False)
    try:
        site = Site(started, Join(SERVER, TOKEN))
        marks = {site.launch(daemon(name)): f"{MARK}={name}" for name in ("terminated", "killed")}
        for mark in marks.values():
            wait_until(partial(runs, mark), f"{mark} runs")
        terminated, killed = marks
        site.account.terminate(terminated)
        wait_until(lambda: not runs(marks[terminated]), "its processes ended with the instance")
        assert runs(marks[killed])
        started.running.kill("boot")
        wait_until(lambda: not runs(marks[killed]), "they died with the program")
    finally:
        started.stop()
