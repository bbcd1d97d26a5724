"""Ways to tell an operator twice, or never, that the tests of the notifications catch."""

import pytest

from tests.autoscaler.unit.notifications.office import NO_SPOT, Office, one_cause_with_its_end
from tests.proof import prove
from tests.variants import broken

WORKFLOW = "holdfast.autoscaler.notifications.workflow"

VARIANTS = {
    "messages: a try of another process is not waited for": {
        "for each, receipt in _wanted(board, plan, now_s) if receipt.retry_s <= now_s]": (
            "for each, receipt in _wanted(board, plan, now_s)]"
        )
    },
    "messages: an end is not told to a channel that was told of the beginning": {
        "receipt.stage is Stage.BEGUN and (receipt.told or receipt.retry_s <= now_s)": "False"
    },
    "messages: what has arrived is not noted": {
        'replace(receipt, told=True, owner=""), Kind.MESSAGE_SENT': (
            'replace(receipt, owner=""), Kind.MESSAGE_SENT'
        )
    },
    "messages: a cause is forgotten before every channel knows of its end": {
        "return all(receipt.stage is Stage.OVER and receipt.told for receipt in open_ones)": "return True"
    },
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_broken_notification_is_caught(title: str) -> None:
    variant = broken(WORKFLOW, VARIANTS[title])
    with pytest.raises(AssertionError):
        _judged(variant)
    prove("variant", title, caught_by="a story")


def _judged(module: object) -> None:
    one_cause_with_its_end(module)
    office = Office(module)
    office.run(NO_SPOT, "a")
    office.now_s += 61
    plan = office.plan("a")
    office.board = office.module.step(office.board, NO_SPOT, plan, office.now_s).value
    office.run(NO_SPOT, "b")
    assert not office.taken, "another process sends what the first may be sending"
