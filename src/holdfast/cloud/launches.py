"""What a launch is made from, and what became of it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Launched:
    """The instances behind a token, fewer than asked for if there was no more capacity."""

    instance_ids: tuple[str, ...]


class Refusal(StrEnum):
    CAPACITY = "capacity"
    """This offering has none; another may."""
    QUOTA = "quota"
    """The account may not have more in this market."""
    EXISTED = "existed"
    """It was launched under this token and is gone again."""
    MISMATCH = "mismatch"
    """The token was used for another request."""
    REFUSED = "refused"
    """Permission, parameters: asking elsewhere would not help."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Certainly not launched."""

    kind: Refusal
    message: str


@dataclass(frozen=True, slots=True)
class Template:
    """A launch template version, and the digest of the settings that it was made from."""

    template_id: str
    version: int
    digest: str
