"""The events of leases: stored name, sentence and severity, one row a kind."""

from holdfast.kernel.event import EventKind, Severity


class LeaseEvent(EventKind):
    CAP_AGREED = "capAgreed", "{about} wrote the agreed cap", Severity.INFO
    SHARDS_UNREAD = "shardsUnread", "shards stay unread", Severity.ERROR
