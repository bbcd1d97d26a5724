"""The events of the autoscaler: stored name, sentence and severity, one row a kind.

Kinds are stored, filtered and alerted on: a name in the first column is never changed and never used for
another fact.  Those that the seeds name stay as the seeds name them.
"""

from holdfast.kernel.event import EventKind, Severity

DEBUG, INFO, SUCCESS = Severity.DEBUG, Severity.INFO, Severity.SUCCESS
WARNING, ERROR = Severity.WARNING, Severity.ERROR


class AutoscalerEvent(EventKind):
    # What was decided, and what a tick noticed beside.
    DECISION = "decision", "decided: {about}", DEBUG
    UNHELPED = "unhelped", "no new node would help {about}", WARNING
    UNHELPED_OVER = "unhelpedOver", "{about} may ask for a new node again", DEBUG
    CONDITION_CHANGED = "conditionChanged", "condition changed", DEBUG
    # A scale-up, from intent to end.
    BEGIN_SCALE_UP = "beginScaleUp", "scale-up begins", INFO
    EXTEND_SCALE_UP = "extendScaleUp", "scale-up is extended", INFO
    RETRY_SCALE_UP = "retryScaleUp", "scale-up tries elsewhere", INFO
    RECORD_SCALE_UP_INSTANCES = "recordScaleUpInstances", "launched", INFO
    LAUNCH_REFUSED = "launchRefused", "launch refused", ERROR
    LAUNCH_ABANDONED = "launchAbandoned", "launch given up", ERROR
    POOL_FAILED = "poolFailed", "pool {about} cannot launch", ERROR
    JOIN_EXTENDED = "joinExtended", "its workers get more time to join", INFO
    JOINED = "joined", "{about} joined", SUCCESS
    JOIN_UNKNOWN = "joinUnknown", "whether {about} has joined is not known", WARNING
    DIED_BEFORE_JOINING = "diedBeforeJoining", "{about} died before it joined", ERROR
    COMPLETE_SCALE_UP = "completeScaleUp", "scale-up complete", SUCCESS
    FAIL_SCALE_UP = "failScaleUp", "scale-up failed", ERROR
    # A scale-down, from plan to end.
    BEGIN_SCALE_DOWN = "beginScaleDown", "scale-down begins", INFO
    DRAINED = "drained", "{about} is drained", INFO
    DRAIN_SKIPPED = "drainSkipped", "{about} stays in service", INFO
    TERMINATING = "terminating", "{about} is terminating", WARNING
    TERMINATED = "terminated", "{about} is terminated", WARNING
    COMPLETE_SCALE_DOWN = "completeScaleDown", "scale-down complete", SUCCESS
    FAIL_SCALE_DOWN = "failScaleDown", "scale-down failed", ERROR
    # Nodes that stand idle, where consolidation is on.
    NODE_UNDERUSED = "nodeUnderused", "{about} is underused", DEBUG
    NODE_EMPTY = "nodeEmpty", "{about} is empty", DEBUG
    NODE_IN_USE = "nodeInUse", "{about} is in use, or leaves", DEBUG
    REPLACING = "replacing", "{about} is to be replaced", INFO
    # Machines that the cloud takes back.
    INTERRUPTED = "interrupted", "{about} will be taken back", WARNING
    NOT_REPLACED = "notReplaced", "{about} is not replaced", INFO
    NOT_READY = "notReady", "{about} is not ready", WARNING
    NOT_READY_OVER = "notReadyOver", "{about} is ready again, or leaves", INFO
    NOT_READY_TOO_LONG = "notReadyTooLong", "{about} is not ready for too long", WARNING
    LOST = "lost", "{about} was lost", WARNING
    RECLAIMED = "reclaimed", "{about} is gone", WARNING
    NOTICE_EXPIRED = "noticeExpired", "the notice for {about} expired", SUCCESS
    # What the sweep finds.
    ADOPTED = "adopted", "{about} is adopted", INFO
    MISSING = "missing", "{about} is missing", WARNING
    NO_LONGER_MISSING = "noLongerMissing", "{about} is back", SUCCESS
    NODE_MISSING = "nodeMissing", "the node of {about} is missing", WARNING
    NODE_BACK = "nodeBack", "the node of {about} is back", SUCCESS
    SEEN_JOINED = "seenJoined", "{about} is known to have joined", DEBUG
    UNMATCHED = "unmatched", "the node of {about} does not name its machine", ERROR
    TERMINATION_REFUSED = "terminationRefused", "EC2 refuses to end {about}", ERROR
    # Which cluster this is.
    CLUSTER_KNOWN = "clusterKnown", "the cluster is {about}", INFO
    CLUSTER_REFUSED = "clusterRefused", "another cluster answers: {about}", ERROR
    CLUSTER_BACK = "clusterBack", "the cluster is {about} again", SUCCESS
    CLUSTER_ACCEPTED = "clusterAccepted", "an operator accepts the cluster {about}", WARNING
    RECORD_RESTORED = "recordRestored", "the record was restored to an earlier point", ERROR
    STRAY_CORDON_FOUND = "strayCordonFound", "stray cordon found on {about}", INFO
    STRAY_CORDON_LIFTED = "strayCordonLifted", "stray cordon lifted from {about}", INFO
    # Operators and the lock.
    PAUSED = "paused", "paused by an operator", WARNING
    RESUMED = "resumed", "resumed by an operator", SUCCESS
    LOCK_TAKEN = "lockTaken", "{about} is at work", DEBUG
    LOCK_RELEASED = "lockReleased", "{about} has ended its work", DEBUG
