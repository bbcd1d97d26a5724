"""The rules 1xx in order: what agents and operators ask for."""

from typing import Final

from holdfast.failover.asks.create import CREATE
from holdfast.failover.asks.membership import GONE, REGISTER, REVIVE
from holdfast.failover.asks.notice import REBALANCE, TERMINATION
from holdfast.failover.asks.pause import PAUSE, RESUME
from holdfast.failover.asks.recover import RECOVER
from holdfast.failover.asks.settings import SETTINGS
from holdfast.failover.asks.switch import PROMOTE, SWITCH
from holdfast.failover.rules.rule import Rule

ASKED: Final[tuple[Rule, ...]] = (
    *(CREATE, REGISTER, REBALANCE, TERMINATION, SWITCH, PROMOTE, PAUSE, RESUME, SETTINGS),
    *(RECOVER, REVIVE, GONE),
)
