"""Each rule about pods taken out of the shipped file: comparing with the slow way finds it."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling import topology as shipped
from tests.proof import prove
from tests.scheduling.compared import disagreements
from tests.variants import broken

ASKED, HERE = "holdfast.autoscaler.scheduling.topology.asked", "holdfast.autoscaler.scheduling.topology"
TERMS = "holdfast.autoscaler.scheduling.terms"
SEEDS = range(30)

BOTH = "return self._away(labels) or self._skewed(labels)"
TOGETHER = "together=self._counts(rules.together) if rules.together else ()"
EACH = "together=tuple(self._counts((term,))[0] for term in rules.together)"
ELSEWHERE = "self.namespaces is not None and namespace not in self.namespaces"

VARIANTS = {
    "anti-affinity of pods that run is not asked": (
        ASKED,
        "for counts in self.keeping_off:",
        "for counts in ():",
    ),
    "anti-affinity of the pod is not asked": (ASKED, "for counts in self.apart:", "for counts in ():"),
    "affinity is not asked": (ASKED, BOTH, "return self._skewed(labels)"),
    "spread is not asked": (ASKED, BOTH, "return self._away(labels)"),
    "any pod may be the first of its kind": (ASKED, "if self.is_of_its_own and not any(", "if not any("),
    "a pod that spreads does not count itself": (ASKED, "+ counts_itself - least", "- least"),
    "minDomains is not kept": (ASKED, "counts.least(rule.min_domains)", "counts.least(1)"),
    "taints never count for spread": (HERE, "if rule.honors_taints and", "if False and"),
    "every node counts for spread": (HERE, "if rule.honors_affinity and", "if False and"),
    "one of several affinities is enough": (HERE, TOGETHER, EACH),
    "namespaces are not told apart": (TERMS, ELSEWHERE, "False"),
    "labels of the pod itself are not taken over": (
        TERMS,
        'found += _like(term.match_label_keys, "In", labels)',
        "pass",
    ),
}


def found_by(topology: Any) -> int:
    return sum(len(disagreements(topology, seed)) for seed in SEEDS)


def test_the_shipped_rules_agree() -> None:
    assert found_by(shipped) == 0


@pytest.mark.parametrize("name", VARIANTS)
def test_rules_without_one_guard_disagree(name: str) -> None:
    module, guard, without = VARIANTS[name]
    made = broken(module, {guard: without})
    topology = made if module == HERE else broken(HERE, {}, also={module: made})
    assert found_by(topology) > 0
    prove("variant", f"pod rules: {name}", caught_by="the slow way")
