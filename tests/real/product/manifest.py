"""The shipped RBAC manifest in a cluster, and what its service account may then do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tools.parts.cluster import Cluster

PATH = Path(__file__).parents[3] / "deploy" / "kubernetes" / "rbac.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/holdfast/serviceaccounts",
    "Secret": "/api/v1/namespaces/holdfast/secrets",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
}


@contextmanager
def applied(cluster: Cluster) -> Iterator[list[Any]]:
    """Its documents, applied; taken out again at the end."""
    documents = list(yaml.safe_load_all(PATH.read_text()))
    for document in documents:
        cluster.request("POST", PLACES[document["kind"]], document).ok()
    yield documents
    for document in reversed(documents):
        cluster.request("DELETE", f"{PLACES[document['kind']]}/{document['metadata']['name']}")


def token_of_the_account(cluster: Cluster) -> str:
    return cluster.service_account_token("holdfast", "holdfast-autoscaler")
