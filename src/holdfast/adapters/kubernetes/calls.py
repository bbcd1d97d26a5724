"""Every call to the Kubernetes API, as data: for messages, for the doctor, and to compare with the manifest.

Asking what one may do (`selfsubjectaccessreviews`) is not listed: Kubernetes lets every user do that.
"""

from dataclasses import dataclass

MANIFEST = "deploy/kubernetes/rbac.yaml"


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """A verb on a resource, in the words of RBAC."""

    verb: str
    resource: str
    group: str = ""
    """Empty: the core group."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")

    @property
    def fix(self) -> str:
        where = f"the API group `{self.group}`" if self.group else "the core API group"
        return f"grant verb `{self.verb}` on `{self.resource}` in {where}: see {MANIFEST}"


LIST_NODES = Call("list", "nodes")
GET_NODE = Call("get", "nodes")
PATCH_NODE = Call("patch", "nodes")
DELETE_NODE = Call("delete", "nodes")
LIST_PODS = Call("list", "pods")
DELETE_POD = Call("delete", "pods")
EVICT_POD = Call("create", "pods/eviction")
LIST_BUDGETS = Call("list", "poddisruptionbudgets", "policy")
LIST_NODE_METRICS = Call("list", "nodes", "metrics.k8s.io")

CALLS = (
    LIST_NODES,
    GET_NODE,
    PATCH_NODE,
    DELETE_NODE,
    LIST_PODS,
    DELETE_POD,
    EVICT_POD,
    LIST_BUDGETS,
    LIST_NODE_METRICS,
)
"""All that the product ever asks for; the last one only where `metrics` is `metrics-server`."""

REVIEW_ACCESS = Call("create", "selfsubjectaccessreviews", "authorization.k8s.io")
GET_VERSION = Call("get", "/version")
"""Not a resource: every user may read it."""
