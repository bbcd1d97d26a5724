"""The shipped rules keep what they promise."""

from typing import Any

import pytest

from holdfast.failover.workflow import workflow
from tests.failover.model import adopted, machine_promises, mode_promises, promises
from tests.failover.model.promises import Make

STORIES: dict[str, Any] = {
    name: story
    for module in (promises, machine_promises, mode_promises, adopted)
    for name, story in vars(module).items()
    if getattr(story, "__module__", "") == module.__name__
    and getattr(story, "__annotations__", {}) == {"make": Make, "return": None}
}


@pytest.mark.parametrize("name", STORIES)
def test_promise(name: str) -> None:
    assert STORIES[name](workflow) is None


def test_there_are_many() -> None:
    assert len(STORIES) >= 30
