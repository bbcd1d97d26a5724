"""An inbox in memory, for the simulated world."""

from collections.abc import Sequence

from holdfast.cloud import Notice


class MemoryInbox:
    """See `holdfast.autoscaler.ports.Inbox`."""

    def __init__(self) -> None:
        self.notices: dict[str, Notice] = {}

    def put(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self.notices.setdefault(notice.key, notice)

    def waiting(self) -> Sequence[Notice]:
        return [self.notices[key] for key in sorted(self.notices)]

    def forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.notices.pop(key, None)
