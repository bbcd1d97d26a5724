"""What agents and operators ask of a group, each as a pure function: the group, the ask, the moment.

The answer is a Write, a Refusal that changes nothing, or None where the group is as asked already.  The
caller was authenticated before.  These are the rules 1xx: their number stands in every event, as any rule's.
"""

from holdfast.failover.asks.ask import Asked, Refusal
from holdfast.failover.asks.membership import Register, gone, register, revive
from holdfast.failover.asks.notice import Notice, notice
from holdfast.failover.asks.pause import pause, resume
from holdfast.failover.asks.recover import recover
from holdfast.failover.asks.settings import change_settings
from holdfast.failover.asks.switch import Promote, SwitchTo, promote, switch

__all__ = [
    "Asked",
    "Notice",
    "Promote",
    "Refusal",
    "Register",
    "SwitchTo",
    "change_settings",
    "gone",
    "notice",
    "pause",
    "promote",
    "recover",
    "register",
    "resume",
    "revive",
    "switch",
]
