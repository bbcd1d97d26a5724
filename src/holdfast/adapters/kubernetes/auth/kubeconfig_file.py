"""The file of kubectl: clusters, users and contexts, from one path or several, as kubectl reads them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.adapters.kubernetes.auth.trust import read_text
from holdfast.kernel import Invalid


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A table in a kubeconfig: what it does not say is empty."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # tokens, arguments and environments are in some of them


class NamedExtension(Entry, frozen=True):
    name: str
    extension: Any = None


class EnvironmentVariable(Entry, frozen=True):
    name: str
    value: str = ""


class Exec(Entry, frozen=True, rename="camel"):
    """A command that prints a credential."""

    command: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[EnvironmentVariable, ...] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class Cluster(Entry, frozen=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[NamedExtension, ...] | None = None


class User(Entry, frozen=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: Exec | None = None
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


def find(kind: str, name: str, tables: list[tuple[Path, tuple[Named, ...]]]) -> tuple[Path, Named]:
    """The first that has this name, and the file that it is in."""
    for at, entries in tables:
        for entry in entries:
            if entry.name == name:
                return at, entry
    known = sorted({entry.name for _, entries in tables for entry in entries})
    raise Invalid(f"kubeconfig has no {kind} {name!r}; it has {', '.join(known) or 'none'}")


def read_files(named: str) -> Iterator[tuple[Path, Config]]:
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
