"""The events of the notifications' own record: stored name, sentence and severity, one row a kind."""

from holdfast.kernel.event import EventKind, Severity

DEBUG, INFO = Severity.DEBUG, Severity.INFO
WARNING, ERROR = Severity.WARNING, Severity.ERROR


class NotificationEvent(EventKind):
    CAUSE_BEGUN = "causeBegun", "a cause for a message begins: {about}", INFO
    CAUSE_RETURNED = "causeReturned", "a cause for a message holds again: {about}", INFO
    CAUSE_OVER = "causeOver", "a cause for a message has ended: {about}", INFO
    CAUSE_FORGOTTEN = "causeForgotten", "every channel knows of the end: {about}", DEBUG
    MESSAGE_TRIED = "messageTried", "a message goes to {about}", DEBUG
    MESSAGE_SENT = "messageSent", "{about} has taken a message", INFO
    MESSAGE_FAILED = "messageFailed", "{about} did not take a message", WARNING
    MESSAGE_GIVEN_UP = "messageGivenUp", "a message to {about} is given up", ERROR
