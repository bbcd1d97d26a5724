"""The ordered table: first match wins.  The hundreds are the concern, and numbers only rise.

1xx is what agents and operators ask for (asks/).  A rule that only waits does not keep the later ones from
acting; of several waits the earliest counts, and the first one says why.
"""

from typing import Final

from holdfast.failover.rules.departure import note_gone, note_missing, retain, surplus, terminate
from holdfast.failover.rules.loss import (
    note_degraded,
    note_health,
    replace_interrupted,
    replace_lost,
    replace_unhealthy,
    switch,
)
from holdfast.failover.rules.rule import Rule
from holdfast.failover.rules.staffing import forget, give_up, launch, note_standbys, staff
from holdfast.failover.rules.sweep import sweep
from holdfast.failover.rules.takeover import confirm, fail, note_stopped, promote
from holdfast.failover.rules.vacancy import first_primary, note_newer_epoch, recover

RULES: Final[tuple[Rule, ...]] = (
    Rule(210, "NEWER_EPOCH", "A member reports an epoch that the record does not know: all stop.",
         note_newer_epoch),
    Rule(220, "PROMOTED", "The candidate reports that it is promoted: it is primary, the takeover ends.",
         confirm),
    Rule(230, "PROMOTION_FAILED", "The promotion failed, hangs, or its member is silent: a zombie; the next.",
         fail),
    Rule(240, "FENCED", "The last holder has stopped under this epoch, or its machine has.",
         note_stopped),
    Rule(310, "RECOVERED", "After one lease time of silence the member that served last is chosen.",
         recover),
    Rule(320, "TAKEOVER", "No lease runs any more: the best standby is promoted, or the old one reinstated.",
         promote),
    Rule(330, "FIRST", "A group without a primary has waited one lease time: its first ready member.",
         first_primary),
    Rule(340, "INTERRUPTED", "The primary is going, and a standby is ready: revoke.",
         replace_interrupted),
    Rule(350, "LEASE_LOST", "The primary's lease is out, and a standby is ready: revoke.",
         replace_lost),
    Rule(360, "UNHEALTHY", "The primary has been unhealthy for too long, and a standby is ready: revoke.",
         replace_unhealthy),
    Rule(370, "SWITCH", "An operator wants a switch, and the candidate is ready: revoke; too late: drop it.",
         switch),
    Rule(380, "DEGRADED", "No primary serves, or one serves again: since when, and why.",
         note_degraded),
    Rule(390, "HEALTH", "The primary's own health check changed its mind.",
         note_health),
    Rule(410, "READY", "A launched standby is ready for the first time.",
         note_standbys),
    Rule(420, "LAUNCH_LATE", "A launch gave no machine, or none that registered, in time.",
         give_up),
    Rule(430, "LAUNCH", "An intent has no machine yet: ask for it, under its token.",
         launch),
    Rule(440, "STAFFING", "A standby is lacking, or the primary has a notice and none is elsewhere: intend.",
         staff),
    Rule(450, "LAUNCH_PAST", "A failed launch is long past: forget it.",
         forget),
    Rule(510, "GONE", "The cloud says that a member's machine is terminated: it leaves the record.",
         note_gone),
    Rule(520, "MISSING", "A member is not in the cloud's list, or is again.",
         note_missing),
    Rule(530, "SWEEP", "A machine with the group's tag is no member: late launches go, strangers are shown.",
         sweep),
    Rule(540, "SURPLUS", "More standbys than wanted, after a quiet time: one is condemned.",
         surplus),
    Rule(550, "RETENTION", "A zombie was kept long enough, and another member serves well: it is condemned.",
         retain),
    Rule(560, "TERMINATE", "A condemned member's time has come, and it is not the last good copy: end it.",
         terminate),
)  # fmt: skip
"""In this order."""
