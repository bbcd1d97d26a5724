"""Notices, alone and in batches: ours are answered once, others' not at all, and bad ones do no harm."""

from datetime import UTC, datetime, timedelta

from holdfast.autoscaler.record import Cluster
from holdfast.cloud import NoticeKind
from tests.real.product.lambda_handler.lab import TYPE, Lab, event, lines, message

INTERRUPTION = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
STATE_CHANGE = "EC2 Instance State-change Notification"


def now(*, ago_s: float = 0) -> str:
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_notices_for_an_instance_of_another_cluster_touch_nothing(lab: Lab) -> None:
    api, site = lab.site.client("ec2"), lab.site
    subnet = next(iter(site.subnets.values()))
    answer = api.run_instances(ImageId=site.image, InstanceType=TYPE, SubnetId=subnet, MinCount=1, MaxCount=1)
    foreign = answer["Instances"][0]["InstanceId"]
    site.ec2.wait_for_state(foreign, "running")
    with lab.function() as function:
        for kind, detail in (
            (INTERRUPTION, {"instance-action": "terminate"}),
            (REBALANCE, {}),
            (STATE_CHANGE, {"state": "stopping"}),
        ):
            said = function.invoke(event(kind, foreign, now(), **detail))
            assert said["outcome"] == "nothing to do", said
        assert lab.inbox.waiting() == [], "it is listed, and not ours: nothing is kept of it"
        old = event(REBALANCE, "i-0123456789abcdef0", now(ago_s=3_600))
        assert function.invoke(old)["outcome"] in ("idle", "nothing to do")
        assert lab.inbox.waiting() == []
    assert lab.record().interrupted == ()
    assert lab.launches() == []
    assert foreign not in lab.terminated()
    assert site.ec2.instance(foreign)["state"] == "running"
    api.terminate_instances(InstanceIds=[foreign])


def test_a_batch_with_copies_and_a_bad_message_interrupts_the_worker_once(lab: Lab) -> None:
    with lab.function(MIN_WORKERS="1") as function:
        lab.tick_until_idle(function)
        (first,) = lab.launches()
        (worker,) = first["instances"]
        deadline = lab.site.ec2.interrupt(worker, in_s=120)
        warning = event(INTERRUPTION, worker, now(), **{"instance-action": "terminate"})
        answer = function.invoke(
            {
                "Records": [
                    message(warning, "m-1"),
                    message("{", "m-bad"),
                    message(warning, "m-2"),
                    message(event(STATE_CHANGE, worker, now(), state="running"), "m-3"),
                ]
            }
        )
        assert answer == {"batchItemFailures": []}, deadline
        assert any("m-bad" in str(line.get("msg")) for line in lines(function))
        (interrupted,) = lab.record().interrupted
        assert (interrupted.instance_id, interrupted.kind) == (worker, NoticeKind.INTERRUPTION)
        assert function.invoke({"Records": [message(warning, "m-9")]}) == {"batchItemFailures": []}
        (replacement,) = lab.launches()[1:]
        assert replacement["instances"] != [worker]


def test_a_notice_for_a_machine_that_is_gone_already_is_folded_in(lab: Lab) -> None:
    with lab.function(MIN_WORKERS="1") as function:
        lab.tick_until_idle(function)
        (first,) = lab.launches()
        (worker,) = first["instances"]
        lab.site.ec2.fail(worker)
        lab.site.ec2.wait_for_state(worker, "terminated")
        told = event(STATE_CHANGE, worker, now(), state="terminated")
        answer = function.invoke({"Records": [message(told, "m-1")]})
        assert answer == {"batchItemFailures": []}
        lab.tick_until_idle(function)
        assert len(lab.launches()) == 2, "the floor is kept by one more"
    record: Cluster = lab.record()
    assert not record.scaling_in_progress
