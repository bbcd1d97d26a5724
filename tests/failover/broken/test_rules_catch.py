"""The rules with one guard taken out, in the story of the promise that it keeps: the story must notice."""

from typing import Any

import pytest

from tests.failover.model import adopted, machine_promises, mode_promises, promises
from tests.proof import prove
from tests.variants import failover_without

Changes = dict[str, dict[str, str]]
Story = Any

VARIANTS: dict[str, tuple[Changes, Story]] = {
    "H22: a server that was cut off takes silence for a death": (
        {
            "loss": {
                "not may_change(situation) or not situation.seen.may_judge:": "not may_change(situation):"
            }
        },
        promises.silence_is_judged_only_by_a_server_that_saw_the_database,
    ),
    "H22: any number of primaries is revoked at once": (
        {
            "loss": {
                "    if not situation.seen.may_revoke:\n"
                '        return situation.again("too many primaries were revoked within a minute: '
                'an operator is asked")\n'
                "    silent_s =": "    silent_s ="
            }
        },
        promises.no_more_than_some_are_revoked_at_once,
    ),
    "S-F3: a primary that never had an agent is judged by its silence": (
        {"loss": {'    if silent_s == float("inf"):\n': "    if False:\n"}},
        adopted.a_primary_without_an_agent_is_not_judged_by_its_silence,
    ),
    "S8: which of two primaries is right is guessed": (
        {"vacancy": {"    if group.degraded is not None and group.degraded.code ==": "    if '' =="}},
        adopted.which_of_two_primaries_is_right_is_an_operators_word,
    ),
    "H46: a group fails over although it is paused": (
        {"loss": {" and group.paused_until_s <= situation.now_s": ""}},
        promises.nothing_changes_while_paused,
    ),
    "H33: a standby that died is ready": (
        {"standby": {"    if seen.silent_s > settings.fresh_s:": "    if False:"}},
        promises.a_standby_that_died_is_not_promoted,
    ),
    "H33: an old sync report counts": (
        {"standby": {"    if age_s > settings.sync_fresh_s:": "    if False:"}},
        promises.an_old_sync_report_counts_for_nothing,
    ),
    "H38: a standby that follows the primary before the last is ready": (
        {"standby": {"    if report.sync_epoch != group.served_epoch:": "    if False:"}},
        promises.a_standby_that_follows_an_older_primary_is_not_promoted,
    ),
    "H35: lag beyond every limit is accepted": (
        {"standby": {"    if lag_s > limit_s:": "    if False:"}},
        promises.lag_beyond_the_limit_is_said_and_not_accepted,
    ),
    "L-F1: a copy falls behind a primary that is gone": (
        {"standby": {"report.lag_s - max(0.0, written_nothing_s(situation) - age_s)": "report.lag_s"}},
        promises.a_copy_falls_no_further_behind_a_primary_that_is_gone,
    ),
    "L-F1: a copy falls behind a primary that is ill": (
        {"standby": {"last.unhealthy_since_s or situation.now_s": "situation.now_s"}},
        promises.an_ill_primary_is_replaced_though_its_copies_cannot_follow_it,
    ),
    "L-F1: a primary that hears no answers stays primary": (
        {"loss": {'report.hook_state in ("none", "failed")': "False"}},
        promises.a_primary_that_hears_no_answers_is_replaced,
    ),
    "L-F1: a primary that does not serve is called well": (
        {
            "loss": {
                "    if is_serving(situation) and not _idles(situation):": "    if is_serving(situation):"
            }
        },
        promises.a_primary_that_hears_no_answers_and_has_no_standby_is_degraded,
    ),
    "H32: an ill primary never returns": (
        {"takeover": {"seen.report.healthy is False and patient": "seen.report.healthy is False"}},
        promises.an_ill_primary_returns_if_none_could_take_over,
    ),
    "H33: an interrupted standby is ready": (
        {"standby": {"    if member.interrupted:": "    if False:"}},
        promises.an_interrupted_standby_is_not_promoted,
    ),
    "H33: a standby that is stopping is ready": (
        {"standby": {'    if report.status != "running":': "    if False:"}},
        promises.a_standby_that_is_stopping_is_not_promoted,
    ),
    "H43: a standby without a watchdog is promoted": (
        {"standby": {"    if not report.watchdog_ok:": "    if False:"}},
        promises.no_standby_without_a_watchdog_is_promoted,
    ),
    "H36: the promotion does not wait for the last rows": (
        {"takeover": {"    if not there and situation.now_s < late_s:": "    if False:"}},
        promises.the_promotion_waits_until_the_candidate_has_caught_up,
    ),
    "H36: a copy that never catches up is waited for": (
        {"takeover": {"    if not there and situation.now_s < late_s:": "    if not there:"}},
        promises.a_copy_that_never_catches_up_is_not_waited_for,
    ),
    "H33: health is not asked anew for a switch": (
        {"standby": {"    if since_s is not None and seen": "    if False and seen"}},
        promises.health_is_asked_anew_for_a_switch,
    ),
    "H38: an older report confirms a promotion": (
        {
            "takeover": {
                'if (report.hook_epoch, report.hook_state) != (group.epoch, "done") or': (
                    'if report.hook_state != "done" or'
                )
            }
        },
        promises.an_older_report_does_not_confirm_a_promotion,
    ),
    "S-F3: an older word fences": (
        {"takeover": {"    said = report.hook_epoch == group.epoch and report": "    said = report"}},
        promises.an_older_word_does_not_fence,
    ),
    "H39: a silent candidate is taken for stopped": (
        {"takeover": {"fenced=_says_failed(situation, candidate),": "fenced=True,"}},
        promises.a_silent_candidate_is_not_taken_for_stopped,
    ),
    "H30: a newer epoch is not heard of": (
        {"vacancy": {"    if reported <= group.epoch:\n": "    if reported >= 0:\n"}},
        promises.a_newer_epoch_stops_all,
    ),
    "H30: the epoch goes on below what was reported": (
        {"vacancy": {"epoch=reported + 1,": "epoch=group.epoch + 1,"}},
        promises.a_newer_epoch_stops_all,
    ),
    "H30: no lease time of silence comes first": (
        {"vacancy": {"    if left_s > 0:": "    if False:"}},
        promises.a_newer_epoch_stops_all,
    ),
    "H30: the old holder returns though another served later": (
        {"takeover": {"    if takeover and takeover.code == RECOVERED and": "    if False and takeover and"}},
        promises.the_old_holder_does_not_return_though_another_served_later,
    ),
    "H30: one of two who claim the same is chosen": (
        {"vacancy": {"    if len(claims) == 1:": "    if claims:"}},
        promises.two_who_claim_the_same_are_left_to_an_operator,
    ),
    "H30: the member with the newest data is guessed": (
        {
            "vacancy": {
                "    if len(claims) == 1:\n        return claims[0]\n": (
                    "    return max(members, key=lambda m: situation.of(m).report.served_epoch)\n"
                )
            }
        },
        promises.an_epoch_that_none_served_is_left_to_an_operator,
    ),
    "H30: an empty group promotes at once": (
        {"vacancy": {"    if situation.now_s < ready_s:": "    if False:"}},
        promises.an_empty_group_waits_one_lease_time,
    ),
    "H34: nothing is launched at a notice": (
        {"staffing": {"    urgent = noticed or": "    urgent ="}},
        machine_promises.a_notice_without_a_standby_launches_at_once_elsewhere,
    ),
    "H34: the standby is launched beside the primary": (
        {"staffing": {"    taken = {holder.pool} if holder else set()\n": "    taken: set[str] = set()\n"}},
        machine_promises.a_notice_without_a_standby_launches_at_once_elsewhere,
    ),
    "B11: each notice launches a replica": (
        {
            "staffing": {
                "    if not lacking and not (urgent and not covered(situation)):": "    if not urgent:"
            }
        },
        machine_promises.one_emergency_replica_however_many_notices_come,
    ),
    "H34: a pool that failed is tried again": (
        {"staffing": {"if pool not in failed | taken]": "if pool not in taken]"}},
        machine_promises.a_failed_pool_is_left_alone_and_on_demand_follows,
    ),
    "H37: a former primary is ended while its successor is broken": (
        {"departure": {"        if _has_data(situation, member) and not well:\n": "        if False:\n"}},
        machine_promises.a_former_primary_is_ended_only_while_another_serves_well,
    ),
    "H37: a zombie that may be the last good copy is condemned": (
        {"departure": {"if ours and serves_well(situation):": "if ours:"}},
        machine_promises.a_zombie_is_not_condemned_while_it_may_be_the_last_good_copy,
    ),
    "B7: the wait before an end is lost": (
        {"departure": {"        if situation.now_s < member.terminate_at_s:": "        if False:"}},
        machine_promises.the_wait_before_an_end_is_kept,
    ),
    "S7: what was asked to end is taken for gone": (
        {"departure": {"return one.state is State.TERMINATED\n": "return bool(member.terminate_at_s)\n"}},
        machine_promises.terminated_is_the_clouds_word,
    ),
    "S-F5: what one list lacks is gone": (
        {"departure": {"situation.now_s >= member.missing_since_s + situation.policy.missing_s": "True"}},
        machine_promises.a_machine_that_one_list_lacks_is_not_gone,
    ),
    "B7: an expired zombie is only a row": (
        {
            "departure": {
                "        elif one is not None:\n            due": "        elif False:\n            due"
            }
        },
        machine_promises.zombies_leave_after_their_retention_and_not_before,
    ),
    "B10: retention is not waited for": (
        {"departure": {"        if situation.now_s < over_s:": "        if False:"}},
        machine_promises.zombies_leave_after_their_retention_and_not_before,
    ),
    "H30: a machine is given up by a server that was cut off": (
        {
            "staffing": {
                "        if replica.instance_id and not situation.seen.may_judge:\n": "        if False:\n"
            }
        },
        machine_promises.a_machine_that_was_not_heard_of_is_not_ended_after_a_restore,
    ),
    "H1: a late first launch is left running": (
        {"sweep": {"        elif replica.status is ReplicaStatus.FAILED or": "        elif False and"}},
        machine_promises.a_late_first_launch_is_ended_and_never_enabled,
    ),
    "S-F5: a machine that no record names is ended": (
        {
            "sweep": {
                "            strangers.append(one.instance_id)\n": (
                    "            late = Member(instance_id=one.instance_id, status=Status.TERMINATING)\n"
                    "            told = situation.told(FailoverEvent.TERMINATING, one.instance_id)\n"
                    "            return Change(replace(group, members=(*group.members, late)), (told,))\n"
                )
            }
        },
        machine_promises.a_machine_that_no_record_names_is_shown_and_left_alone,
    ),
    "B11: an emergency replica is kept for ever": (
        {"departure": {"    if extra > 0 and ours:": "    if False:"}},
        machine_promises.an_emergency_replica_is_ended_after_a_quiet_time,
    ),
    "L-F2: manual mode launches as many standbys as the other": (
        {"staffing": {"settings.standbys_wanted\n": "settings.standbys\n"}},
        mode_promises.manual_mode_keeps_exactly_one_standby,
    ),
    "L-F2: manual mode keeps as many standbys as the other": (
        {"departure": {"len(recent) - settings.standbys_wanted": "len(recent) - settings.standbys"}},
        mode_promises.manual_mode_keeps_exactly_one_standby,
    ),
    "L-F1: an agent that says it is stopping is not heard": (
        {"loss": {'report.status == "stopping" else ""': 'report.status == "" else ""'}},
        mode_promises.a_primary_whose_agent_is_stopping_hands_over,
    ),
    "H34: any pool is asked, and not the one that is ready soonest": (
        {"staffing": {"key=lambda pool: ready_s.get(pool, prior_s), ": "key=lambda pool: prior_s, "}},
        mode_promises.the_pool_that_was_ready_soonest_is_asked_first,
    ),
    "L-F2: the end of a zombie is told as any other": (
        {"departure": {"FailoverEvent.ZOMBIE_CLEANUP": "FailoverEvent.TERMINATING"}},
        mode_promises.the_end_of_a_zombie_is_told_by_the_seeds_name,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_the_story_notices(title: str) -> None:
    changes, story = VARIANTS[title]
    variant = failover_without(changes)

    with pytest.raises(AssertionError) as noticed:
        story(variant.workflow)

    print(f"{title}: {noticed.value}")
    prove("variant", title, caught_by=story.__name__.replace("_", " "))
