"""The objects of one kind as they are now, by name: what was listed, with every change since."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from holdfast.adapters.kubernetes.watch.frames import Bookmark, Changed
from holdfast.cloud.kubernetes import Meta


class Named(Protocol):
    @property
    def metadata(self) -> Meta: ...


Thing = TypeVar("Thing", bound=Named)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change(Generic[Thing]):
    """What one object was, and what it is."""

    before: Thing | None
    after: Thing | None


class Store(Generic[Thing]):
    """Changed in place, object by object: tens of thousands are not copied for one that changes.

    An initial list that comes piece by piece is kept apart until it is whole.
    """

    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self.resource_version = ""
        self._coming: dict[Key, Thing] | None = None

    def begin(self) -> None:
        """All of them come anew."""
        self._coming = {}

    def replace(self, things: Iterable[Thing], resource_version: str) -> None:
        """By a list that came at once."""
        self.things = {_key(thing): thing for thing in things}
        self.resource_version, self._coming = resource_version, None

    def take(self, frame: Changed[Thing] | Bookmark) -> Change[Thing] | None:
        """What has changed; None: nothing that can be seen yet."""
        if isinstance(frame, Bookmark):
            if self._coming is not None and frame.ends_initial:
                self.things, self._coming = self._coming, None
            if self._coming is None:
                self.resource_version = frame.resource_version or self.resource_version
            return None
        into = self.things if self._coming is None else self._coming
        key = _key(frame.thing)
        before = into.get(key)
        if frame.gone:
            into.pop(key, None)
        else:
            into[key] = frame.thing
        if self._coming is not None:
            return None
        self.resource_version = frame.thing.metadata.resource_version or self.resource_version
        return Change(before, None if frame.gone else frame.thing)

    @property
    def is_whole(self) -> bool:
        return self._coming is None and bool(self.resource_version)


def _key(thing: Named) -> Key:
    return thing.metadata.namespace, thing.metadata.name
