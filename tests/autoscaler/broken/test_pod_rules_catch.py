"""Each rule about pods taken out of the shipped file: comparing with the slow way finds it."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling import topology as shipped
from tests.proof import prove
from tests.scheduling.compared import disagreements, misjudged
from tests.variants import broken

ASKED, HERE = "holdfast.autoscaler.scheduling.topology.asked", "holdfast.autoscaler.scheduling.topology"
TERMS = "holdfast.autoscaler.scheduling.terms"
VOLUMES = "holdfast.autoscaler.scheduling.volumes"
NEEDS, READER = f"{VOLUMES}.needs", f"{VOLUMES}.reader"
CHAIN = (NEEDS, TERMS, READER, VOLUMES, ASKED, HERE)
"""In the order in which they import each other."""
SEEDS = (*range(40), 112)
"""In the last one two pods want one volume."""

BOTH = "return self._away(labels) or self._skewed(labels) or self._unattachable(room)"
TOGETHER = "together=self._counts(rules.together) if rules.together else ()"
EACH = "together=tuple(self._counts((term,))[0] for term in rules.together)"
NEAR = "self._within.get(namespace, ())"
ANYWHERE = "(term for some in self._within.values() for term in some)"

VARIANTS = {
    "anti-affinity of pods that run is not asked": (
        ASKED,
        "for counts in self.keeping_off:",
        "for counts in ():",
    ),
    "anti-affinity of the pod is not asked": (ASKED, "for counts in self.apart:", "for counts in ():"),
    "affinity is not asked": (ASKED, BOTH, "return self._skewed(labels) or self._unattachable(room)"),
    "spread is not asked": (ASKED, BOTH, "return self._away(labels) or self._unattachable(room)"),
    "any pod may be the first of its kind": (ASKED, "if self.is_of_its_own and not any(", "if not any("),
    "a pod that spreads does not count itself": (ASKED, "+ counts_itself - least", "- least"),
    "minDomains is not kept": (ASKED, "counts.least(rule.min_domains)", "counts.least(1)"),
    "taints never count for spread": (HERE, "if rule.honors_taints and", "if False and"),
    "every node counts for spread": (HERE, "if rule.honors_affinity and", "if False and"),
    "one of several affinities is enough": (HERE, TOGETHER, EACH),
    "namespaces are not told apart": (TERMS, NEAR, ANYWHERE),
    "labels of the pod itself are not taken over": (
        TERMS,
        'found += _like(term.match_label_keys, "In", labels)',
        "pass",
    ),
    "a bound volume's node affinity is not asked": (
        NEEDS,
        "if not all(selects_labels(selector, labels) for selector in self.selectors):",
        "if False:",
    ),
    "a bound volume's zone is not asked": (NEEDS, "if not self._is_in_zone(labels):", "if False:"),
    "allowed topologies are not asked": (NEEDS, "return not self.topologies or any(", "return True or any("),
    "a class without a provisioner makes volumes": (
        READER,
        'made = of_class.provisioner not in ("", NO_PROVISIONER)',
        "made = True",
    ),
    "claims that are not bound at once are no matter": (
        READER,
        "elif of_class is None or not of_class.waits_for_pods or claim.spec.volume_name:",
        "elif of_class is None:",
    ),
    "a claim that is not there is no matter": (
        READER,
        "                if claim is None:\n                    return VolumeNeeds(nowhere=why)",
        "                if claim is None:\n                    continue",
    ),
    "several pods may use a ReadWriteOncePod claim": (
        READER,
        "if ALONE in claim.spec.access_modes:",
        "if False:",
    ),
    "a volume may be taken twice": (
        VOLUMES,
        "self._taken[bound.volume] += 1 if gets else -1",
        "self._taken[bound.volume] += 0",
    ),
    "a claim may be bound anew for each of its pods": (VOLUMES, "if claim and gets:", "if False:"),
    "attachments have no limit": (
        VOLUMES,
        'return self._overfull(node, needs, limits) if limits else ""',
        'return ""',
    ),
    "a volume counts once for each pod that shares it": (
        READER,
        "if self._users[key] > 1:\n            to",
        "if False:\n            to",
    ),
}


def is_caught(topology: Any) -> bool:
    return any(disagreements(topology, seed) for seed in SEEDS)


def test_the_shipped_rules_agree() -> None:
    assert not is_caught(shipped)


@pytest.mark.parametrize("name", VARIANTS)
def test_rules_without_one_guard_disagree(name: str) -> None:
    module, guard, without = VARIANTS[name]
    built: dict[str, Any] = {}
    for each in CHAIN[CHAIN.index(module) :]:
        built[each] = broken(each, {guard: without} if each == module else {}, also=built)
    assert is_caught(built[HERE])
    prove("variant", f"pod rules: {name}", caught_by="the slow way")


PORTS = 1108
"""A cluster where a host port is all that stands in the way."""
PREEMPTION = "holdfast.autoscaler.scheduling.preemption"
PREEMPTIONS = {
    "a pod that preempts none preempts": (
        'if pod.spec.preemption_policy == "Never":\n        return',
        "if False:\n        return",
    ),
    "pods of the same priority are preempted": (
        "return other.spec.priority < pod.spec.priority and",
        "return other.spec.priority <= pod.spec.priority and",
    ),
    "what pods leave behind is not room": (
        "free = reduce(add, map(requests_of, victims), room.free)",
        "free = room.free",
    ),
    "pods that have gone are still in the way": (
        "topology.put(room.name, topology.class_of(each), -1)",
        "pass",
    ),
    "ports that are free again are still taken": (
        "emptied = structs.replace(room, free=free, ports=ports)",
        "emptied = structs.replace(room, free=free)",
    ),
}


@pytest.mark.parametrize("name", PREEMPTIONS)
def test_preemption_without_one_guard_is_caught(name: str) -> None:
    guard, without = PREEMPTIONS[name]
    variant = broken(PREEMPTION, {guard: without})
    assert any(misjudged(variant, seed) for seed in (*SEEDS, PORTS))
    prove("variant", f"preemption: {name}", caught_by="the slow way")
