"""UntagResource: removes tags from an alarm. Keys that the alarm does not have are passed over."""

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import check_alarm_tag_keys
from hashrange.cloudwatch.api.tags import find_tagged_alarm


class UntagAlarmRequest(msgspec.Struct, frozen=True):
    """Request of UntagResource."""

    ResourceARN: str
    TagKeys: list[str]


async def untag_alarm(alarms: Alarms, caller: Caller, request: UntagAlarmRequest) -> None:
    """Checks the ARN, then the keys. Raises ServiceError, StorageError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    check_alarm_tag_keys("TagKeys", request.TagKeys)
    await alarms.set_tags(alarm, {key: value for key, value in alarm.tags.items() if key not in request.TagKeys})


OPERATION = Operation("UntagResource", UntagAlarmRequest, untag_alarm, FORM)
