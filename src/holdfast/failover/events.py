"""The events of failover: stored name, sentence and severity, one row a kind."""

from holdfast.kernel.event import EventKind, Severity


class FailoverEvent(EventKind):
    CREATED = "created", "the group is created", Severity.INFO
    REGISTERED = "registered", "{about} is registered", Severity.INFO
    CHANGED = "changed", "{about} says more of itself", Severity.INFO
    NOTICED = "noticed", "{about} got a notice", Severity.WARNING
    STANDBY_READY = "standbyReady", "{about} is a ready standby", Severity.SUCCESS

    REVOKED = "revoked", "{about} is primary no longer", Severity.WARNING
    EPOCH_BEGUN = "epochBegun", "an epoch begins without a primary before it", Severity.INFO
    FENCED = "fenced", "{about} has stopped serving", Severity.INFO
    PROMOTING = "promoting", "{about} is being promoted", Severity.INFO
    PROMOTED = "promoted", "{about} is primary", Severity.SUCCESS
    PROMOTION_FAILED = "promotionFailed", "the promotion of {about} failed", Severity.ERROR
    REINSTATED = "reinstated", "{about} is promoted again", Severity.WARNING
    DEGRADED = "degraded", "no primary serves", Severity.ERROR
    RESTORED = "restored", "{about} serves again", Severity.SUCCESS
    UNHEALTHY = "unhealthy", "{about} is unhealthy", Severity.WARNING
    HEALTHY = "healthy", "{about} is healthy again", Severity.INFO

    RETIRED = "retired", "{about} is a zombie", Severity.INFO
    TERMINATING = "terminating", "{about} is to be terminated", Severity.INFO
    ZOMBIE_CLEANUP = "zombie_cleanup", "{about} was kept long enough and is to be terminated", Severity.INFO
    CONFIRMED_GONE = "confirmedGone", "{about} is terminated", Severity.INFO
    MISSING = "missing", "{about} is not in the cloud's list", Severity.WARNING
    FOUND = "found", "{about} is in the cloud's list again", Severity.INFO
    STRANGER = "stranger", "{about} carries the group's tag, and no record names it", Severity.ERROR
    STRANGER_GONE = "strangerGone", "{about} is known or gone", Severity.INFO

    LAUNCH_INTENDED = "launchIntended", "{about} is to be launched", Severity.INFO
    LAUNCHED = "launched", "{about} is launched", Severity.INFO
    LAUNCH_FAILED = "launchFailed", "{about} was not launched", Severity.WARNING
    LAUNCH_FORGOTTEN = "launchForgotten", "the failed launch {about} is past", Severity.DEBUG

    SWITCH_ASKED = "switchAsked", "an operator asks for a switch", Severity.INFO
    SWITCH_DROPPED = "switchDropped", "the switch is given up", Severity.WARNING
    PAUSED = "paused", "the group is paused", Severity.WARNING
    RESUMED = "resumed", "the group is not paused any more", Severity.INFO
    SETTINGS_CHANGED = "settingsChanged", "settings were changed", Severity.INFO
    RECOVERING = "recovering", "{about} knows an epoch that the database does not", Severity.ERROR
    RECOVERED = (
        "recovered",
        "{about} served last, and is promoted again",
        Severity.WARNING,
    )
    REVIVED = "revived", "{about} may be promoted again", Severity.WARNING
