"""What the operator says about the way to one cluster's API server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

FetchToken = Callable[[], str]
"""Reads the token where it is kept.  It is asked seldom, and at once when a token was not
accepted: so it must not keep the value itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """All may be empty: then a kubeconfig in the environment, or the pod's own account, is the way.

    Messages call these by the names of the product's settings: `api_url` is `k8s_api_url`.
    """

    api_url: str = ""
    ca_file: str = ""
    ca: str = field(default="", repr=False)
    """The certificate authority itself, as PEM."""
    token_param: str = field(default="", repr=False)
    """The name under which the token is kept: for messages."""
    fetch_token: FetchToken | None = field(default=None, repr=False)
    kubeconfig: str = ""
    """One path or several, separated as in PATH."""
    context: str = ""
    """Of the kubeconfig.  Empty: the current one."""
    service_account: Path = SERVICE_ACCOUNT
