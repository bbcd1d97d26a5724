"""The events of failover: stored name, sentence and severity, one row a kind."""

from holdfast.kernel.event import EventKind, Severity


class FailoverEvent(EventKind):
    REGISTERED = "registered", "the group is registered", Severity.INFO
    STANDBY_READY = "standbyReady", "{about} is a ready standby", Severity.SUCCESS
    REVOKED = "revoked", "{about} is primary no longer", Severity.WARNING
    FENCED = "fenced", "{about} has stopped serving", Severity.INFO
    NOT_FENCED = "notFenced", "{about} did not answer: its lease must run out", Severity.WARNING
    PROMOTED = "promoted", "{about} is primary", Severity.SUCCESS
    CONFIRMED_GONE = "confirmedGone", "{about} is terminated", Severity.INFO
