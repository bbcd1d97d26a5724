"""The events of leases: stored name, sentence and severity, one row a kind."""

from holdfast.kernel.event import EventKind, Severity


class LeaseEvent(EventKind):
    CAP_AGREED = "capAgreed", "{about} wrote the agreed cap", Severity.INFO
    CAP_RECOMPUTED = "capRecomputed", "the stored cap did not follow from its counts", Severity.WARNING
    SHARDS_UNREAD = "shardsUnread", "shards stay unread", Severity.ERROR
    SHARDS_READ = "shardsRead", "every shard may be read again", Severity.SUCCESS
    RESTART_BEGUN = "restartBegun", "{about} restarts its KCL", Severity.INFO
    RESTART_ENDED = "restartEnded", "{about} has restarted its KCL", Severity.INFO
