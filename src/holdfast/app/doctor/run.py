"""All questions in their order: what nothing works without comes first."""

import os
from collections.abc import Callable, Iterator, Mapping

from holdfast.app.doctor import cluster, machines, notices, tables
from holdfast.app.doctor.check import Check, failed
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import HoldfastError

Area = Callable[[Settings, Mapping[str, str]], Iterator[Check]]


def run_checks(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """One answer after the other, as they come.  Nothing is touched.  Repeatable."""
    yield from _area("record", tables.sqlite if settings.database else tables.dynamodb, settings, environ)
    yield from _area("EC2", machines.ec2, settings, environ)
    yield from _area("Notices", notices.notices, settings, environ)
    yield from _area("SSM", cluster.ssm, settings, environ)
    yield from _area("Kubernetes", cluster.kubernetes, _located(settings, environ), environ)


def _area(name: str, ask: Area, settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """A trouble that hides the rest of an area does not hide the others."""
    try:
        yield from ask(settings, environ)
    except HoldfastError as error:
        yield failed(name, "ask", error)


def _located(settings: Settings, environ: Mapping[str, str]) -> Settings:
    from holdfast.app.autoscaler.wiring import locate

    try:
        return locate(settings, environ)[0]
    except HoldfastError:
        return settings  # what is open stays open: EC2's own checks have said why
