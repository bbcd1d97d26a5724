"""Signing in by kubeconfig: one file or several, as kubectl reads them.

What we cannot do safely is refused by name and never passed over: a skipped line of a
kubeconfig may be the one that limits what we do.
"""

import base64
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.kubeconfig_file import Cluster, User, find, read_files
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


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a context names, and the folders at which relative paths begin."""

    where: str
    home: Path
    cluster: Cluster
    users_home: Path
    user_name: str
    user: User


def sign_in_by_kubeconfig(named: str, context: str = "", environ: Mapping[str, str] = os.environ) -> Access:
    """The access that a context describes: the current one, unless another is named.

    `named` is one path or several, separated as in PATH; the first that says something wins.
    """
    chosen = _choose(named, context)
    _refuse_what_we_cannot_do(chosen.where, chosen.cluster, chosen.user)
    url = checked_url(f"{chosen.where}: server", chosen.cluster.server)
    trust = _authority(chosen)
    if chosen.user.exec is not None:
        return _by_command(chosen, url, trust, environ)
    certificate = _certificate(chosen.where, chosen.users_home, chosen.user)
    if certificate is not None:
        show_certificate(f"{chosen.where}: client-certificate", trust, *certificate)
    token = _token(chosen)
    return Access(url, chosen.where, None if is_plain(url) else trust, token, chosen.cluster.tls_server_name)


def _choose(named: str, context: str) -> _Chosen:
    files = list(read_files(named))
    wanted = context or next((config.current_context for _, config in files if config.current_context), "")
    if not wanted:
        raise Invalid(f"{named}: no context is current: run `kubectl config use-context NAME`")
    _, found = find("context", wanted, [(at, config.contexts or ()) for at, config in files])
    at, cluster = find(
        "cluster", found.context.cluster, [(at, config.clusters or ()) for at, config in files]
    )
    its, user = find("user", found.context.user, [(at, config.users or ()) for at, config in files])
    where = f"context {wanted} of {named}"
    return _Chosen(where, at.parent, cluster.cluster, its.parent, user.name, user.user or User())


def _authority(chosen: _Chosen) -> ssl.SSLContext:
    its = chosen.cluster
    return authority(
        f"{chosen.where}: certificate-authority",
        file=_beside(chosen.home, its.certificate_authority) if not its.certificate_authority_data else "",
        text=its.certificate_authority_data,
    )


def _token(chosen: _Chosen) -> Callable[[], str]:
    if not chosen.user.token_file:
        token = chosen.user.token.strip()
        return lambda: token
    file = Path(_beside(chosen.users_home, chosen.user.token_file))
    token_in(file)  # a mistake is told now, not at the first request
    return lambda: token_in(file)


def _by_command(chosen: _Chosen, url: str, trust: ssl.SSLContext, environ: Mapping[str, str]) -> Access:
    """The command runs now; its credential is used until it ends, or is refused."""
    from holdfast.adapters.kubernetes.auth.exec_plugin import Plugin  # most users have a token

    assert chosen.user.exec is not None
    user = f"{chosen.where}: user {chosen.user_name!r}"
    plugin = Plugin(
        chosen.user.exec, user, chosen.users_home, chosen.cluster, _authority_data(chosen), environ
    )
    credential = plugin.credential()
    if credential.certificate:
        show_certificate(f"{user}: its exec", trust, credential.certificate, credential.key)
    return Access(
        url,
        f"{user}, whose exec runs {plugin.of.command!r}",
        None if is_plain(url) else trust,
        lambda: credential.token,
        chosen.cluster.tls_server_name,
        lambda: credential.expired(time.time()),
    )


def _authority_data(chosen: _Chosen) -> str:
    """As a command is told it: base64 of PEM."""
    its = chosen.cluster
    if its.certificate_authority_data or not its.certificate_authority:
        return its.certificate_authority_data
    field = f"{chosen.where}: certificate-authority"
    text = read_text(field, Path(_beside(chosen.home, its.certificate_authority)))
    return base64.b64encode(text.encode()).decode()


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
            user.exec is not None
            and (user.token or user.token_file or user.client_certificate or user.client_certificate_data),
            "exec beside a token or a certificate",
            "leave one of them out",
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
