"""TagResource: adds tags to an alarm, or replaces their values."""

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import TagMember, tags_of
from hashrange.cloudwatch.api.checks import refuse_value
from hashrange.cloudwatch.api.tags import find_tagged_alarm
from hashrange.cloudwatch.limits import ALARM_TAGS_MAX
from hashrange.messages.cloudwatch import TOO_MANY_TAGS


class TagAlarmRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceARN: str
    Tags: list[TagMember]


async def tag_alarm(alarms: Alarms, caller: Caller, request: TagAlarmRequest) -> None:
    """Checks the ARN, the tags, and their number. Raises ServiceError, StorageError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    tags = {**alarm.tags, **tags_of(request.Tags)}
    if len(tags) > ALARM_TAGS_MAX:
        refuse_value(TOO_MANY_TAGS.format(most=ALARM_TAGS_MAX))
    await alarms.set_tags(alarm, tags)


OPERATION = Operation("TagResource", TagAlarmRequest, tag_alarm, FORM)
