"""What a pod asks of the pods around it, as its spec says it: parsed once for pods that ask alike.

A term names pods (namespaces and labels) and the label of nodes that divides the cluster into domains.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from holdfast.autoscaler.scheduling.match import meets, selects_pod
from holdfast.autoscaler.scheduling.volumes.needs import VolumeNeeds
from holdfast.cloud.kubernetes import LabelSelector, Pod, PodAffinity, PodAffinityTerm, Requirement, Spread

NamespaceLabels = Mapping[str, Mapping[str, str]]

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Term:
    """Pods of some namespaces with some labels."""

    topology_key: str
    namespaces: frozenset[str] | None
    """None: every namespace."""
    requirements: tuple[Requirement, ...] | None
    """None: no pod.  Empty: every pod."""

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self.namespaces is None or namespace in self.namespaces) and self.matches(labels)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects a pod with these labels, of one of its namespaces."""
        return self.requirements is not None and all(meets(each, labels) for each in self.requirements)


@dataclass(frozen=True, slots=True)
class SpreadRule:
    term: Term
    max_skew: int
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True)
class PodRules:
    """All that one pod asks of the others."""

    together: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    unknown: bool = False
    """It chooses namespaces by their labels, and these could not be listed."""
    volumes: VolumeNeeds | None = None
    """What its volumes ask of the node.  None: it has none, or its claims are not known."""

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.together, *self.apart, *(rule.term for rule in self.spread))

    @property
    def topology_keys(self) -> frozenset[str]:
        return frozenset(term.topology_key for term in self.terms)


NO_RULES = PodRules()


class RulesReader:
    """Reads the rules of pods; pods of one template are read once."""

    def __init__(self, namespaces: NamespaceLabels | None) -> None:
        self._namespaces = namespaces
        self._taken_over: dict[bytes, list[str]] = {}
        self._read: dict[tuple[str, bytes, tuple[tuple[str, str | None], ...]], PodRules] = {}
        self._of: dict[int, tuple[Pod, PodRules]] = {}
        """By the id of a pod, with the pod itself: so no other pod ever gets that id."""

    def rules_of(self, pod: Pod) -> PodRules:
        spec = pod.spec
        if spec.affinity is None and not spec.topology_spread_constraints:
            return NO_RULES
        known = self._of.get(id(pod))
        if known is None:
            known = self._of[id(pod)] = pod, self._rules_by_template(pod)
        return known[1]

    def _rules_by_template(self, pod: Pod) -> PodRules:
        spec = pod.spec
        labels, said = pod.metadata.labels, _encode((spec.affinity, spec.topology_spread_constraints))
        taken_over = self._taken_over.get(said)
        if taken_over is None:
            taken_over = self._taken_over[said] = _label_keys(pod)
        key = pod.metadata.namespace, said, tuple([(key, labels.get(key)) for key in taken_over])
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._parse(pod)
        return found

    def _parse(self, pod: Pod) -> PodRules:
        affinity = pod.spec.affinity
        together = _required(affinity.pod_affinity if affinity else None)
        apart = _required(affinity.pod_anti_affinity if affinity else None)
        return PodRules(
            tuple(self._term(each, pod) for each in together),
            tuple(self._term(each, pod) for each in apart),
            tuple(_spread(each, pod) for each in _hard(pod)),
            self._namespaces is None and any(_chooses(each) for each in (*together, *apart)),
        )

    def _term(self, term: PodAffinityTerm, pod: Pod) -> Term:
        found = _requirements(term.label_selector)
        labels = pod.metadata.labels
        if found is not None:
            found += _like(term.match_label_keys, "In", labels)
            found += _like(term.mismatch_label_keys, "NotIn", labels)
        return Term(term.topology_key, self._chosen(term, pod.metadata.namespace), found)

    def _chosen(self, term: PodAffinityTerm, own: str) -> frozenset[str] | None:
        selector = term.namespace_selector
        if selector is None:
            return frozenset(term.namespaces or (own,))
        if not _chooses(term):
            return None
        chosen = (name for name, labels in (self._namespaces or {}).items() if selects_pod(selector, labels))
        return frozenset((*term.namespaces, *chosen))


