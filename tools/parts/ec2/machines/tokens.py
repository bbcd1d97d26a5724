"""Which launch a client token stands for.

Rule 1: a token names one launch: a repeat with the same parameters is that launch again.
Rule 2: only a success is remembered.  A refused launch leaves its token free, so a late
        first try with an old token still launches.
Rule 3: a request that names a zone (or a subnet) uses the token in that zone only; the
        same token in another zone launches again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.parts.ec2.api.errors import AwsError

NOT_COMPARED = ("ClientToken", "DryRun", "Action", "Version")


@dataclass(frozen=True)
class Launch:
    """What a token brought about."""

    fingerprint: str
    instances: tuple[str, ...]
    body: bytes


@dataclass
class Tokens:
    _launches: dict[tuple[str, str, str | None], Launch] = field(default_factory=dict)

    def find(self, region: str, token: str, zone: str | None, fingerprint: str) -> Launch | None:
        """The launch that this request repeats, if it repeats one."""
        known = self._launches.get((region, token, zone)) or self._launches.get((region, token, None))
        if known and known.fingerprint != fingerprint:
            raise AwsError(
                "IdempotentParameterMismatch",
                "Arguments on this idempotent request are inconsistent with arguments used in "
                "previous request(s).",
            )
        return known

    def remember(self, region: str, token: str, zone: str | None, launch: Launch) -> None:
        self._launches[region, token, zone] = launch


def fingerprint(form: Mapping[str, str]) -> str:
    compared = sorted((key, value) for key, value in form.items() if key not in NOT_COMPARED)
    return hashlib.sha256(json.dumps(compared).encode()).hexdigest()


def gone() -> AwsError:
    return AwsError(
        "IdempotentInstanceTerminated",
        "The client token you have provided is associated with a terminated instance. "
        "Please use a different client token.",
    )
