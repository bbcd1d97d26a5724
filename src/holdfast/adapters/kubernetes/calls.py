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
    manifest: str = MANIFEST
    """Where a deployment grants it."""
    name: str = ""
    """Of the one object that is meant.  Empty: any."""

    def __str__(self) -> str:
        named = f"/{self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{named}" + (f".{self.group}" if self.group else "")

    @property
    def fix(self) -> str:
        where = f"the API group `{self.group}`" if self.group else "the core API group"
        which = f" called `{self.name}`" if self.name else ""
        return f"grant verb `{self.verb}` on `{self.resource}`{which} in {where}: see {self.manifest}"


GET_NAMESPACE = Call("get", "namespaces", name="kube-system")
"""Its uid is the cluster's identity."""
LIST_NAMESPACES = Call("list", "namespaces")
"""For pod affinity that chooses namespaces by their labels."""
LIST_NODES = Call("list", "nodes")
GET_NODE = Call("get", "nodes")
PATCH_NODE = Call("patch", "nodes")
DELETE_NODE = Call("delete", "nodes")
LIST_PODS = Call("list", "pods")
DELETE_POD = Call("delete", "pods")
EVICT_POD = Call("create", "pods/eviction")
CREATE_EVENT = Call("create", "events")
LIST_BUDGETS = Call("list", "poddisruptionbudgets", "policy")
LIST_CLAIMS = Call("list", "persistentvolumeclaims")
"""This and the next four: for pods with volumes, and only where there are any."""
LIST_VOLUMES = Call("list", "persistentvolumes")
LIST_CLASSES = Call("list", "storageclasses", "storage.k8s.io")
LIST_CSI_NODES = Call("list", "csinodes", "storage.k8s.io")
LIST_CSI_DRIVERS = Call("list", "csidrivers", "storage.k8s.io")
LIST_NODE_METRICS = Call("list", "nodes", "metrics.k8s.io")

WATCH_NAMESPACES = Call("watch", "namespaces")
WATCH_NODES = Call("watch", "nodes")
WATCH_PODS = Call("watch", "pods")
WATCH_BUDGETS = Call("watch", "poddisruptionbudgets", "policy")
WATCH_CLAIMS = Call("watch", "persistentvolumeclaims")
WATCH_VOLUMES = Call("watch", "persistentvolumes")
WATCH_CSI_NODES = Call("watch", "csinodes", "storage.k8s.io")

WATCHES = (
    WATCH_NAMESPACES,
    WATCH_NODES,
    WATCH_PODS,
    WATCH_BUDGETS,
    WATCH_CLAIMS,
    WATCH_VOLUMES,
    WATCH_CSI_NODES,
)
"""Only of `run --watch`, which lists at every turn where it may not watch."""

CALLS = (
    GET_NAMESPACE,
    LIST_NAMESPACES,
    LIST_NODES,
    GET_NODE,
    PATCH_NODE,
    DELETE_NODE,
    LIST_PODS,
    DELETE_POD,
    EVICT_POD,
    CREATE_EVENT,
    LIST_BUDGETS,
    LIST_CLAIMS,
    LIST_VOLUMES,
    LIST_CLASSES,
    LIST_CSI_NODES,
    LIST_CSI_DRIVERS,
    *WATCHES,
    LIST_NODE_METRICS,
)
"""All that the autoscaler ever asks for; the last one only where `metrics` is `metrics-server`."""

REVIEW_ACCESS = Call("create", "selfsubjectaccessreviews", "authorization.k8s.io")
GET_VERSION = Call("get", "/version")
"""Not a resource: every user may read it."""
