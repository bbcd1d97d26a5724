"""Three ways in: an address with a token kept elsewhere, a kubeconfig, or the pod's own service account.

Each is a function that looks everything up anew.  It is called at the start, so that a wrong
setting is told at once, and again whenever the API server does not let us in.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.adapters.kubernetes.auth.access import Access, SignIn
from holdfast.adapters.kubernetes.auth.cluster_access import ClusterAccess, FetchToken
from holdfast.adapters.kubernetes.auth.trust import authority, checked_url, is_plain, token_in
from holdfast.kernel import Invalid

TOKEN_KEPT_S = 120.0
"""How long a fetched token is used before it is fetched again, as in the seed."""

THREE_WAYS = (
    "nothing says how to reach the Kubernetes API: set k8s_api_url with k8s_api_token_param and k8s_ca_file"
    " (K8S_API_URL, K8S_API_TOKEN_PARAM, K8S_CA_FILE), or kubeconfig (KUBECONFIG),"
    " or run as a pod with a service account"
)


def choose(to: ClusterAccess, environ: Mapping[str, str] = os.environ) -> SignIn:
    """The way that the operator and the environment describe: the most explicit one wins."""
    if to.api_url or to.token_param:
        return by_fetched_token(to)
    if named := to.kubeconfig or environ.get("KUBECONFIG", ""):
        from holdfast.adapters.kubernetes.auth.kubeconfig import sign_in_by_kubeconfig  # a Lambda has none

        return lambda: sign_in_by_kubeconfig(named, to.context, environ)
    if host := environ.get("KUBERNETES_SERVICE_HOST", ""):
        return by_service_account(host, environ.get("KUBERNETES_SERVICE_PORT", "443"), to.service_account)
    raise Invalid(THREE_WAYS)


def by_fetched_token(to: ClusterAccess, *, now_s: Callable[[], float] = time.monotonic) -> SignIn:
    """An address that was given; the token is fetched from where it is kept, and again as it ages."""
    _check_complete(to)
    fetch_token = to.fetch_token

    def sign_in() -> Access:
        assert fetch_token is not None  # _check_complete
        url = checked_url("k8s_api_url", to.api_url)
        trust = authority("k8s_ca_file" if to.ca_file else "k8s_ca", file=to.ca_file, text=to.ca)
        how = f"the token in {to.token_param}"
        return Access(url, how, None if is_plain(url) else trust, _Kept(fetch_token, now_s))

    return sign_in


def _check_complete(to: ClusterAccess) -> None:
    """Name all that is missing at once."""
    missing = []
    if not to.api_url:
        missing.append("k8s_api_url is empty: set it to the API server's address, https://…:6443")
    if not to.token_param:
        missing.append("k8s_api_token_param is empty: set it to the SSM parameter that has the token")
    if not to.ca_file and not to.ca and not is_plain(to.api_url):
        missing.append(
            "k8s_ca_file and k8s_ca are both empty, and the server must prove its identity: set one to the"
            " cluster's CA (on k3s: /var/lib/rancher/k3s/server/tls/server-ca.crt)"
        )
    if to.fetch_token is None:
        missing.append("fetch_token is not given: without it k8s_api_token_param cannot be read")
    if missing:
        raise Invalid("; ".join(missing))


def by_service_account(host: str, port: str, folder: Path) -> SignIn:
    """The way of every pod.  The kubelet rotates the token, so its file is read for each request."""
    named = f"[{host}]" if ":" in host else host

    def sign_in() -> Access:
        token_in(folder / "token")  # a mistake is told now, not at the first request
        return Access(
            checked_url("KUBERNETES_SERVICE_HOST", f"https://{named}:{port}"),
            f"the service account's token in {folder}",
            authority("the service account's CA", file=str(folder / "ca.crt")),
            lambda: token_in(folder / "token"),
        )

    return sign_in


class _Kept:
    """A token that is fetched when it is first needed, and again when it is old."""

    def __init__(self, fetch: FetchToken, now_s: Callable[[], float]) -> None:
        self._fetch, self._now_s = fetch, now_s
        self._turn = threading.Lock()
        self._token, self._fetched_s = "", 0.0

    def __call__(self) -> str:
        with self._turn:
            now_s = self._now_s()
            if not self._token or now_s - self._fetched_s >= TOKEN_KEPT_S:
                self._token, self._fetched_s = self._fetch().strip(), now_s
            if not self._token:
                raise Invalid("k8s_api_token_param holds an empty value: store the API token there")
            return self._token
