"""Claims, volumes and storage classes, asked for where a pod has a claim."""

from collections.abc import Sequence

from holdfast.autoscaler.ports import Kubernetes
from holdfast.cloud.kubernetes import Pod
from holdfast.cloud.volumes import VolumeLists, has_claims
from holdfast.kernel import Busy, Invalid, Unknown


def look_at_volumes(kubernetes: Kubernetes, pods: Sequence[Pod], troubles: list[str]) -> VolumeLists | None:
    """None: no pod has a claim, or they are not known, and then such pods are in doubt.

    What cannot be had now is a trouble.  A grant that is missing is none, so that a deployment without it
    works as before; `doctor` names it.
    """
    if not any(pod.spec.volumes and has_claims(pod) for pod in pods):
        return None
    try:
        return kubernetes.volumes()
    except (Busy, Unknown) as error:
        troubles.append(f"the volumes cannot be listed ({error})")
    except Invalid:
        pass
    return None
