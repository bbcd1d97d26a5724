"""A cluster that is watched, for a loop: its picture, and what wakes the loop."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.clock import mono_s
from holdfast.adapters.kubernetes.watch.watches import PicturedApi, Watches
from holdfast.adapters.logs import LOGGER
from holdfast.app.autoscaler.wiring import connect_kubernetes, locate
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.watch.wake import reason_to_wake

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes import KubernetesApi
    from holdfast.adapters.kubernetes.client import Client

CLIENT_KEPT_S: Final = 30.0

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


class SharedClient:
    """One for all threads.  A thread that asks again has had no luck with it, so an old one is made anew."""

    def __init__(self, make: "Callable[[], Client]") -> None:
        self._make, self._turn = make, threading.Lock()
        self._made: tuple[Client, float] | None = None

    def __call__(self) -> "Client":
        with self._turn:
            if self._made is None or mono_s() - self._made[1] > CLIENT_KEPT_S:
                self._made = self._make(), mono_s()
            return self._made[0]


@contextmanager
def watching(
    settings: Settings, wake: Callable[[], None], environ: Mapping[str, str] = os.environ
) -> Iterator[Watches]:
    """While inside.  Threads are left behind at the end: what they wait for keeps no process alive."""

    def connect() -> "Client":
        is_open = bool(settings.k8s_api_token_param) and not settings.k8s_api_url
        located = locate(settings, environ)[0] if is_open else settings
        return connect_kubernetes(located, environ).client

    watches = Watches(waking(wake), lambda told: log.warning("%s", told))
    watches.start(SharedClient(connect))
    try:
        yield watches
    finally:
        watches.stop.set()
