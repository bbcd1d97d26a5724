"""Three ways in, each told apart by what is set; what is missing or unsafe is named with its fix."""

import base64
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.adapters.kubernetes import ClusterAccess, connect
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.kubeconfig import sign_in_by_kubeconfig
from holdfast.adapters.kubernetes.auth.sign_in import TOKEN_KEPT_S, by_fetched_token, choose
from holdfast.adapters.kubernetes.auth.trust import authority, checked_url, pem
from holdfast.kernel import Invalid
from tests.adapters.kubernetes.kubernetes_stub import TOKEN

LOCAL = "http://127.0.0.1:8001"
FETCHED = ClusterAccess(api_url=LOCAL, token_param="/k3s/apiToken", fetch_token=lambda: TOKEN)


def kubeconfig(folder: Path, name: str = "config", **changed: Any) -> str:
    """A file with one of everything; `cluster` and `user` are replaced as told."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": changed.get("cluster", {"server": LOCAL})}],
        "users": [{"name": "u", "user": changed.get("user", {"token": TOKEN})}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "x"}},
            {"name": "lost", "context": {"cluster": "gone", "user": "u"}},
        ],
        **changed.get("top", {}),
    }
    path = folder / name
    path.write_text(yaml.safe_dump(content))
    return str(path)


def test_with_nothing_set_all_three_ways_are_named() -> None:
    with pytest.raises(Invalid, match=r"k8s_api_url .*K8S_CA_FILE.*KUBECONFIG.*service account"):
        connect(ClusterAccess(), environ={})


def test_an_address_without_an_authority_is_refused_and_all_that_is_missing_named_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        connect(ClusterAccess(api_url="https://10.0.0.1:6443"), environ={})
    for missing in ("k8s_api_token_param is empty", "k8s_ca_file and k8s_ca", "fetch_token is not given"):
        assert missing in str(refused.value)
    assert "k8s_api_url is empty" not in str(refused.value)


def test_half_of_the_first_way_does_not_fall_through_to_the_second(tmp_path: Path) -> None:
    half = ClusterAccess(
        token_param="/k3s/apiToken", fetch_token=lambda: TOKEN, kubeconfig=kubeconfig(tmp_path)
    )
    with pytest.raises(Invalid, match="k8s_api_url is empty"):
        connect(half, environ={})


@pytest.mark.parametrize(
    ("given", "environ", "how"),
    [
        ("address", {"KUBECONFIG": "{file}", "KUBERNETES_SERVICE_HOST": "127.0.0.1"}, "the token in /k3s"),
        ("kubeconfig", {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}, "context here of"),
        ("nothing", {"KUBECONFIG": "{file}", "KUBERNETES_SERVICE_HOST": "127.0.0.1"}, "context here of"),
    ],
)
def test_the_most_explicit_way_wins(tmp_path: Path, given: str, environ: dict[str, str], how: str) -> None:
    file = kubeconfig(tmp_path)
    ways = {"address": FETCHED, "kubeconfig": ClusterAccess(kubeconfig=file), "nothing": ClusterAccess()}
    found = {name: value.format(file=file) for name, value in environ.items()}
    assert choose(ways[given], found)().how.startswith(how)


def test_no_token_is_fetched_before_it_is_needed_and_then_only_as_it_ages() -> None:
    now_s, fetched = [1000.0], []

    def fetch() -> str:
        fetched.append(now_s[0])
        return f" {TOKEN}-{len(fetched)}\n"

    access = by_fetched_token(replace(FETCHED, fetch_token=fetch), now_s=lambda: now_s[0])()
    assert fetched == []
    assert (access.token(), access.token()) == (f"{TOKEN}-1", f"{TOKEN}-1")
    now_s[0] += TOKEN_KEPT_S - 1
    assert access.token() == f"{TOKEN}-1"
    now_s[0] += 1
    assert access.token() == f"{TOKEN}-2"


def test_signing_in_again_fetches_at_once() -> None:
    values = iter(["old", "new"])
    sign_in = by_fetched_token(replace(FETCHED, fetch_token=lambda: next(values)))
    assert (sign_in().token(), sign_in().token()) == ("old", "new")


def test_an_empty_parameter_is_told_by_its_setting() -> None:
    with pytest.raises(Invalid, match="k8s_api_token_param holds an empty value"):
        by_fetched_token(replace(FETCHED, fetch_token=lambda: " \n"))().token()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "10.0.0.1:6443",
        "ftp://x",
        "https://",
        "https://h:x",
        "https://[::1",
        "https://me:pw@h",
        "https://h?a=b",
    ],
)
def test_what_is_no_address_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(Invalid, match="write https://host:6443") as refused:
        checked_url("k8s_api_url", url)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize("host", ["10.0.0.1", "k8s.example", "localhost.example"])
def test_plain_http_stays_on_this_machine(host: str) -> None:
    with pytest.raises(Invalid, match="would send the token unprotected"):
        checked_url("k8s_api_url", f"http://{host}:8001")
    for near in ("http://127.0.0.1:8001", "http://localhost:8001/", "http://[::1]:8001", f"https://{host}"):
        assert checked_url("k8s_api_url", near) == near.rstrip("/")


PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    "written",
    [PEM, f"  {PEM}\n", PEM.replace("\n", "\\n"), base64.b64encode(PEM.encode()).decode()],
    ids=["pem", "blanks", "one line", "base64"],
)
def test_an_authority_is_understood_however_it_was_carried(written: str) -> None:
    assert pem("k8s_ca", written) == PEM


@pytest.mark.parametrize("text", ["hello", PEM, base64.b64encode(b"hello").decode()])
def test_what_is_no_authority_is_refused_by_its_setting(text: str) -> None:
    with pytest.raises(Invalid, match="k8s_ca is"):
        authority("k8s_ca", text=text)


def test_an_empty_file_is_no_trust_in_every_server(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").touch()
    with pytest.raises(Invalid, match="k8s_ca_file is"):
        authority("k8s_ca_file", file=str(tmp_path / "ca.crt"))
    with pytest.raises(Invalid, match="No such file"):
        authority("k8s_ca_file", file=str(tmp_path / "none.crt"))


def test_names_and_chains_are_checked_always() -> None:
    trust = authority("the system's")
    assert trust.check_hostname
    assert trust.verify_mode is ssl.CERT_REQUIRED


def of(folder: Path, context: str = "", **changed: Any) -> Access:
    return sign_in_by_kubeconfig(kubeconfig(folder, **changed), context)


def test_a_kubeconfig_gives_address_and_token(tmp_path: Path) -> None:
    access = of(tmp_path, cluster={"server": "https://k8s.example:6443", "tls-server-name": "kube"})
    assert (access.url, access.tls_name, access.token()) == ("https://k8s.example:6443", "kube", TOKEN)
    assert TOKEN not in repr(access)


def test_a_token_file_is_found_beside_the_kubeconfig_and_read_again_as_it_rotates(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    access = of(tmp_path, user={"tokenFile": "token"})
    assert access.token() == "first"
    (tmp_path / "token").write_text("second\n")
    assert access.token() == "second"
    (tmp_path / "token").write_text("\n")
    with pytest.raises(Invalid, match="is empty"):
        access.token()


def test_several_files_are_read_as_one_and_the_first_wins(tmp_path: Path) -> None:
    top = {"contexts": [{"name": "here", "context": {"cluster": "c", "user": "other"}}], "clusters": None}
    user = {"users": [{"name": "other", "user": {"token": "of-the-first"}}]}
    first = kubeconfig(tmp_path, "first", top={**top, **user})
    second = kubeconfig(tmp_path, "second", top={"current-context": "lost"})
    access = sign_in_by_kubeconfig(f"{first}:{tmp_path / 'absent'}:{second}")
    assert (access.url, access.token()) == (LOCAL, "of-the-first")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"cluster": {"server": LOCAL, "insecure-skip-tls-verify": True}},
            "insecure-skip-tls-verify .*authority",
        ),
        ({"cluster": {"server": LOCAL, "proxy-url": "http://p"}}, "proxy-url .*directly"),
        ({"user": {"exec": {"command": "aws"}}}, "user 'u': the command 'aws' of its exec has apiVersion ''"),
        ({"user": {"exec": {"command": "aws"}, "token": TOKEN}}, "exec beside a token .*leave one"),
        ({"user": {"auth-provider": {"name": "oidc"}}}, "auth-provider .*token"),
        ({"user": {"username": "me", "password": TOKEN}}, "username .*token"),
        ({"user": {"token": TOKEN, "as": "root"}}, "as is not supported"),
        ({"user": {"client-certificate-data": base64.b64encode(PEM.encode()).decode()}}, "belong together"),
        ({"user": {"client-certificate": "gone.crt", "client-key": "gone.key"}}, r"gone\.crt cannot be read"),
        ({"user": {"client-certificate-data": PEM, "client-key-data": PEM}}, "not usable together"),
        ({"user": {"tokenFile": "gone"}}, "gone cannot be read"),
        ({"user": {"token": 12}}, r"Expected `str`, got `int` - at `\$.users"),
        ({"cluster": {"server": ""}}, "server='' is no address"),
        ({"cluster": {"server": "https://h", "certificate-authority": "gone"}}, "gone cannot be read"),
        ({"top": {"current-context": ""}}, "kubectl config use-context"),
        ({"top": {"current-context": "nosuch"}}, "no context 'nosuch'; it has here, lost"),
        ({"top": {"current-context": "lost"}}, "no cluster 'gone'; it has c"),
    ],
)
def test_what_a_kubeconfig_lacks_or_we_do_not_do_is_named(
    tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    with pytest.raises(Invalid, match=says) as refused:
        of(tmp_path, **changed)
    assert TOKEN not in str(refused.value)


def test_a_context_can_be_named(tmp_path: Path) -> None:
    assert of(tmp_path, "here").how.startswith("context here of ")
    with pytest.raises(Invalid, match="no context 'there'"):
        of(tmp_path, "there")


@pytest.mark.parametrize("text", [f"users: [{{token: {TOKEN}", f"token: {TOKEN}: x", "- 1", f"a: '{TOKEN}"])
def test_a_file_that_is_no_kubeconfig_is_told_without_quoting_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(Invalid, match="config") as refused:
        sign_in_by_kubeconfig(str(tmp_path / "config"))
    assert TOKEN not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_kubeconfig_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"absent' does not exist"):
        connect(ClusterAccess(kubeconfig=str(tmp_path / "absent")), environ={})


def test_a_pod_without_its_files_is_told_which(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="token cannot be read: No such file"):
        connect(ClusterAccess(service_account=tmp_path), environ={"KUBERNETES_SERVICE_HOST": "::1"})
