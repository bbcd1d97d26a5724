"""Labels of namespaces, which some pods choose others by."""

from collections.abc import Mapping, Sequence

from holdfast.autoscaler.ports import Kubernetes
from holdfast.autoscaler.scheduling.terms import needs_namespaces
from holdfast.cloud.kubernetes import Pod
from holdfast.kernel import Busy, Unknown


def look_at_namespaces(
    kubernetes: Kubernetes, pods: Sequence[Pod], troubles: list[str]
) -> Mapping[str, Mapping[str, str]] | None:
    """By name.  None: no pod asks, or it is not known now, which is a trouble."""
    if not needs_namespaces(pods):
        return None
    try:
        return {each.metadata.name: each.metadata.labels for each in kubernetes.namespaces()}
    except (Busy, Unknown) as error:
        troubles.append(f"the namespaces cannot be listed ({error})")
        return None
