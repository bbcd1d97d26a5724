"""Which disruption budgets cover a pod, found without asking each of them."""

from collections import defaultdict
from collections.abc import Iterable

from holdfast.autoscaler.scheduling.match import selects_pod
from holdfast.cloud.kubernetes import Budget, Pod


class Budgets:
    """Budgets by namespace and by the first label that they ask for."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._by_label: defaultdict[tuple[str, str, str], list[Budget]] = defaultdict(list)
        self._without: defaultdict[str, list[Budget]] = defaultdict(list)
        for budget in budgets:
            namespace, selector = budget.metadata.namespace, budget.spec.selector
            if selector is not None and selector.match_labels:
                key, value = next(iter(selector.match_labels.items()))
                self._by_label[namespace, key, value].append(budget)
            else:
                self._without[namespace].append(budget)

    def covering(self, pod: Pod) -> list[Budget]:
        """By name."""
        meta, near = pod.metadata, [*self._without.get(pod.metadata.namespace, ())]
        for key, value in meta.labels.items():
            near += self._by_label.get((meta.namespace, key, value), ())
        found = [budget for budget in near if selects_pod(budget.spec.selector, meta.labels)]
        return sorted(found, key=lambda budget: budget.metadata.name)
