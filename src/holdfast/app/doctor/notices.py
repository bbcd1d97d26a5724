"""How EC2's notices reach the loop: from a queue, by asking EC2, or not at all."""

from collections.abc import Iterator, Mapping

from holdfast.app.doctor.check import Check, failed
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import HoldfastError

NOTICES = "Notices"


def notices(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """Of two ways one must be open; a function has a third, the queue of its stack."""
    if not any(pool.market == "spot" for pool in settings.pools):
        yield Check(NOTICES, "spot notices", True, "no pool uses spot")
        return
    by_queue = _queue(settings, environ) if settings.notice_queue_url else None
    if by_queue is not None:
        yield by_queue
    queue_is_open = by_queue is not None and by_queue.ok is True
    yield _ec2(settings, environ, queue=queue_is_open)
    if not queue_is_open:
        says = (
            "the loop does not hear them: EC2 gives them to EventBridge and to the machine itself, and has "
            "no call that lists them"
        )
        fix = "let an EventBridge rule send them to an SQS queue, and name it in notice_queue_url"
        yield Check(NOTICES, "rebalance recommendations", None, says, fix)


def _queue(settings: Settings, environ: Mapping[str, str]) -> Check:
    from holdfast.adapters.aws.sqs import NoticeQueue
    from holdfast.app.autoscaler.clients import sqs_client

    what = f"queue {settings.notice_queue_url.rpartition('/')[2]}"
    try:
        waiting = NoticeQueue(sqs_client(settings, environ), settings.notice_queue_url).waiting()
    except HoldfastError as error:
        return failed(NOTICES, what, error)
    says = f"the loop takes notices from it at once; about {waiting} wait now"
    return Check(NOTICES, what, True, says)


def _ec2(settings: Settings, environ: Mapping[str, str], *, queue: bool) -> Check:
    from holdfast.adapters.aws.ec2.spot_requests import DESCRIBE, list_marked
    from holdfast.app.autoscaler.clients import ec2_client

    try:
        list_marked(ec2_client(settings, environ))
    except HoldfastError as error:
        if queue:
            return Check(NOTICES, DESCRIBE, None, f"not needed beside the queue ({error})")
        says = f"no way is open by which the loop would hear a spot notice: {error}"
        fix = f"grant {DESCRIBE}, or name the queue of the notices in notice_queue_url"
        return Check(NOTICES, DESCRIBE, False, says, fix)
    if queue:
        return Check(NOTICES, DESCRIBE, True, "asked at every turn as well")
    return Check(NOTICES, DESCRIBE, True, "each turn asks EC2 which machines it takes back")
