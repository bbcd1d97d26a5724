"""Which known name may have been meant by an unknown one."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

UNITS = ("SECONDS", "SECOND", "SECS", "SEC", "S")
"""Written in many ways behind a number of seconds, and at last forgotten."""
ALIKE_MIN = 0.6


def essence(name: str, prefixes: Iterable[str] = ()) -> str:
    """What is left of a name when habits of writing are taken away."""
    word = name.upper().replace("-", "_").replace(".", "_")
    for prefix in prefixes:
        word = word.removeprefix(prefix)
    first, _, last = word.rpartition("_")
    if first and last in UNITS:
        word = first
    return word.replace("_", "").removesuffix("S")


def _with_one_less(word: str) -> Iterator[str]:
    yield word
    for n in range(len(word)):
        yield word[:n] + word[n + 1 :]


@dataclass(frozen=True)
class KnownNames:
    names: Collection[str]
    prefixes: tuple[str, ...] = ()
    """Written before a name by habit, and part of none."""

    @cached_property
    def _slips(self) -> dict[str, str]:
        """Two words that become equal by leaving out a letter or none in each are one slip apart."""
        return {less: name for name in self.names for less in _with_one_less(self._essence(name))}

    def slip(self, word: str) -> str:
        """The name that this is one slip away from; empty if none is."""
        less = _with_one_less(self._essence(word))
        return next((self._slips[each] for each in less if each in self._slips), "")

    def nearest(self, word: str) -> str:
        """The name that is most like it, however far; empty if none is like it at all."""
        return self.slip(word) or self._alike(word)

    def _alike(self, word: str) -> str:
        import difflib  # for an unknown name alone: a start without errors need not load it

        by_essence = {self._essence(name): name for name in self.names}
        found = difflib.get_close_matches(self._essence(word), by_essence, 1, ALIKE_MIN)
        return by_essence[found[0]] if found else ""

    def _essence(self, name: str) -> str:
        return essence(name, self.prefixes)
