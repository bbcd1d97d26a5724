"""What a kubeconfig's command prints: an ExecCredential with a token, or a certificate and its key."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from holdfast.adapters.kubernetes.auth.redact import without_secrets

KIND = "ExecCredential"
EARLY_S = 30.0
"""So long before its end a credential is renewed: a request that is on its way must not be refused."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, or a certificate with its key, or all of them."""

    token: str = field(repr=False)
    certificate: str = field(repr=False)
    key: str = field(repr=False)
    ends_s: float | None
    """None: it holds as long as the process."""

    def expired(self, now_s: float) -> bool:
        return self.ends_s is not None and now_s >= self.ends_s - EARLY_S


class Unusable(Exception):
    """What was printed is no credential; says why, and repeats no secret."""


class Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None

    def __repr__(self) -> str:
        return "Status(…)"


class Printed(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: Status | None = None


_printed = msgspec.json.Decoder(Printed)


def credential_in(output: bytes, api_version: str) -> Credential:
    """Raises Unusable for anything but an ExecCredential of this version that can be used."""
    printed = _decoded(output)
    if isinstance(printed, str):
        raise Unusable(f"printed no {KIND}: {printed}")
    if (printed.kind, printed.api_version) != (KIND, api_version):
        found = without_secrets(f"kind {printed.kind!r} of {printed.api_version!r}")
        raise Unusable(f"printed {found}, and {KIND} of {api_version} was asked for")
    status = printed.status or Status()
    token, certificate, key = (
        (each or "").strip()
        for each in (status.token, status.client_certificate_data, status.client_key_data)
    )
    if bool(certificate) != bool(key):
        raise Unusable("printed a certificate without its key, or a key without its certificate")
    if not token and not certificate:
        raise Unusable("printed neither a token nor a certificate")
    return Credential(token, certificate, key, _ends_s(status.expiration_timestamp))


def secrets_in(output: bytes) -> tuple[str, ...]:
    """Those that a command printed, also one that failed: stderr may repeat them."""
    printed = _decoded(output)
    status = Status() if isinstance(printed, str) else printed.status or Status()
    return tuple(each for each in (status.token, status.client_key_data) if each)


def _decoded(output: bytes) -> Printed | str:
    """What it says, or why nothing can be made of it: msgspec quotes no value."""
    try:
        return _printed.decode(output)
    except msgspec.DecodeError as error:
        return str(error)
    except UnicodeDecodeError:
        return "it is not UTF-8"


def _ends_s(written: str | None) -> float | None:
    if not written:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise Unusable("printed an expirationTimestamp that is no time with a zone")
    return at.timestamp()
