"""What a launch is made from, and what became of it."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

TOKEN_CHARS_MAX: Final = 64
"""EC2 takes no longer one."""


def launch_token(action_id: str, group: int, attempt: int) -> str:
    """The same for every repetition of one request, and for no other; it says which request it is for.

    A machine keeps the token that it was launched with, and no tag can change it.
    """
    place = f"{group}-{attempt}"
    digest = hashlib.sha256(f"{action_id}/{group}/{attempt}".encode()).hexdigest()
    return f"{place}-{digest}"[:TOKEN_CHARS_MAX]


@lru_cache(maxsize=8_192)
def is_token_of(token: str, action_id: str) -> bool:
    """Whether a machine with this token was launched by that action, whatever its tags say."""
    group, _, rest = token.partition("-")
    attempt, _, _ = rest.partition("-")
    if not (group.isdecimal() and attempt.isdecimal() and len(token) == TOKEN_CHARS_MAX):
        return False
    return token == launch_token(action_id, int(group), int(attempt))


@dataclass(frozen=True, slots=True)
class Launched:
    """The instances behind a token, fewer than asked for if there was no more capacity."""

    instance_ids: tuple[str, ...]


class Refusal(StrEnum):
    CAPACITY = "capacity"
    """This offering has none; another may."""
    QUOTA = "quota"
    """The account may not have more of this family of types in this market."""
    SUBNET = "subnet"
    """No address is free there, or it cannot be used; another subnet of the same zone may."""
    TYPE = "type"
    """This pool cannot be made of this type; another type may do."""
    EXISTED = "existed"
    """It was launched under this token and is gone again."""
    MISMATCH = "mismatch"
    """The token was used for another request."""
    REFUSED = "refused"
    """Permission, image, template: asking elsewhere would not help this pool."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Certainly not launched."""

    kind: Refusal
    message: str


class Termination(StrEnum):
    """What the cloud said to a request to end a machine."""

    ACCEPTED = "accepted"
    NOT_KNOWN = "not known"
    """A listing may lag behind: it is asked again."""
    PROTECTED = "protected"
    """Termination protection: an operator must lift it."""
    DENIED = "denied"
    """The role may end others, and not this one: its tags were changed, or a grant is missing."""


NOT_ENDED: Final = frozenset({Termination.PROTECTED, Termination.DENIED})
"""It runs on until an operator does something."""


@dataclass(frozen=True, slots=True)
class Template:
    """A launch template version, and the digest of the settings that it was made from."""

    template_id: str
    version: int
    digest: str

    @property
    def name(self) -> str:
        """As a machine says what it was made from."""
        return f"{self.template_id}:{self.version}"
