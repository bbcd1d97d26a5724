"""One question, and its answer."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.kernel import Busy, HoldfastError


@dataclass(frozen=True, slots=True)
class Check:
    area: str
    what: str
    ok: bool | None
    """None: it could not be tried, or is worth knowing and nothing more."""
    says: str = ""
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def tried(area: str, what: str, ask: Callable[[], str], fix: str = "") -> Check:
    """Fine if asking raises nothing; the message of an error names its own fix."""
    try:
        return Check(area, what, True, ask())
    except HoldfastError as error:
        return failed(area, what, error, fix)


def allowed(area: str, what: str, ask: Callable[[], None]) -> Check:
    """Allowed if asking raises nothing."""

    def asked() -> str:
        ask()
        return "allowed"

    return tried(area, what, asked)


def failed(area: str, what: str, error: HoldfastError, fix: str = "") -> Check:
    """What went wrong, and what to do: the error's own words, or else those given."""
    said, own = getattr(error, "message", ""), getattr(error, "fix", "")
    if said and own:
        return Check(area, what, False, said, own)
    if isinstance(error, Busy):
        fix = fix or "try again; if it stays so, check the network, the region and the address"
    return Check(area, what, False, str(error), fix)
