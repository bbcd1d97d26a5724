"""DescribeSpotInstanceRequests: one request a spot instance, as RunInstances makes it; moto keeps none."""

import uuid
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from tools.parts.ec2.api.errors import AwsError
from tools.parts.ec2.api.wire import NAMESPACE, Answer, Call
from tools.parts.ec2.log import stamp
from tools.parts.ec2.machines.instance import GONE, Tracked

FULFILLED, MARKED, ENDED = "fulfilled", "marked-for-termination", "instance-terminated-no-capacity"
BY_USER = "instance-terminated-by-user"
FILTERS = ("status-code", "instance-id", "state")


def spot_requests_answer(call: Call, instances: Iterable[Tracked]) -> Answer:
    wanted = dict(_filters(call))
    items = []
    for tracked in instances:
        if tracked.region != call.region or tracked.market != "spot":
            continue
        code, at = _status(tracked)
        state = "closed" if tracked.state in GONE else "active"
        facts = {"status-code": code, "instance-id": tracked.id, "state": state}
        if all(facts[name] in values for name, values in wanted.items()):
            items.append(_item(tracked, state, code, at))
    body = (
        f'<DescribeSpotInstanceRequestsResponse xmlns="{NAMESPACE}"><requestId>{uuid.uuid4()}</requestId>'
        f"<spotInstanceRequestSet>{''.join(items)}</spotInstanceRequestSet>"
        "</DescribeSpotInstanceRequestsResponse>"
    )
    return Answer(200, body.encode())


def _status(tracked: Tracked) -> tuple[str, str]:
    changed = stamp(tracked.past[-1].at_s)
    if tracked.state in GONE:
        return (ENDED if tracked.marked_at else BY_USER), changed
    if tracked.marked_at:
        return MARKED, tracked.marked_at
    return FULFILLED, stamp(tracked.past[0].at_s)


def _filters(call: Call) -> Iterator[tuple[str, set[str]]]:
    names = {
        key: value for key, value in call.form.items() if key.startswith("Filter.") and key.endswith("Name")
    }
    for key, name in names.items():
        if name not in FILTERS:
            raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
        before = key.removesuffix("Name") + "Value."
        yield name, {value for other, value in call.form.items() if other.startswith(before)}


def _item(tracked: Tracked, state: str, code: str, at: str) -> str:
    return (
        f"<item><spotInstanceRequestId>{escape(tracked.spot_request or '')}</spotInstanceRequestId>"
        f"<type>one-time</type><state>{state}</state><instanceId>{tracked.id}</instanceId>"
        f"<status><code>{code}</code><updateTime>{at}</updateTime></status></item>"
    )
