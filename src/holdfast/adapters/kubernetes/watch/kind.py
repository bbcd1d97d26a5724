"""A kind of objects that can be listed and watched."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.watch.store import Named

Thing = TypeVar("Thing", bound=Named)


@dataclass(frozen=True, slots=True)
class Kind(Generic[Thing]):
    of: type[Thing]
    list_call: Call
    watch_call: Call
    path: str

    @property
    def what(self) -> str:
        return self.list_call.resource
