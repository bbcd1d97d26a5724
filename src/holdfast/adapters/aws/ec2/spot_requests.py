"""Which spot machines EC2 is taking back, as its own spot requests say.

The same warning that EventBridge brings, for those who have no queue: the status of a request becomes
`marked-for-…` when the two minutes begin.  A rebalance recommendation is not shown here.
"""

from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws.errors import translate_errors
from holdfast.adapters.aws.events import WARNING_S
from holdfast.cloud import Notice, NoticeKind

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

DESCRIBE: Final = "ec2:DescribeSpotInstanceRequests"
MARKED: Final = ("marked-for-termination", "marked-for-stop")


def list_marked(client: "EC2Client") -> list[Notice]:
    """Every machine of the account and region that is marked, ours or not.  Repeatable."""
    with translate_errors(DESCRIBE, changes=False):
        pages = client.get_paginator("describe_spot_instance_requests").paginate(
            Filters=[{"Name": "status-code", "Values": list(MARKED)}]
        )
        requests = [request for page in pages for request in page["SpotInstanceRequests"]]
    notices = []
    for request in requests:
        status = request.get("Status", {})
        # A server that does not know the filter answers with all of them.
        if status.get("Code") in MARKED and "InstanceId" in request and "UpdateTime" in status:
            at_s = int(status["UpdateTime"].timestamp())
            notices.append(Notice(request["InstanceId"], NoticeKind.INTERRUPTION, at_s, at_s + WARNING_S))
    return notices
