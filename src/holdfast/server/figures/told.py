"""What each commit of a group counts as, from the events that it carries."""

from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, Takeover
from holdfast.kernel import Versioned, Write
from holdfast.server.figures.metrics import Figures

FIRST, FAILOVER, EMERGENCY, SWITCH = "first", "failover", "emergency", "switch"


def kind_of(takeover: Takeover | None) -> str:
    """Of a promotion: by whom it was wanted, and how badly."""
    if takeover is None or not takeover.old:
        return FIRST
    if takeover.wanted:
        return SWITCH
    return EMERGENCY if takeover.emergency else FAILOVER


def tell(figures: Figures, found: Versioned[Group], write: Write[Group]) -> None:
    before = found.value
    client_id, kind = before.client_id, kind_of(before.takeover)
    for event in write.events:
        if event.kind == FailoverEvent.PROMOTED:
            figures.count("instance_promotions", client_id, kind)
            if before.takeover is not None:
                figures.promotion_took(client_id, kind, max(0.0, event.at_s - before.takeover.started_s))
        elif event.kind == FailoverEvent.PROMOTION_FAILED:
            figures.count("instance_promotion_failures", client_id, kind)
        elif event.kind == FailoverEvent.REVOKED:
            figures.count("instance_revocations", client_id, event.code)
