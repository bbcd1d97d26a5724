"""What is stopped at the end of a `with`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Stopping(ABC):
    @abstractmethod
    def stop(self) -> None:
        """A second call changes nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
