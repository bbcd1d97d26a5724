"""The rules once more, written the slow and obvious way: every question looks at every pod again."""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.autoscaler.scheduling.match import meets, selects_node, selects_pod, untolerated
from holdfast.cloud.kubernetes import KubeNode, Pod, PodAffinityTerm, Requirement, Spread

Namespaces = Mapping[str, Mapping[str, str]]


def allows(
    pod: Pod, node: KubeNode, where: Mapping[str, list[Pod]], nodes: list[KubeNode], of: Namespaces
) -> bool:
    """Whether what pods ask of each other lets this one go there.  `where`: the pods by node."""
    return (
        _nothing_keeps_off(pod, node, where, nodes, of)
        and _apart(pod, node, where, nodes, of)
        and _together(pod, node, where, nodes, of)
        and _spread(pod, node, where, nodes)
    )


def _required(pod: Pod, kind: str) -> tuple[PodAffinityTerm, ...]:
    affinity = getattr(pod.spec.affinity, kind) if pod.spec.affinity is not None else None
    return affinity.required if affinity is not None else ()


def _matches(term: PodAffinityTerm, owner: Pod, other: Pod, of: Namespaces) -> bool:
    namespaces = set(term.namespaces)
    if term.namespace_selector is None:
        namespaces = namespaces or {owner.metadata.namespace}
    else:
        namespaces |= {name for name, labels in of.items() if selects_pod(term.namespace_selector, labels)}
    if other.metadata.namespace not in namespaces or not selects_pod(
        term.label_selector, other.metadata.labels
    ):
        return False
    own, its = owner.metadata.labels, other.metadata.labels
    like = all(its.get(key) == own[key] for key in term.match_label_keys if key in own)
    return like and all(its.get(key) != own[key] for key in term.mismatch_label_keys if key in own)


def _near(key: str, node: KubeNode, nodes: list[KubeNode]) -> list[KubeNode]:
    domain = node.metadata.labels.get(key)
    return [each for each in nodes if domain is not None and each.metadata.labels.get(key) == domain]


def _nothing_keeps_off(
    pod: Pod, node: KubeNode, where: Mapping[str, list[Pod]], nodes: list[KubeNode], of: Namespaces
) -> bool:
    return not any(
        _matches(term, other, pod, of) and node in _near(term.topology_key, its_node, nodes)
        for its_node in nodes
        for other in where[its_node.metadata.name]
        for term in _required(other, "pod_anti_affinity")
    )


def _apart(
    pod: Pod, node: KubeNode, where: Mapping[str, list[Pod]], nodes: list[KubeNode], of: Namespaces
) -> bool:
    return not any(
        _matches(term, pod, other, of)
        for term in _required(pod, "pod_anti_affinity")
        for near in _near(term.topology_key, node, nodes)
        for other in where[near.metadata.name]
    )


def _together(
    pod: Pod, node: KubeNode, where: Mapping[str, list[Pod]], nodes: list[KubeNode], of: Namespaces
) -> bool:
    terms = _required(pod, "pod_affinity")
    if any(term.topology_key not in node.metadata.labels for term in terms):
        return False

    def wanted(other: Pod) -> bool:
        return all(_matches(term, pod, other, of) for term in terms)

    def there(term: PodAffinityTerm, near: Iterable[KubeNode]) -> bool:
        return any(wanted(other) for each in near for other in where[each.metadata.name])

    if all(there(term, _near(term.topology_key, node, nodes)) for term in terms):
        return True
    anywhere = any(
        there(term, [each for each in nodes if term.topology_key in each.metadata.labels]) for term in terms
    )
    return not anywhere and wanted(pod)


def _spread(pod: Pod, node: KubeNode, where: Mapping[str, list[Pod]], nodes: list[KubeNode]) -> bool:
    hard = [
        each for each in pod.spec.topology_spread_constraints if each.when_unsatisfiable == "DoNotSchedule"
    ]
    keys = {each.topology_key for each in hard}
    if not keys <= node.metadata.labels.keys():
        return False
    complete = [each for each in nodes if keys <= each.metadata.labels.keys()]
    for rule in hard:
        counts: dict[str, int] = {}
        for each in complete:
            if _is_eligible(pod, each, rule):
                domain = each.metadata.labels[rule.topology_key]
                here = sum(_counts(rule, pod, other) for other in where[each.metadata.name])
                counts[domain] = counts.get(domain, 0) + here
        least = min(counts.values(), default=0) if len(counts) >= (rule.min_domains or 1) else 0
        domain = node.metadata.labels[rule.topology_key]
        if counts.get(domain, 0) + _counts(rule, pod, pod) - least > rule.max_skew:
            return False
    return True


def _counts(rule: Spread, pod: Pod, other: Pod) -> bool:
    if other.metadata.namespace != pod.metadata.namespace or other.metadata.deletion_timestamp is not None:
        return False
    own = pod.metadata.labels
    like = [
        Requirement(key=key, operator="In", values=(own[key],)) for key in rule.match_label_keys if key in own
    ]
    return selects_pod(rule.label_selector, other.metadata.labels) and all(
        meets(each, other.metadata.labels) for each in like
    )


def _is_eligible(pod: Pod, node: KubeNode, rule: Spread) -> bool:
    spec, labels = pod.spec, node.metadata.labels
    if rule.node_affinity_policy == "Honor":
        affinity: Any = spec.affinity.node_affinity if spec.affinity is not None else None
        if any(labels.get(key) != value for key, value in spec.node_selector.items()):
            return False
        required = affinity.required if affinity is not None else None
        if required is not None and not selects_node(required, node.metadata.name, labels):
            return False
    return rule.node_taints_policy != "Honor" or untolerated(node.spec.taints, spec.tolerations) is None
