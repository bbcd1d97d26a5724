"""The apiserver proves its identity, and lets every user do what was granted and no more."""

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.real.corner import Corner
from tests.real.presence import present
from tests.real.traces import HANG_S
from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.cluster import Cluster
from tools.parts.kubernetes.api import Api

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def _grant(corner: Corner, subject: dict[str, Any], *verbs: str) -> None:
    """A role over pods in this corner, and its binding."""
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}
    named = {"metadata": {"name": "pods"}}
    role = {**named, "rules": [rule]}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pods"}
    binding = {**named, "roleRef": ref, "subjects": [subject]}
    corner.cluster.request("POST", corner.path("roles", api=RBAC), role).ok()
    corner.cluster.request("POST", corner.path("rolebindings", api=RBAC), binding).ok()


def _wait_until_granted(corner: Corner, token: str) -> None:
    """The authorizer learns of a binding a moment after it is written."""
    limited = Api(corner.cluster.server, corner.cluster.ca_file, token)
    limited.wait_for(corner.path("pods"), lambda body: body["kind"] == "PodList", what="listing is granted")


def test_a_limited_token_is_refused_the_verb_that_it_lacks(corner: Corner) -> None:
    token = corner.cluster.tokens["limited"]
    corner.create_pod()
    assert corner.cluster.request("GET", corner.path("pods"), token=token).status == 403
    _grant(corner, {"kind": "User", "name": "limited"}, "list")
    _wait_until_granted(corner, token)
    refused = corner.cluster.request("DELETE", corner.path("pods", "web"), token=token)
    assert refused.status == 403
    assert refused.body["reason"] == "Forbidden"
    assert 'cannot delete resource "pods"' in refused.body["message"]
    assert corner.cluster.request("GET", corner.path("pods", "web")).status == 200


def test_a_service_accounts_token_may_do_what_its_role_grants(corner: Corner) -> None:
    token = corner.cluster.service_account_token(corner.name, "default")
    assert corner.cluster.request("GET", corner.path("pods"), token=token).status == 403
    _grant(corner, {"kind": "ServiceAccount", "name": "default", "namespace": corner.name}, "list")
    _wait_until_granted(corner, token)
    assert corner.cluster.request("GET", "/api/v1/nodes", token=token).status == 403


def test_a_token_that_was_never_given_out_is_not_accepted(cluster: Cluster) -> None:
    assert cluster.request("GET", "/api/v1/nodes", token="made-up").status == 401


def test_a_client_that_trusts_another_authority_does_not_talk_to_this_apiserver(cluster: Cluster) -> None:
    with pytest.raises(urllib.error.URLError) as failed:
        _version(cluster, ssl.create_default_context())
    assert isinstance(failed.value.reason, ssl.SSLCertVerificationError)


def test_the_certificate_passes_the_strict_rules_of_newer_pythons(cluster: Cluster) -> None:
    strict = ssl.create_default_context(cafile=str(cluster.ca_file))
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    assert _version(cluster, strict)["gitVersion"] == f"v{KUBERNETES.version}"


def _version(cluster: Cluster, trust: ssl.SSLContext) -> Any:
    """What the apiserver tells every client."""
    with urllib.request.urlopen(f"{cluster.server}/version", context=trust, timeout=HANG_S) as answer:
        return json.load(answer)


def test_kubectl_reads_the_kubeconfig_and_sees_the_version_that_was_built(cluster: Cluster) -> None:
    kubectl = present(KUBECTL).program
    argv = [str(kubectl), "--kubeconfig", str(cluster.kubeconfig), "version", "--output=json"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=HANG_S)
    assert json.loads(said.stdout)["serverVersion"]["gitVersion"] == f"v{KUBERNETES.version}"


def test_kubectl_as_a_limited_user_is_refused(cluster: Cluster) -> None:
    kubectl = present(KUBECTL).program
    config = cluster.kubeconfig_of("limited")
    argv = [str(kubectl), "--kubeconfig", str(config), "get", "nodes"]
    said = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S)
    assert said.returncode != 0
    assert 'User "limited" cannot list resource "nodes"' in said.stderr
