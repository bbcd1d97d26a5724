"""Signing in by kubeconfig: one file or several, as kubectl reads them.

What we cannot do safely is refused by name and never passed over: a skipped line of a
kubeconfig may be the one that limits what we do.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.trust import (
    authority,
    checked_url,
    is_plain,
    pem,
    read_text,
    show_certificate,
    token_in,
)
from holdfast.kernel import Invalid


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A table in a kubeconfig: what it does not say is empty."""


class Cluster(Entry, frozen=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class User(Entry, frozen=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: Mapping[str, Any] | None = None
    auth_provider: Mapping[str, Any] | None = None
    username: str = ""
    impersonate: str = msgspec.field(default="", name="as")


class Context(Entry, frozen=True):
    cluster: str = ""
    user: str = ""


class NamedCluster(Entry, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class NamedUser(Entry, frozen=True):
    name: str
    user: User | None = None


class NamedContext(Entry, frozen=True):
    name: str
    context: Context = Context()


class Config(Entry, frozen=True):
    current_context: str = ""
    clusters: tuple[NamedCluster, ...] | None = None
    users: tuple[NamedUser, ...] | None = None
    contexts: tuple[NamedContext, ...] | None = None


Named = TypeVar("Named", NamedCluster, NamedUser, NamedContext)
Files = list[tuple[Path, Config]]


def sign_in_by_kubeconfig(named: str, context: str = "") -> Access:
    """The access that a context describes: the current one, unless another is named.

    `named` is one path or several, separated as in PATH; the first that says something wins.
    """
    files = list(_files(named))
    wanted = context or next((config.current_context for _, config in files if config.current_context), "")
    if not wanted:
        raise Invalid(f"{named}: no context is current: run `kubectl config use-context NAME`")
    _, found = _find("context", wanted, [(at, config.contexts or ()) for at, config in files])
    at, cluster = _find(
        "cluster", found.context.cluster, [(at, config.clusters or ()) for at, config in files]
    )
    its, user = _find("user", found.context.user, [(at, config.users or ()) for at, config in files])
    where = f"context {wanted} of {named}"
    return _access(where, at.parent, cluster.cluster, its.parent, user.user or User())


def _access(where: str, home: Path, cluster: Cluster, users_home: Path, user: User) -> Access:
    _refuse_what_we_cannot_do(where, cluster, user)
    url = checked_url(f"{where}: server", cluster.server)
    trust = authority(
        f"{where}: certificate-authority",
        file=_beside(home, cluster.certificate_authority) if not cluster.certificate_authority_data else "",
        text=cluster.certificate_authority_data,
    )
    certificate = _certificate(where, users_home, user)
    if certificate is not None:
        show_certificate(f"{where}: client-certificate", trust, *certificate)
    token_file = Path(_beside(users_home, user.token_file))
    if user.token_file:
        token_in(token_file)  # a mistake is told now, not at the first request
    return Access(
        url,
        where,
        None if is_plain(url) else trust,
        (lambda: token_in(token_file)) if user.token_file else lambda: user.token.strip(),
        cluster.tls_server_name,
    )


def _certificate(where: str, home: Path, user: User) -> tuple[str, str] | None:
    """Our certificate and its key, from the file itself or from beside it."""
    parts = []
    for name, data, file in (
        ("client-certificate", user.client_certificate_data, user.client_certificate),
        ("client-key", user.client_key_data, user.client_key),
    ):
        field = f"{where}: {name}"
        text = data or (read_text(field, Path(_beside(home, file))) if file else "")
        parts.append(pem(field, text) if text else "")
    certificate, key = parts
    if bool(certificate) != bool(key):
        raise Invalid(f"{where}: client-certificate and client-key belong together: one of them is missing")
    return (certificate, key) if certificate else None


def _refuse_what_we_cannot_do(where: str, cluster: Cluster, user: User) -> None:
    refused = (
        (
            cluster.insecure_skip_tls_verify,
            "insecure-skip-tls-verify",
            "name the cluster's certificate-authority",
        ),
        (cluster.proxy_url, "proxy-url", "let the API server be reached directly"),
        (
            user.exec is not None,
            "exec",
            "plugins are not run: give the user a service account's token, or run `kubectl proxy` and name"
            " http://127.0.0.1:8001 as server",
        ),
        (user.auth_provider is not None, "auth-provider", "give the user a service account's token"),
        (user.username, "username", "Kubernetes no longer knows passwords: give the user a token"),
        (user.impersonate, "as", "sign in as that user"),
    )
    told = [f"{name} is not supported ({fix})" for there, name, fix in refused if there]
    if told:
        raise Invalid(f"{where}: {'; '.join(told)}")


def _beside(home: Path, file: str) -> str:
    """Relative paths in a kubeconfig begin at its own folder."""
    return str(home / Path(file).expanduser()) if file else ""


def _find(kind: str, name: str, tables: list[tuple[Path, tuple[Named, ...]]]) -> tuple[Path, Named]:
    for at, entries in tables:
        for entry in entries:
            if entry.name == name:
                return at, entry
    known = sorted({entry.name for _, entries in tables for entry in entries})
    raise Invalid(f"kubeconfig has no {kind} {name!r}; it has {', '.join(known) or 'none'}")


def _files(named: str) -> Iterator[tuple[Path, Config]]:
    """Every file that exists.  kubectl passes over those that do not, if one does."""
    paths = [Path(each).expanduser() for each in named.split(os.pathsep) if each]
    there = [path for path in paths if path.exists()]
    if not there:
        raise Invalid(f"kubeconfig {named!r} does not exist: name the file that kubectl uses")
    for path in there:
        yield path.absolute(), _decoded(path)


def _decoded(path: Path) -> Config:
    import yaml  # loaded for a kubeconfig alone

    try:
        raw = yaml.safe_load(read_text("kubeconfig", path))
    except yaml.YAMLError as error:
        # The whole message would quote the line, and with it a token.
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" at line {line + 1}"
        raise Invalid(f"kubeconfig {path} is not YAML{where}: {getattr(error, 'problem', '')}") from None
    try:
        return msgspec.convert(raw or {}, Config)
    except msgspec.ValidationError as error:
        raise Invalid(f"kubeconfig {path}: {error}") from None
