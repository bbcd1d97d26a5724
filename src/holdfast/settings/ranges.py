"""What a single value must be: a number within bounds, a text of some shape."""

import math
import re
from dataclasses import dataclass

DAY_S = 86_400
YEAR_S = 365 * DAY_S
MANY = 100_000


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float = math.inf
    low_itself: bool = True

    def holds(self, value: float) -> bool:
        return (self.low <= value if self.low_itself else self.low < value) and value <= self.high

    def __str__(self) -> str:
        low = f"{'at least' if self.low_itself else 'more than'} {self.low:.15g}"
        return low if self.high == math.inf else f"{low} and at most {self.high:.15g}"


@dataclass(frozen=True, slots=True)
class Shape:
    pattern: str
    """A regular expression for the whole text; of a list, for each."""
    what: str
    """In words, with an example."""

    def holds(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text) is not None

    def __str__(self) -> str:
        return self.what


SECONDS, COUNT, SOME, SHARE = Range(0, YEAR_S), Range(0, MANY), Range(1, MANY), Range(0, 1)
SOME_SECONDS, PART = Range(1, YEAR_S), Range(0, 1, low_itself=False)
