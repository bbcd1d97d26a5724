"""Whether labels match selectors, and tolerations taints, as Kubernetes reads them."""

import re
from collections.abc import Iterable, Mapping

from holdfast.cloud.kubernetes import (
    LabelSelector,
    NodeSelector,
    Requirement,
    SelectorTerm,
    Taint,
    Toleration,
)

KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})
"""PreferNoSchedule only asks politely."""
WHOLE = re.compile(r"[+-]?[0-9]+")


def meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """One expression.  An unknown operator is not met."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str | None) -> bool:
    """Both sides must be whole numbers; anything else is not met."""
    if value is None or len(requirement.values) != 1:
        return False
    left, right = _whole(value), _whole(requirement.values[0])
    if left is None or right is None:
        return False
    return left > right if requirement.operator == "Gt" else left < right


def _whole(text: str) -> int | None:
    """As the scheduler reads it: of 64 bits.  `1_0` is a label, and no number to it."""
    number = int(text) if WHOLE.fullmatch(text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def selects_labels(selector: NodeSelector, labels: Mapping[str, str]) -> bool:
    """As volumes choose nodes: by their labels alone."""
    return selects_node(selector, "", labels)


def selects_node(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """One term is enough; a term that says nothing matches no node."""
    return any(_term_holds(term, name, labels) for term in selector.node_selector_terms)


def _term_holds(term: SelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": name}
    return all(meets(each, labels) for each in term.match_expressions) and all(
        each.key in fields and meets(each, fields) for each in term.match_fields
    )


def selects_pod(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """An empty selector matches every pod of its namespace, an absent one none."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        meets(each, labels) for each in selector.match_expressions
    )


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps the pod off."""
    for taint in taints:
        if taint.effect in KEEPS_OFF and not any(tolerates(each, taint) for each in tolerations):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
