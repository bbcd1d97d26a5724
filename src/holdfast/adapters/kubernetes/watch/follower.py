"""One kind of object, followed by one thread: asks, takes what comes, and asks again."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.connection import Stream
from holdfast.adapters.kubernetes.errors import Throttled, translate_answer
from holdfast.adapters.kubernetes.lists import Page, listed_at
from holdfast.adapters.kubernetes.watch.course import RELIST_S, Course, Pace
from holdfast.adapters.kubernetes.watch.current import Fed
from holdfast.adapters.kubernetes.watch.frames import Bookmark, Changed, Event, Failed, decode, lines
from holdfast.adapters.kubernetes.watch.kind import Kind
from holdfast.adapters.kubernetes.watch.store import Change, Named, Store
from holdfast.adapters.logs import LOGGER
from holdfast.kernel import Busy, HoldfastError, Invalid

LOG = logging.getLogger(LOGGER)
Thing = TypeVar("Thing", bound=Named)

REFUSED_PAUSE_S = 8.0
"""After what an operator must mend: then all is followed again within ten seconds."""
TOLD_AFTER = 3
"""So many failures in a row are no moment's trouble."""
CONNECT_AGAIN = 5
"""After so many failures in a row the address or the way to sign in may have changed."""


class Follower(Generic[Thing]):
    """`changed` is called for every change, and with None when all was listed anew; from this thread."""

    def __init__(
        self,
        kind: Kind[Thing],
        changed: Callable[[Change[Thing] | None], None],
        told: Callable[[str], None],
        pace: Pace,
    ) -> None:
        self.kind, self._changed, self._told, self._pace = kind, changed, told, pace
        self._pages = msgspec.json.Decoder(Page[kind.of])  # type: ignore[name-defined]
        self._events = msgspec.json.Decoder(Event[kind.of])  # type: ignore[name-defined]
        self._store: Store[Thing] = Store()
        self._lock = threading.Lock()
        self._fed = Fed(self.kind.what)
        self._course = Course()
        self._listed_s = self._asked_s = 0.0
        self.trouble = ""
        """Why they have not been followed for a while; empty: they are, or it has just begun."""
        self._anew = threading.Event()
        self.listings = 0
        """How often all was listed."""

    @property
    def fed(self) -> Fed:
        return Fed(self.kind.what) if self._anew.is_set() else self._fed

    def things(self) -> Sequence[Thing]:
        with self._lock:
            return list(self._store.things.values())

    def begin_anew(self) -> None:
        """What is known is of no use any more: doubted at once.  When the watch ends, the server is looked up
        anew, and all is listed."""
        self._anew.set()

    def run(self, connect: Callable[[], Client], stop: threading.Event) -> None:
        """Until `stop` is set.  A way to the server that fails again and again is looked for anew."""
        client: Client | None = None
        while not stop.is_set():
            try:
                client = client or connect()
                pause_s = self.ask(client)
            except HoldfastError as error:
                pause_s = self._failed(error)
            except Exception:
                LOG.exception("a defect: %s are listed at every turn meanwhile", self.kind.what)
                self.begin_anew()
                pause_s = REFUSED_PAUSE_S
            if self._course.failures >= CONNECT_AGAIN or self._anew.is_set():
                client = None
            stop.wait(pause_s)

    def ask(self, client: Client) -> float:
        """One question, and all that it brings.  How long to rest before the next one."""
        if self._anew.is_set() or time.monotonic() > self._listed_s + RELIST_S:
            self._course = Course(streams=self._course.streams, failures=self._course.failures)
        if self._course.begins:
            self._doubt()
            self._anew.clear()
        self._asked_s = time.monotonic()
        try:
            if self._course.lists:
                return self._list_all(client)
            asked = self._course.query(self._pace.watch_s)
            stream = client.stream(
                self.kind.watch_call, self.kind.path, asked, silence_max_s=self._pace.silence_max_s
            )
            try:
                if stream.status == 200:
                    return self._take_all(stream)
                answer = stream.whole()
            finally:
                stream.close()
        except HoldfastError as error:
            return self._failed(error)
        refusal = translate_answer(self.kind.watch_call, answer, writes=False)
        return self._failed(refusal, answer.status)

    def _list_all(self, client: Client) -> float:
        things, version = listed_at(client, self.kind.list_call, self.kind.path, self._pages)
        with self._lock:
            self._store.replace(things, version)
        self._listed()
        return 0.0

    def _take_all(self, stream: Stream) -> float:
        """Until the server ends it in time.  Then nothing has been missed: it sends all before it ends."""
        begins, opened_s = self._course.begins, self._asked_s
        if begins:
            with self._lock:
                self._store.begin()
        else:
            self._hear(in_step=self._fed.in_step)
        for line in lines(self._pieces(stream)):
            frame = decode(line, self._events)
            if isinstance(frame, Failed):
                return self._failed(Busy(f"{self.kind.watch_call}: {frame.code} {frame.message}"), frame.code)
            self._take(frame)
            if begins and self._store.is_whole:
                self._listed()
                self._hear(in_step=True)
                return 0.0
        if begins or time.monotonic() - opened_s < self._pace.ends_s:
            return self._failed(Busy(f"{self.kind.watch_call}: the server ended it early"))
        self._hear(in_step=True)
        return 0.0

    def _pieces(self, stream: Stream) -> Iterator[bytes]:
        """Each counts as of when it was waited for: a process that slept must not take it for new."""
        pieces = stream.pieces()
        while True:
            self._asked_s = time.monotonic()
            piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def _take(self, frame: Changed[Thing] | Bookmark) -> None:
        with self._lock:
            change = self._store.take(frame)
        if self._store.is_whole:
            self._course = self._course.at(self._store.resource_version)
            self._hear(in_step=self._fed.in_step or isinstance(frame, Bookmark))
        if change is not None:
            self._changed(change)

    def _listed(self) -> None:
        self._course = self._course.at(self._store.resource_version)
        self._listed_s = time.monotonic()
        self.listings += 1
        self._changed(None)

    def _hear(self, *, in_step: bool) -> None:
        self._fed = Fed(self.kind.what, in_step, self._asked_s)
        if in_step and self.trouble:
            self._told(f"{self.kind.what} are followed again")
            self.trouble = ""

    def _doubt(self) -> None:
        self._fed = Fed(self.kind.what, False, self._fed.heard_s)

    def _failed(self, why: HoldfastError, status: int = 0) -> float:
        """Doubted from here on, until the server has sent what was missed."""
        self._doubt()
        self._course = self._course.failed(status)
        if not self._course.failures:
            return 0.0  # asked in another way at once
        lasts = self._course.failures >= TOLD_AFTER or isinstance(why, Invalid)
        if lasts:
            first, self.trouble = not self.trouble, f"{self.kind.what} are not followed now: {why}"
            if first:
                self._told(f"{self.kind.what} are not followed now, and are listed at every turn: {why}")
        asked_for_s = why.retry_after_s if isinstance(why, Throttled) else 0.0
        pause_s = self._course.pause_s(random.random(), asked_for_s)
        return max(REFUSED_PAUSE_S, pause_s) if isinstance(why, Invalid) else pause_s
