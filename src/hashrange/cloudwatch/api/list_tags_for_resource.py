"""ListTagsForResource: which tags does an alarm have?"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.api.tags import find_tagged_alarm


class ListAlarmTagsRequest(msgspec.Struct, frozen=True):
    """Request of ListTagsForResource."""

    ResourceARN: str


async def list_alarm_tags(alarms: Alarms, caller: Caller, request: ListAlarmTagsRequest) -> Mapping[str, Any]:
    """Returns all tags. Raises ServiceError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    return {"Tags": [{"Key": key, "Value": value} for key, value in alarm.tags.items()]}


OPERATION = Operation("ListTagsForResource", ListAlarmTagsRequest, list_alarm_tags, FORM)
