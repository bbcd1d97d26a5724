"""A campaign that must end as if no process had been killed."""

import os
from random import Random

from tests.proof import prove
from tools.endure.campaign import MANY, ON_ONE, Campaign
from tools.endure.ground import FLOOR, Ground
from tools.endure.phase import HUNTED
from tools.endure.shells import Shell

KILLS = int(os.environ.get("HOLDFAST_KILLS", "15"))
"""`make kills` asks for fifty."""
IN_EACH_PHASE = max(2, KILLS // 10)
ROUNDS_MAX = 8


def assert_survives(ground: Ground, shell: Shell, seed: int) -> None:
    """Load comes and goes until the shell was killed often enough; then everything is accounted for."""
    campaign = Campaign(ground, shell, Random(seed), tell=print)
    try:
        campaign.begin()
        while missing := campaign.short_of(KILLS, IN_EACH_PHASE):
            assert campaign.rounds < ROUNDS_MAX, f"too few kills: {missing}"
            campaign.round()
            assert campaign.problems == [], "\n".join(campaign.problems)
    finally:
        campaign.stop()
    books = campaign.books()
    assert len(books.alive) == FLOOR
    assert campaign.most_workers * ON_ONE >= MANY, "the load never needed more than the floor"
    assert campaign.warned == campaign.rounds >= 1
    assert campaign.budget.seen >= campaign.rounds, "the budget was not looked at often enough"
    assert campaign.hunt.at_work * 2 >= campaign.kills.total(), "most were killed before they were awake"
    prove(
        "kill9",
        f"autoscaler, {shell.name}",
        kills=campaign.kills.total(),
        inside_a_commit=0,
        at_work=campaign.hunt.at_work,
        phases={str(phase): campaign.kills[phase] for phase in HUNTED},
        rounds=campaign.rounds,
        launched=len(books.machines),
        asked_again=books.repeated,
    )
