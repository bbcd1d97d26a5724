"""What a pod asks of the pods around it, read from its spec."""

from typing import Any

from holdfast.autoscaler.scheduling.terms import PodRules, RulesReader, SpreadRule, Term
from tests.workloads import pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}
TEAMS = {"shop": {"team": "a"}, "bank": {"team": "b"}, "mail": {}}
OWN = {"app": "web", "version": "2"}


def rules(spec: dict[str, Any], listed: Any = TEAMS) -> PodRules:
    return RulesReader(listed).rules_of(pod(labels=OWN, spec=spec))


def term(**said: Any) -> Term:
    terms = [{"topologyKey": "zone", "labelSelector": WEB, **said}]
    (found,) = rules({"affinity": {"podAntiAffinity": {REQUIRED: terms}}}).apart
    return found


def spread(**said: Any) -> SpreadRule:
    rule = {"topologyKey": "zone", "maxSkew": 1, "labelSelector": WEB}
    (found,) = rules({"topologySpreadConstraints": [{**rule, **said}]}).spread
    return found


def test_an_absent_selector_selects_no_pod_and_an_empty_one_every_pod() -> None:
    assert not term(labelSelector=None).selects("shop", OWN)
    assert not term(labelSelector=None, matchLabelKeys=["version"]).selects("shop", OWN)
    assert term(labelSelector={}).selects("shop", {})


def test_labels_of_the_pod_itself_are_taken_over_if_it_carries_them() -> None:
    same, other = {"app": "web", "version": "2"}, {"app": "web", "version": "1"}

    like, unlike = term(matchLabelKeys=["version"]), term(mismatchLabelKeys=["version"])
    assert (like.selects("shop", same), like.selects("shop", other)) == (True, False)
    assert (unlike.selects("shop", same), unlike.selects("shop", other)) == (False, True)
    assert not like.selects("shop", {"app": "web"})
    assert unlike.selects("shop", {"app": "web"})
    assert term(matchLabelKeys=["absent"]).selects("shop", {"app": "web"})
    assert not spread(matchLabelKeys=["version"]).term.selects("shop", other)


def test_namespaces_are_those_that_are_named_and_chosen_or_its_own() -> None:
    def chosen(**said: Any) -> set[str]:
        return {name for name in TEAMS if term(**said).selects(name, {"app": "web"})}

    assert chosen() == {"shop"}
    assert chosen(namespaces=["bank"]) == {"bank"}, "its own is not among them"
    assert chosen(namespaceSelector={"matchLabels": {"team": "b"}}) == {"bank"}
    assert chosen(namespaces=["mail"], namespaceSelector={"matchLabels": {"team": "b"}}) == {"bank", "mail"}
    assert chosen(namespaceSelector={}) == {"shop", "bank", "mail"}
    assert term(namespaceSelector={}).selects("made just now", {"app": "web"})


def test_namespaces_that_are_chosen_and_not_listed_are_a_doubt() -> None:
    def unknown(listed: Any, **said: Any) -> bool:
        terms = [{"topologyKey": "zone", "labelSelector": WEB, **said}]
        return rules({"affinity": {"podAffinity": {REQUIRED: terms}}}, listed).unknown

    by_label = {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}}
    assert unknown(None, **by_label)
    assert not unknown(TEAMS, **by_label)
    assert not unknown(None, namespaceSelector={}), "all of them, whatever their labels"
    assert not unknown(None)


def test_only_spread_that_must_be_kept_is_a_rule() -> None:
    soft = {"topologyKey": "zone", "maxSkew": 1, "labelSelector": WEB, "whenUnsatisfiable": "ScheduleAnyway"}

    assert rules({"topologySpreadConstraints": [soft]}).spread == ()


def test_a_spread_counts_nodes_as_its_policies_say() -> None:
    usual = spread()
    assert (usual.honors_affinity, usual.honors_taints, usual.min_domains) == (True, False, 1)
    other = spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor", minDomains=3)
    assert (other.honors_affinity, other.honors_taints, other.min_domains) == (False, True, 3)
