"""The rules as one step, and what becomes of the effects."""

from dataclasses import replace

from holdfast.failover.group import Group
from holdfast.failover.ports import Effect, Launch, Launched, NotLaunched, Seen
from holdfast.failover.rules.rule import Change, Policy, Rule, Situation
from holdfast.failover.rules.staffing import next_deadline, settle_launch
from holdfast.failover.rules.table import RULES
from holdfast.kernel import Do, Done, Happened, Outcome, Wait, Workflow, Write

Ahead = Write[Group] | Do[Effect] | Wait | Done
LAUNCHED = Rule(431, "LAUNCHED", "The cloud has answered a launch.")


def workflow(policy: Policy, rules: tuple[Rule, ...] = RULES) -> Workflow[Group, Seen, Effect]:
    return Workflow(
        step=lambda group, seen, now_s: step(Situation(group, seen, now_s, policy), rules),
        settle=lambda group, effect, outcome, now_s: settle(group, effect, outcome, now_s, policy),
    )


def step(situation: Situation, rules: tuple[Rule, ...] = RULES) -> Ahead:
    """The first rule that changes something or has something to do; else the earliest wait."""
    waits: list[Wait] = []
    for rule in rules:
        answer = rule.decide(situation)
        if isinstance(answer, Change):
            return rule.stamped(answer)
        if isinstance(answer, Do):
            return answer
        if answer is not None:
            waits.append(answer)
    deadline = next_deadline(situation)
    waits += [deadline] if deadline else []
    if not waits:
        return Done()
    return replace(waits[0], until_s=min(wait.until_s for wait in waits))


def settle(
    group: Group, effect: Effect, outcome: Outcome, now_s: float, policy: Policy
) -> Write[Group] | None:
    """A launch that was answered is noted; anything else is seen in the cloud's list."""
    if not isinstance(effect, Launch) or not isinstance(outcome, Happened):
        return None
    assert isinstance(outcome.answer, Launched | NotLaunched)
    situation = Situation(group, Seen(), now_s, policy)
    change = settle_launch(situation, effect, outcome.answer)
    return LAUNCHED.stamped(change) if change else None
