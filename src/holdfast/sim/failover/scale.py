"""Times and settings of the simulated group: ninety times as long as the shipped ones.

So a year of it can be lived at every check.
"""

from holdfast.failover.agent.state import Timing
from holdfast.failover.group import GroupSettings
from holdfast.failover.ports import Term
from holdfast.failover.rules.rule import Policy

SCALE = 90.0
LEASE_S = 10 * SCALE
SERVERS, TICK_S = 2, 150.0
POOLS = ("m6i.large.a", "m6i.large.b", "m5.large.a", "r6i.large.c")
POLICY = Policy(
    term=Term(LEASE_S), machines=True, pools=POOLS, dead_standby_s=7_200, missing_s=3_600, look_again_s=60,
    ready_prior_s=1_800,
)  # fmt: skip
TIMING = Timing(heartbeat_s=3 * SCALE, term_s=LEASE_S, check_s=4 * SCALE, retry_s=450, register_s=900)
SETTINGS = GroupSettings(
    standbys=2, terminate_wait_s=3_600, zombie_retention_s=24 * 3_600, max_lag_s=LEASE_S,
    max_lag_emergency_s=5_400, catch_up_s=LEASE_S, promote_timeout_s=4_500, unhealthy_s=2_700,
    fresh_s=LEASE_S, sync_fresh_s=30 * SCALE, deadline_margin_s=20 * SCALE, launch_timeout_s=9_000,
    on_demand_after_s=3_600, quiet_s=14_400, pool_penalty_s=7_200,
)  # fmt: skip
SPARE_S = 3_000.0
"""How long a server may have slept between its look and the end of a machine."""
PATIENCE_S = 3 * 3_600.0
"""An operator looks at a degraded group after so long."""
HOOKS_FAIL = 0.1
"""The share of runs of `on-demote` and `on-follow` that fail."""