class TermsInPlay:
    """All terms of the pods in question, and which of them select a pod; like pods are looked at once."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._everywhere, self._within = set[Term](), dict[str, set[Term]]()
        for term in terms:
            if term.namespaces is None:
                self._everywhere.add(term)
            for namespace in term.namespaces or ():
                self._within.setdefault(namespace, set()).add(term)
        self._found: dict[str, tuple[list[str], dict[object, frozenset[Term]]]] = {}
        """By namespace: the labels that its terms name, and by their values the terms that select a pod."""
        self._same: dict[frozenset[Term], frozenset[Term]] = {}

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> frozenset[Term]:
        """The terms that select such a pod: the same object for the same terms."""
        keys, by_values = self._found.get(namespace) or self._within_it(namespace)
        values = labels.get(keys[0]) if len(keys) == 1 else tuple([labels.get(key) for key in keys])
        found = by_values.get(values)
        if found is None:
            selecting = frozenset(term for term in self._near(namespace) if term.matches(labels))
            found = by_values[values] = self._same.setdefault(selecting, selecting)
        return found

    def counted(self, pods: Iterable[Pod], asking: Container[int]) -> Iterator[Pod]:
        """Of these pods those that a term selects, and those that ask themselves.  `asking`: their ids.

        As `selecting`, for each of very many: most pods ask for nothing, and no term selects them.
        """
        known = self._found
        for pod in pods:
            meta = pod.metadata
            keys, by_values = known.get(meta.namespace) or self._within_it(meta.namespace)
            labels = meta.labels
            values = labels.get(keys[0]) if len(keys) == 1 else tuple([labels.get(key) for key in keys])
            found = by_values.get(values)
            if found is None:
                found = self.selecting(meta.namespace, labels)
            if found or id(pod) in asking:
                yield pod

    def _within_it(self, namespace: str) -> tuple[list[str], dict[object, frozenset[Term]]]:
        named = {each.key for term in self._near(namespace) for each in term.requirements or ()}
        found = self._found[namespace] = sorted(named), {}
        return found

    def _near(self, namespace: str) -> Iterable[Term]:
        return (*self._everywhere, *self._within.get(namespace, ()))


def needs_namespaces(pods: Iterable[Pod]) -> bool:
    """Whether any of these pods chooses namespaces by their labels."""
    return any(
        _chooses(term)
        for pod in pods
        if (affinity := pod.spec.affinity) is not None
        for term in (*_required(affinity.pod_affinity), *_required(affinity.pod_anti_affinity))
    )


def _chooses(term: PodAffinityTerm) -> bool:
    """An empty selector takes all namespaces, whatever their labels."""
    selector = term.namespace_selector
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def _required(affinity: PodAffinity | None) -> tuple[PodAffinityTerm, ...]:
    return affinity.required if affinity is not None else ()


def _hard(pod: Pod) -> list[Spread]:
    found = pod.spec.topology_spread_constraints
    return [each for each in found if each.when_unsatisfiable == "DoNotSchedule"]


def _label_keys(pod: Pod) -> list[str]:
    """The labels of the pod itself that its terms take over."""
    affinity, found = pod.spec.affinity, [key for each in _hard(pod) for key in each.match_label_keys]
    for kind in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        for term in _required(kind):
            found += (*term.match_label_keys, *term.mismatch_label_keys)
    return found


def _spread(constraint: Spread, pod: Pod) -> SpreadRule:
    found = _requirements(constraint.label_selector)
    if found is not None:
        found += _like(constraint.match_label_keys, "In", pod.metadata.labels)
    return SpreadRule(
        Term(constraint.topology_key, frozenset((pod.metadata.namespace,)), found),
        constraint.max_skew,
        constraint.min_domains or 1,
        constraint.node_affinity_policy == "Honor",
        constraint.node_taints_policy == "Honor",
    )


def _requirements(selector: LabelSelector | None) -> tuple[Requirement, ...] | None:
    """An absent selector matches no pod, an empty one every pod."""
    if selector is None:
        return None
    equal = (
        Requirement(key=key, operator="In", values=(value,))
        for key, value in sorted(selector.match_labels.items())
    )
    return (*equal, *selector.match_expressions)


def _like(keys: Iterable[str], operator: str, labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """A key that the pod does not carry says nothing."""
    return tuple(
        Requirement(key=key, operator=operator, values=(labels[key],)) for key in keys if key in labels
    )
