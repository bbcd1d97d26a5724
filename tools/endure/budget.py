"""Whether a scale-down keeps the disruption budget: judged at every look, where it can be judged at all."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class BudgetWatch:
    seen: int = 0
    """How often the budget was looked at while it had to be kept."""
    _excused: bool = True

    def is_broken(self, kept: Callable[[], bool | None], *, counts: bool) -> bool:
        """Look, and judge.  `kept` says None while that cannot be known.

        Where it does not `count`, others may break it: a change of the load, or a cloud that
        takes machines back.  From then on it counts again as soon as it is whole again.
        """
        if not counts:
            self._excused = True
            return False
        found = kept()
        if found is None:
            return False
        self._excused = self._excused and not found
        self.seen += not self._excused
        return not found and not self._excused
