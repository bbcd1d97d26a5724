"""A kubeconfig whose user runs a command: what it is given, what it may print, and how it may fail."""

import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.adapters.kubernetes import ClusterAccess, connect
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.exec_credential import EARLY_S
from holdfast.adapters.kubernetes.auth.exec_plugin import Plugin
from holdfast.adapters.kubernetes.auth.kubeconfig import sign_in_by_kubeconfig
from holdfast.adapters.kubernetes.auth.kubeconfig_file import Cluster, Exec
from holdfast.adapters.kubernetes.auth.redact import TEXT_MAX, without_secrets
from holdfast.kernel import Busy, HoldfastError, Invalid
from tests.adapters.kubernetes.kubernetes_stub import TOKEN, Said, saying

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
HINT = "Install it from\n  the usual place."
NODES = {"kind": "NodeList", "items": []}


def credential(token: str = TOKEN, version: str = V1, **status: object) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": {"token": token, **status}})


def at(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat()


class Folder:
    """A kubeconfig, and beside it the command that its user runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "config"
        self.command = path / "get-token"

    def script(self, *lines: str) -> None:
        self.command.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        self.command.chmod(0o700)

    def prints(self, text: str) -> None:
        """Also what it was called with and how often is written down."""
        (self.path / "answer").write_text(text)
        self.script(
            f'echo x >> "{self.path}/calls"',
            f'printf "%s\\n" "$@" > "{self.path}/arguments"',
            f'env > "{self.path}/environment"',
            f'cat "{self.path}/answer"',
        )

    @property
    def calls(self) -> int:
        return len((self.path / "calls").read_text().split())

    @property
    def environment(self) -> dict[str, str]:
        lines = (self.path / "environment").read_text().splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def configure(self, server: str = "http://127.0.0.1:8001", **changed: Any) -> str:
        exec_ = {"command": "./get-token", "apiVersion": V1, "installHint": HINT, **changed.get("exec", {})}
        content = {
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": server, **changed.get("cluster", {})}}],
            "users": [{"name": "eks-user", "user": {"exec": exec_}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "eks-user"}}],
        }
        self.file.write_text(yaml.safe_dump(content))
        return str(self.file)

    def sign_in(self, environ: Mapping[str, str] = os.environ, **changed: Any) -> Access:
        return sign_in_by_kubeconfig(self.configure(**changed), environ=environ)


def plugin(folder: Folder, args: tuple[str, ...] = (), timeout_s: float = 30.0) -> Plugin:
    of = Exec(command="./get-token", args=args, api_version=V1)
    return Plugin(of, "a test", folder.path, Cluster(), "", timeout_s=timeout_s)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_the_token_that_a_command_prints_is_shown_to_the_server(folder: Folder, version: str) -> None:
    folder.prints(credential(version=version))
    with saying(Said(body=NODES)) as stub:
        named = folder.configure(stub.url, exec={"apiVersion": version})
        with connect(ClusterAccess(kubeconfig=named), environ=os.environ) as api:
            assert list(api.nodes()) == list(api.nodes()) == []
    assert stub.shown == [TOKEN, TOKEN]
    assert folder.calls == 1, "without an end, a credential is kept"
    assert "user 'eks-user', whose exec runs './get-token'" in api.client.how


def test_the_command_gets_its_arguments_and_environment_and_no_shell(folder: Folder) -> None:
    folder.prints(credential())
    odd = ["--name", "a b", "$HOME; `id`"]
    folder.sign_in(exec={"args": odd, "env": [{"name": "AWS_PROFILE", "value": "ops"}]})
    assert (folder.path / "arguments").read_text().splitlines() == odd
    assert folder.environment["AWS_PROFILE"] == "ops"
    assert folder.environment["PATH"] == os.environ["PATH"]
    assert json.loads(folder.environment["KUBERNETES_EXEC_INFO"]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


def test_a_command_that_wants_it_is_told_of_the_cluster(folder: Folder) -> None:
    folder.prints(credential())
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {"tls-server-name": "kube", "extensions": [extension]}
    folder.sign_in(exec={"provideClusterInfo": True}, cluster=cluster)
    assert json.loads(folder.environment["KUBERNETES_EXEC_INFO"])["spec"] == {
        "interactive": False,
        "cluster": {
            "server": "http://127.0.0.1:8001",
            "tls-server-name": "kube",
            "config": {"audience": "x"},
        },
    }


def test_a_bare_name_is_looked_up_in_the_path(folder: Folder) -> None:
    folder.prints(credential())
    environ = {"PATH": f"{folder.path}:{os.environ['PATH']}"}
    assert folder.sign_in(environ, exec={"command": "get-token"}).token() == TOKEN
    assert "KUBECONFIG" not in folder.environment, "the environment is the one that was given"


def test_a_credential_is_renewed_shortly_before_it_ends(folder: Folder) -> None:
    folder.prints(credential(expirationTimestamp=at(time.time() + 10 * EARLY_S)))
    with saying(Said(body=NODES)) as stub:
        with connect(ClusterAccess(kubeconfig=folder.configure(stub.url)), environ=os.environ) as api:
            api.nodes()
            assert folder.calls == 1
            folder.prints(credential("soon-over", expirationTimestamp=at(time.time() + EARLY_S / 2)))
        with connect(ClusterAccess(kubeconfig=str(folder.file)), environ=os.environ) as api:
            folder.prints(credential("next"))
            api.nodes()
    assert stub.shown == [TOKEN, "next"]


def test_a_credential_that_is_refused_is_renewed_once(folder: Folder) -> None:
    folder.prints(credential("old"))
    with saying(Said(401), Said(body=NODES)) as stub:
        with connect(ClusterAccess(kubeconfig=folder.configure(stub.url)), environ=os.environ) as api:
            folder.prints(credential("new"))
            api.nodes()
        assert stub.shown == ["old", "new"]
        assert folder.calls == 2
        stub.says = [Said(401)]
        with (
            connect(ClusterAccess(kubeconfig=str(folder.file)), environ=os.environ) as api,
            pytest.raises(HoldfastError, match=r"401 .*whose exec runs"),
        ):
            api.nodes()
        assert folder.calls == 4, "at the start, and once after the refusal"


def test_what_a_command_is_refused_for_names_user_command_and_hint(folder: Folder) -> None:
    with pytest.raises(Invalid) as refused:
        folder.sign_in()
    assert "user 'eks-user': the command './get-token' of its exec is not there" in str(refused.value)
    assert str(refused.value).endswith("(Install it from the usual place.)")

    folder.prints(credential())
    folder.command.chmod(0o600)
    with pytest.raises(Invalid, match="may not be executed"):
        folder.sign_in()

    folder.command.write_text("#!/nowhere/at/all\n")
    folder.command.chmod(0o700)
    with pytest.raises(Invalid, match="cannot be started: No such file"):
        folder.sign_in()


def test_a_command_that_fails_is_told_with_its_own_words_and_without_the_token(folder: Folder) -> None:
    (folder.path / "answer").write_text(credential())
    folder.script(f'cat "{folder.path}/answer"', f'echo "SSO has expired; had {TOKEN}" >&2', "exit 3")
    with pytest.raises(Busy) as failed:
        folder.sign_in(exec={"args": ["--secret", "swordfish"]})
    told = str(failed.value)
    assert "user 'eks-user': the command './get-token' of its exec failed with exit code 3" in told
    assert "it says: SSO has expired; had (not shown)" in told
    assert told.endswith("(Install it from the usual place.)")
    assert TOKEN not in told
    assert "swordfish" not in told
    assert failed.value.__context__ is None


def test_a_command_that_hangs_is_killed_with_all_that_it_started(folder: Folder) -> None:
    alive = folder.path / "alive"
    folder.script("echo 'open a browser' >&2", f'(sleep 1; echo x > "{alive}") &', "sleep 60")
    with pytest.raises(Busy, match=r"did not end within 0\.3 s, and was killed; it says: open a browser"):
        plugin(folder, timeout_s=0.3).credential()
    time.sleep(1)
    assert not alive.exists()


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("", "printed no ExecCredential: "),
        (f"token: {TOKEN}", "printed no ExecCredential: JSON is malformed"),
        (f'["{TOKEN}"]', "printed no ExecCredential: Expected `object`, got `array`"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"token": 7}}), "got `int`"),
        (credential(version=V1BETA1), f"printed kind 'ExecCredential' of '{V1BETA1}', and ExecCredential of"),
        (json.dumps({"kind": "Secret", "apiVersion": V1}), "printed kind 'Secret'"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": V1}), "neither a token nor a certificate"),
        (credential(""), "neither a token nor a certificate"),
        (credential(clientCertificateData="PEM"), "a certificate without its key"),
        (credential(expirationTimestamp="tomorrow"), "expirationTimestamp that is no time with a zone"),
        (credential(expirationTimestamp="2030-01-01T00:00:00"), "expirationTimestamp that is no time"),
        (credential("", clientCertificateData=TOKEN, clientKeyData=TOKEN), "not usable together"),
    ],
)
def test_what_is_no_credential_is_told_without_repeating_it(folder: Folder, printed: str, says: str) -> None:
    folder.prints(printed)
    with pytest.raises(Invalid) as refused:
        folder.sign_in()
    assert says in str(refused.value)
    assert "user 'eks-user'" in str(refused.value)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"command": ""}, "its exec names no command"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1.*aws eks update-kubeconfig"),
        ({"interactiveMode": "Always"}, "wants a terminal"),
        ({"args": ["a\0b"]}, "cannot be started: embedded null byte"),
    ],
)
def test_an_exec_that_cannot_be_run_is_refused(folder: Folder, changed: dict[str, Any], says: str) -> None:
    folder.prints(credential())
    with pytest.raises(Invalid, match=says):
        folder.sign_in(exec=changed)


def test_no_secret_is_in_what_can_be_printed(folder: Folder) -> None:
    folder.prints(credential())
    access = folder.sign_in(exec={"env": [{"name": "SECRET", "value": "swordfish"}]})
    assert TOKEN not in repr(access)
    made = plugin(folder, args=("swordfish",))
    assert "swordfish" not in repr(made)
    assert TOKEN not in repr(made.credential())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  b\n c", "a b c"),
        (f"had k8s-aws-v1.{'aHR0c' * 20}!", "had k8s-aws-v1.(not shown)!"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY----- so", "(not shown) so"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA", "(not shown)"),
        ("no host ABCDEF0123456789ABCDEF0123456789.gr7.eu-central-1.eks.amazonaws.com", None),
        ("word " * TEXT_MAX, "…" + ("word " * TEXT_MAX).strip()[-TEXT_MAX:]),
    ],
)
def test_words_of_others_are_shown_short_and_without_secrets(text: str, shown: str | None) -> None:
    assert without_secrets(text) == (text if shown is None else shown)
