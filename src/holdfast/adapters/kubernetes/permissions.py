"""What the API server would let us do, asked beforehand: for the doctor."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from holdfast.adapters.kubernetes.calls import CALLS, REVIEW_ACCESS, Call
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.lists import decoded
from holdfast.cloud.kubernetes import Value

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Permission:
    call: Call
    allowed: bool
    fix: str = ""
    """Empty if nothing needs fixing."""


class ReviewStatus(Value, frozen=True):
    allowed: bool = False


class Review(Value, frozen=True):
    status: ReviewStatus = ReviewStatus()


_review = msgspec.json.Decoder(Review)


def can_i(client: Client, wanted: Iterable[Call] = CALLS) -> list[Permission]:
    """Whether each call is granted, in all namespaces.  Repeatable.  Raises Busy, Denied or Invalid."""
    return [_permission(client, call) for call in wanted]


def _permission(client: Client, call: Call) -> Permission:
    resource, _, subresource = call.resource.partition("/")
    attributes = {
        "verb": call.verb,
        "group": call.group,
        "resource": resource,
        "subresource": subresource,
        "name": call.name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    review = decoded(REVIEW_ACCESS, _review, client.read(REVIEW_ACCESS, REVIEWS, body=body))
    return Permission(call, review.status.allowed, "" if review.status.allowed else call.fix)
