"""A cluster that is watched, for a loop: its picture, and what wakes the loop."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.adapters.kubernetes.watch.watches import PicturedApi, Watches
from holdfast.adapters.logs import LOGGER
from holdfast.app.autoscaler.wiring import connect_kubernetes, locate
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.watch.wake import reason_to_wake

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes import KubernetesApi
    from holdfast.adapters.kubernetes.client import Client

log = logging.getLogger(LOGGER)


@dataclass(frozen=True)
class WatchedPicture:
    """See `holdfast.autoscaler.ports.Picture`.  What is not watched is asked of `api`."""

    watches: Watches
    api: "KubernetesApi"

    def current(self, version: int) -> PicturedApi | None:
        lists = self.watches.current(version)
        return None if lists is None else PicturedApi(self.api.client, self.watches, lists)


def waking(wake: Callable[[], None]) -> Callable[[Any, Any], None]:
    """Calls it for changes that a tick must see soon, and when a kind was listed anew."""

    def changed(before: Any, after: Any) -> None:
        why = reason_to_wake(before, after) if before or after else "a kind of objects was listed anew"
        if why:
            log.debug("woken: %s", why)
            wake()

    return changed


@contextmanager
def watching(
    settings: Settings, wake: Callable[[], None], environ: Mapping[str, str] = os.environ
) -> Iterator[Watches]:
    """While inside.  Threads are left behind at the end: what they wait for keeps no process alive."""

    def connect() -> "Client":
        return connect_kubernetes(locate(settings, environ)[0], environ).client

    watches = Watches(waking(wake), lambda told: log.warning("%s", told))
    watches.start(connect)
    try:
        yield watches
    finally:
        watches.stop.set()
