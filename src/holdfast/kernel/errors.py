"""Errors, sorted by what we now know about the world.

    HoldfastError
    ├── Refused       it certainly did not happen
    │   ├── Conflict  … because another process was faster: read again, decide again
    │   └── Busy      … and no other was faster: throttled or colliding, wait a little
    ├── Unknown       the request left, the answer did not arrive: only reading can tell
    ├── Corrupt       what is stored makes no sense: touch nothing, tell a person
    └── Invalid       what was asked makes no sense: name the field, the value and the fix

Conflict, Busy and Unknown are also *outcomes*: a workflow is told of them as values.
Two that say the same are therefore equal.
"""


class HoldfastError(Exception):
    """Base of every error raised on purpose."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, HoldfastError) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class Refused(HoldfastError):
    """It certainly did not happen."""


class Conflict(Refused):
    """Not done: another process was faster.  Read again and decide again."""


class Busy(Refused):
    """Not done, and no other was faster: throttled or colliding.  Wait a little."""


class Unknown(HoldfastError):
    """The request left, the answer did not arrive.  Never retry blindly: read first."""


class Corrupt(HoldfastError):
    """What is stored makes no sense.  Nothing was overwritten."""

    def __init__(self, *, table: str, key: str = "", attribute: str = "", problem: str) -> None:
        """Without key and attribute it concerns the whole table, or the whole file."""
        within = [f"{name} {value!r}" for name, value in (("key", key), ("attribute", attribute)) if value]
        super().__init__(f"{', '.join([table, *within])}: {problem}")


class Invalid(HoldfastError):
    """What was asked makes no sense; the message names the field, the value and the fix."""
