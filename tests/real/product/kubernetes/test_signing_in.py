"""Every way in, tried at a real door: with the right key, a wrong one, and one that changes."""

import base64
import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from holdfast.adapters.kubernetes import CALLS, ClusterAccess, Denied, KubernetesApi, connect
from holdfast.adapters.kubernetes.calls import EVICT_POD, LIST_PODS
from holdfast.adapters.kubernetes.permissions import can_i
from holdfast.kernel import HoldfastError, Invalid
from tests.real.corner import Corner
from tests.real.product.kubernetes.seeing import pod_of
from tests.real.traces import wait_until
from tools.parts.cluster import Cluster

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def by_address(cluster: Cluster, tokens: Iterator[str], ca: str = "") -> KubernetesApi:
    return connect(by_param(cluster, lambda: next(tokens), ca), environ={})


def by_param(cluster: Cluster, fetch_token: Callable[[], str], ca: str = "") -> ClusterAccess:
    """`ca`: the authority itself, instead of its file."""
    return ClusterAccess(
        api_url=cluster.server,
        token_param="/k3s/apiToken",
        fetch_token=fetch_token,
        ca=ca,
        ca_file="" if ca else str(cluster.ca_file),
    )


def works(api: KubernetesApi) -> bool:
    """Whether the API server knows us and lets us list nodes."""
    try:
        api.nodes()
    except Denied:
        return False
    return True


def test_a_token_kept_elsewhere_with_the_authority_from_a_file(cluster: Cluster) -> None:
    with by_address(cluster, iter([cluster.admin_token])) as api:
        assert works(api)
        assert works(api), "the token is fetched once, and there is no second"


@pytest.mark.parametrize("carried", ["pem", "one line", "base64"])
def test_the_authority_itself_is_as_good_as_its_file(cluster: Cluster, carried: str) -> None:
    text = cluster.ca_file.read_text()
    ways = {
        "pem": text,
        "one line": text.replace("\n", "\\n"),
        "base64": base64.b64encode(text.encode()).decode(),
    }
    with by_address(cluster, iter([cluster.admin_token]), ca=ways[carried]) as api:
        assert works(api)


def test_a_token_that_was_rotated_is_fetched_again_at_once(cluster: Cluster) -> None:
    with by_address(cluster, iter(["made-up", cluster.admin_token])) as api:
        assert works(api)


def test_a_token_that_is_not_accepted_is_denied_with_where_it_is_kept(cluster: Cluster) -> None:
    with by_address(cluster, iter(["made-up-1", "made-up-2"])) as api, pytest.raises(Denied) as denied:
        api.nodes()
    assert "401" in str(denied.value)
    assert "the token in /k3s/apiToken" in str(denied.value)
    assert "made-up" not in str(denied.value)


def test_a_token_that_is_revoked_in_use_is_replaced_by_the_next(corner: Corner) -> None:
    cluster = corner.cluster
    accounts = corner.path("serviceaccounts")
    named = {"metadata": {"name": "passing"}}
    cluster.request("POST", accounts, named).ok()
    tokens = [cluster.service_account_token(corner.name, "passing")]
    to = by_param(cluster, lambda: tokens[-1])
    with connect(to, environ={}) as api:
        allowed = {permission.call: permission.allowed for permission in can_i(api.client)}
        assert set(allowed.values()) == {False}, "it is known, and may do nothing"
        cluster.request("DELETE", f"{accounts}/passing").ok()
        wait_until(lambda: is_unknown(api), "the API server has forgotten the account")
        tokens.append(cluster.admin_token)
        assert works(api)


def is_unknown(api: KubernetesApi) -> bool:
    try:
        can_i(api.client, [LIST_PODS])
    except Denied as denied:
        return "401" in str(denied)
    return False


def test_the_folder_of_a_service_account_is_read_again_as_its_token_rotates(
    cluster: Cluster, tmp_path: Path
) -> None:
    at = urlsplit(cluster.server)
    environ = {"KUBERNETES_SERVICE_HOST": str(at.hostname), "KUBERNETES_SERVICE_PORT": str(at.port)}
    (tmp_path / "ca.crt").write_bytes(cluster.ca_file.read_bytes())
    (tmp_path / "token").write_text("made-up")
    with connect(ClusterAccess(service_account=tmp_path), environ=environ) as api:
        assert not works(api)
        (tmp_path / "token").write_text(cluster.admin_token)
        assert works(api)


def test_a_kubeconfig_whose_token_was_exchanged_is_read_again(cluster: Cluster, tmp_path: Path) -> None:
    file, right = tmp_path / "config", cluster.kubeconfig.read_text()
    file.write_text(right.replace(cluster.admin_token, "made-up"))
    with connect(ClusterAccess(), environ={"KUBECONFIG": str(file)}) as api:
        with pytest.raises(Denied, match=f"context holdfast of {file}"):
            api.nodes()
        file.write_text(right)
        assert works(api)


