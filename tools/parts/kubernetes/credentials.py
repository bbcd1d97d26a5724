"""The users of a cluster: static tokens, the key that signs service accounts, kubeconfigs."""

import base64
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True)
class User:
    """A user with a token.  In no group, it may do what role bindings grant it and no more."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16))


def admin() -> User:
    """A new administrator: RBAC lets this group do everything."""
    return User("admin", ("system:masters",))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(text)


def write_tokens(path: Path, users: Iterable[User]) -> None:
    """The file for `--token-auth-file`: token, name, id, and the groups in quotation marks."""
    lines = [f'{user.token},{user.name},{user.name},"{",".join(user.groups)}"\n' for user in users]
    write_private(path, "".join(lines))


def write_signing_key(path: Path) -> None:
    """A new P-256 private key as PEM.

    SEC 1 lets the public half be left out, so that the standard library is enough:
    version 1, the secret number, and the name of the curve.
    """
    number = 1 + secrets.randbelow(P256_ORDER - 1)
    curve = bytes.fromhex("a00a06082a8648ce3d030107")
    inner = bytes.fromhex("0201010420") + number.to_bytes(32, "big") + curve
    body = base64.b64encode(bytes([0x30, len(inner)]) + inner).decode()
    name = "EC PRIVATE KEY"
    write_private(path, f"-----BEGIN {name}-----\n{body}\n-----END {name}-----\n")


def write_kubeconfig(path: Path, *, server: str, ca_file: Path, token: str) -> None:
    """A kubeconfig that needs no other file.  It is JSON, which every reader of YAML reads."""
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    name = "holdfast"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    write_private(path, json.dumps(content, indent=2))
