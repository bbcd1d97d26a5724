"""`holdfast autoscaler explain`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import owner, session
from holdfast.cli.session import busy, options, say_json

if TYPE_CHECKING:
    from holdfast.autoscaler.report.explain import Explanation


@click.command(name="explain")
@options
@click.argument("names", nargs=-1, metavar="[NODE|POD]...")
def command(config: Path | None, as_json: bool, names: tuple[str, ...]) -> None:
    """Say for each node whether it may leave, and for each waiting pod who would take it.

    Everything that keeps a node is named: the rule, the pod, and what would lift it.  Without a
    name: the whole fleet, and what would have to change for it to scale up or down.  A node is
    named by its name or its instance id, a pod by namespace/name or its name alone.

    \b
    Example:
      holdfast autoscaler explain
      holdfast autoscaler explain i-0abc123 shop/checkout-7d4f
    """
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.explain import explain

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            cluster = autoscaler.store.read(SUBJECT).value
            listings = autoscaler.look(owner("explain"), cluster)
        with busy("scheduling every node and pod"):
            whole = explain(cluster, listings, autoscaler.settings, autoscaler.clock.now_s())
        found = about(whole, names, [pod.called for pod in listings.pods if pod.spec.node_name])
        if as_json:
            say_json(found.as_json())
            return
        from holdfast.cli.autoscaler.views.explain import screen
        from holdfast.cli.render import show

        show(screen(found, whole_fleet=not names))


def about(whole: "Explanation", names: Sequence[str], running: Sequence[str]) -> "Explanation":
    """Only what was asked for; a name that no node or pod bears is bad input."""
    if not names:
        return whole
    wanted = set(names)
    nodes = tuple(each for each in whole.nodes if wanted & {each.node, each.instance_id})
    pods = tuple(each for each in whole.pods if wanted & _names(each.example, *each.owners))
    borne = {name for each in nodes for name in (each.node, each.instance_id)}
    borne |= {name for each in pods for name in _names(each.example, *each.owners)}
    for name in names:
        if name in borne:
            continue
        placed = [pod for pod in running if name in _names(pod)]
        problem = (
            f"pod {placed[0]} has a node already: name the node, to see whether the pod keeps it"
            if placed
            else f"there is no node, machine or waiting pod called {name!r}"
        )
        raise click.UsageError(problem)
    return replace(whole, nodes=nodes, pods=pods)


def _names(*called: str) -> set[str]:
    return {*called, *(each.rpartition("/")[2] for each in called)}