def test_the_command_of_a_kubeconfig_signs_in_and_is_run_again_when_refused(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    version = "client.authentication.k8s.io/v1"
    run = {"apiVersion": version, "command": "./get-token", "provideClusterInfo": True}
    config["users"][0]["user"] = {"exec": {**run, "interactiveMode": "Never"}}
    (tmp_path / "config").write_text(json.dumps(config))
    command, credential = tmp_path / "get-token", tmp_path / "credential"
    command.write_text(f'#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\ncat {credential}\n')
    command.chmod(0o700)

    def prints(token: str) -> None:
        printed = {"kind": "ExecCredential", "apiVersion": version, "status": {"token": token}}
        credential.write_text(json.dumps(printed))

    prints("made-up")
    with connect(ClusterAccess(kubeconfig=str(tmp_path / "config")), environ=os.environ) as api:
        assert not works(api)
        prints(cluster.admin_token)
        assert works(api)
    told = json.loads((tmp_path / "info").read_text())["spec"]["cluster"]
    assert told["server"] == cluster.server
    assert base64.b64decode(told["certificate-authority-data"]) == cluster.ca_file.read_bytes()


def test_a_server_of_another_authority_is_not_talked_to(cluster: Cluster, tmp_path: Path) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]  # so the system's are trusted
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    with connect(ClusterAccess(kubeconfig=str(file)), environ={}) as api, pytest.raises(Invalid) as refused:
        api.nodes()
    assert "cannot prove its identity" in str(refused.value)
    assert "that the CA is this cluster's" in str(refused.value)


def test_a_server_under_another_name_is_not_talked_to_unless_told(cluster: Cluster, tmp_path: Path) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    file, its = tmp_path / "config", config["clusters"][0]["cluster"]
    its["tls-server-name"] = "elsewhere.example"
    file.write_text(json.dumps(config))
    named = ClusterAccess(kubeconfig=str(file))
    with connect(named, environ={}) as api, pytest.raises(Invalid, match="Hostname"):
        api.nodes()
    its["tls-server-name"] = "kubernetes.default.svc"
    file.write_text(json.dumps(config))
    with connect(named, environ={}) as api:
        assert works(api)


@contextmanager
def asking_for_certificates(cluster: Cluster) -> Iterator[tuple[str, list[str]]]:
    """A server that wants to know its clients by certificate; it notes why it turned each away."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(cluster.ca_file, cluster.layout.serving_key)
    trust.load_verify_locations(cluster.ca_file)
    trust.verify_mode = ssl.CERT_REQUIRED
    noted: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            try:
                trust.wrap_socket(client, server_side=True).close()
            except ssl.SSLError as error:
                noted.append(error.reason)
            finally:
                client.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}", noted
        finally:
            thread.join(30)


@pytest.mark.parametrize(
    ("shown", "noted"),
    [(False, "PEER_DID_NOT_RETURN_A_CERTIFICATE"), (True, "CERTIFICATE_VERIFY_FAILED")],
    ids=["none", "its own"],
)
def test_the_certificate_of_a_kubeconfig_is_shown(
    cluster: Cluster, tmp_path: Path, shown: bool, noted: str
) -> None:
    """Only servers may use the certificate at hand, so it is turned away: after it was looked at."""
    config = json.loads(cluster.kubeconfig.read_text())
    if shown:
        (tmp_path / "client.crt").write_bytes(cluster.ca_file.read_bytes())
        key = base64.b64encode(cluster.layout.serving_key.read_bytes()).decode()
        config["users"][0]["user"] = {"client-certificate": "client.crt", "client-key-data": key}
    with asking_for_certificates(cluster) as (url, why):
        config["clusters"][0]["cluster"]["server"] = url
        (tmp_path / "config").write_text(json.dumps(config))
        with (
            connect(ClusterAccess(kubeconfig=str(tmp_path / "config")), environ={}) as api,
            pytest.raises(HoldfastError),
        ):
            api.nodes()
    assert why == [noted]


def test_a_user_that_lacks_a_right_is_told_which(corner: Corner, api: KubernetesApi) -> None:
    corner.add_node()
    corner.running_pod()
    pod = pod_of(api, corner)
    file = corner.cluster.kubeconfig_of("limited")
    with connect(ClusterAccess(kubeconfig=str(file)), environ={}) as limited:
        with pytest.raises(Denied) as denied:
            limited.evict(pod)
        with pytest.raises(
            Denied, match="grant verb `list` on `poddisruptionbudgets` in the API group `policy`"
        ):
            limited.budgets()
        answers = can_i(limited.client)
    fix = "grant verb `create` on `pods/eviction` in the core API group: see deploy/kubernetes/rbac.yaml"
    assert fix in str(denied.value)
    assert 'User "limited" cannot create resource "pods/eviction"' in str(denied.value)
    assert corner.cluster.tokens["limited"] not in str(denied.value)
    assert {(each.call, each.allowed, each.fix) for each in answers} == {(c, False, c.fix) for c in CALLS}


def test_the_doctor_sees_each_right_by_itself(corner: Corner) -> None:
    cluster, role = corner.cluster, f"{corner.name}-evicts"
    rule = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
    named = {"metadata": {"name": role}}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": corner.name}
    cluster.request("POST", f"{RBAC}/clusterroles", {**named, "rules": [rule]}).ok()
    cluster.request(
        "POST", f"{RBAC}/clusterrolebindings", {**named, "roleRef": ref, "subjects": [subject]}
    ).ok()
    with by_address(cluster, iter([cluster.service_account_token(corner.name, "default")])) as api:
        wait_until(lambda: can_i(api.client, [EVICT_POD])[0].allowed, "the binding is known")
        assert [each.call for each in can_i(api.client) if each.allowed] == [EVICT_POD]
    for kind in ("clusterrolebindings", "clusterroles"):
        cluster.request("DELETE", f"{RBAC}/{kind}/{role}").ok()
