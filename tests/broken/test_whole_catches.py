"""The explorer is shown the whole autoscaler with one guard taken out, and must find what breaks."""

from typing import Any

import pytest

from holdfast.cloud import NoticeKind
from holdfast.sim.explore import Violation
from tests.crash.test_whole import SETTINGS
from tests.model.fleet import World, fleet
from tests.model.hands import search, start
from tests.proof import prove
from tests.variants import broken

PART = "holdfast.autoscaler"
NOTICE = (("i-1", NoticeKind.INTERRUPTION),)
STORIES: dict[str, tuple[World, dict[str, Any]]] = {
    "growing, three hands, a refusal": (World(fleet("a"), wanted=2), {"hands": 3, "refusals": 1}),
    "a notice, three hands": (World(fleet("aa"), wanted=2, brisk=True), {"hands": 3, "coming": NOTICE}),
}

VARIANTS: dict[str, tuple[str, dict[str, str], str, str]] = {
    "A6: the replacement is launched, and not written beside the notice": (
        "workflow",
        {
            "Write(interruption.answered(begun.value, covered, up.action_id), begun.events)": "begun",
        },
        "a notice, three hands",
        "S-A2",
    ),
    "H1: nobody sweeps what a late first launch brought": (
        "sweep",
        {"    for worker in _unclaimed(cluster, sight, settings, now_s):\n": "    for worker in ():\n"},
        "growing, three hands, a refusal",
        "never settles",
    ),
    "H1: a node takes pods though no record names its machine": (
        "sweep",
        {"        if worker.instance_id in named\n        and worker.alive\n": "        if worker.alive\n"},
        "growing, three hands, a refusal",
        "S-A3",
    ),
}


def variant(module: str, changes: dict[str, str]) -> Any:
    """The whole workflow with one of its modules broken."""
    if module == "workflow":
        return broken(f"{PART}.workflow", changes).workflow(SETTINGS)
    whole = broken(f"{PART}.workflow", {})
    setattr(whole, module, broken(f"{PART}.{module}", changes))
    return whole.workflow(SETTINGS)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_whole_without(name: str) -> None:
    module, changes, story, expected = VARIANTS[name]
    world, around = STORIES[story]

    with pytest.raises(Violation, match=expected):
        search(variant(module, changes), start(world, **around), SETTINGS)

    prove("variant", name, caught_by="explorer")
