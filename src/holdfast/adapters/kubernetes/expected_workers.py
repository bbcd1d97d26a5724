"""How many workers ought to run, as their owner says: `holdfast.leases.ports.ExpectedWorkers`.

Own pod → StatefulSet, DaemonSet, or ReplicaSet → its Deployment.  The ReplicaSet itself is not asked for its
number: in the middle of a rollout two of them have a part of it each.
"""

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.errors import translate_answer
from holdfast.adapters.kubernetes.lists import decoded
from holdfast.cloud.kubernetes import Meta, Owner, Value
from holdfast.kernel import HoldfastError, Invalid
from holdfast.leases.ports import NotKnown

MANIFEST: Final = "deploy/kubernetes/leases-rbac.yaml"
GET_POD: Final = Call("get", "pods", manifest=MANIFEST)
GET_STATEFUL_SET: Final = Call("get", "statefulsets", "apps", manifest=MANIFEST)
GET_REPLICA_SET: Final = Call("get", "replicasets", "apps", manifest=MANIFEST)
GET_DEPLOYMENT: Final = Call("get", "deployments", "apps", manifest=MANIFEST)
GET_DAEMON_SET: Final = Call("get", "daemonsets", "apps", manifest=MANIFEST)
CALLS: Final = (GET_POD, GET_STATEFUL_SET, GET_REPLICA_SET, GET_DEPLOYMENT, GET_DAEMON_SET)
"""All in the namespace of the worker's own pod."""

SAY: Final = "set KDS_WORKER_COUNT to the number of workers"


class Scale(Value, frozen=True):
    replicas: int = 0
    """The API server fills it in, so an answer without it is no answer: that is not one worker."""


class Scheduled(Value, frozen=True):
    desired_number_scheduled: int = 0


class Workload(Value, frozen=True):
    """A pod, or what owns it; each has the part of these that it has."""

    metadata: Meta
    spec: Scale = Scale()
    status: Scheduled = Scheduled()


class Owned(Value, frozen=True):
    metadata: Meta


class _Gone(Exception):
    """What was asked for is not there."""


Thing = TypeVar("Thing")
_owned = msgspec.json.Decoder(Owned)
_workload = msgspec.json.Decoder(Workload)


class OwnersReplicas:
    """Asks the owner of one pod, anew each time: an owner changes its mind."""

    def __init__(self, connect: Callable[[], Client], *, namespace: str, pod: str) -> None:
        """`connect`: signs in, at the first question and again for as long as it fails."""
        self._connect, self._namespace, self._pod = connect, namespace, pod
        self._client: Client | None = None

    def expected(self) -> int | NotKnown:
        try:
            self._client = self._client or self._connect()
            owner, count = self._counted(self._client)
        except _Gone as error:
            return NotKnown(
                f"{error} in namespace {self._namespace}: {SAY}, or POD_NAME and POD_NAMESPACE right"
            )
        except Invalid as error:
            return NotKnown(f"{error}; or {SAY}")
        except HoldfastError as error:
            return NotKnown(f"the Kubernetes API gave no answer: {error}")
        return count if count > 0 else NotKnown(f"{owner} wants {count} pods: scale it up, or {SAY}")

    def _counted(self, client: Client) -> tuple[str, int]:
        """The owner by kind and name, and the number of pods that it wants."""
        owner = self._owner(client, GET_POD, self._pod)
        match _kind(owner):
            case "StatefulSet":
                found = self._get(client, GET_STATEFUL_SET, owner.name, _workload)
                return _named(owner), found.spec.replicas
            case "DaemonSet":
                found = self._get(client, GET_DAEMON_SET, owner.name, _workload)
                return _named(owner), found.status.desired_number_scheduled
            case "ReplicaSet":
                return self._behind(client, owner)
        raise Invalid(f"pod {self._pod} belongs to {_named(owner)}: how many of it are wanted is not known")

    def _behind(self, client: Client, replica_set: Owner) -> tuple[str, int]:
        owner = self._owner(client, GET_REPLICA_SET, replica_set.name)
        if _kind(owner) != "Deployment":
            raise Invalid(f"{_named(replica_set)} belongs to {_named(owner)}, and not to a Deployment")
        found = self._get(client, GET_DEPLOYMENT, owner.name, _workload)
        return _named(owner), found.spec.replicas

    def _owner(self, client: Client, call: Call, name: str) -> Owner:
        owners = self._get(client, call, name, _owned).metadata.owner_references
        return next((owner for owner in owners if owner.controller), Owner())

    def _get(self, client: Client, call: Call, name: str, decoder: msgspec.json.Decoder[Thing]) -> Thing:
        api = "/apis/apps/v1" if call.group else "/api/v1"
        path = f"{api}/namespaces/{quote(self._namespace, safe='')}/{call.resource}/{quote(name, safe='')}"
        answer = client.ask(call, "GET", path, writes=False)
        if answer.status == 404:
            raise _Gone(f"there is no {call.resource.removesuffix('s')} {name}")
        if not answer.is_success:
            raise translate_answer(call, answer, writes=False)
        return decoded(call, decoder, answer.body)


def _kind(owner: Owner) -> str:
    """Empty for a kind of another API group that has the same name."""
    return owner.kind if owner.api_version.startswith("apps/") else ""


def _named(owner: Owner) -> str:
    return f"{owner.kind} {owner.name}" if owner.kind else "no controller"
