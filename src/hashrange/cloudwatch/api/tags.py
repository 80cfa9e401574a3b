"""The operations on tags of alarms: TagResource, UntagResource, ListTagsForResource. Other resources have no tags."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import TagMember, check_alarm_tag_keys, tags_of
from hashrange.cloudwatch.api.checks import check_length, refuse_value
from hashrange.cloudwatch.limits import ALARM_TAGS_MAX, METRIC_ARN_LENGTH_MAX
from hashrange.messages import cloudwatch as sentences

_alarm_arn = re.compile(r"arn:[^:]+:cloudwatch:([^:]*):([^:]*):alarm:(.+)", re.DOTALL).fullmatch
_any_arn = re.compile(r"arn:[^:]+:cloudwatch:[^:]*:[^:]*:.+", re.DOTALL).fullmatch


def find_tagged_alarm(alarms: Alarms, caller: Caller, arn: str) -> Alarm:
    """The alarm of this ARN, of the caller's account and Region. Raises ServiceError; other resources have no tags."""
    check_length("ResourceARN", arn, METRIC_ARN_LENGTH_MAX)
    if not _any_arn(arn):
        refuse_value(sentences.NOT_AN_ARN.format(arn=arn))
    match = _alarm_arn(arn)
    if match is None or match.group(1, 2) != (caller.region, caller.account):
        _raise_not_found(arn)
    alarm = alarms.get(caller.account, caller.region, match[3])
    if alarm is None:
        _raise_not_found(arn)
    return alarm


def _raise_not_found(arn: str) -> NoReturn:
    message = sentences.NO_SUCH_RESOURCE.format(arn=arn)
    raise ServiceError("ResourceNotFoundException", message, ResourceType="Alarm", ResourceId=arn)


class TagAlarmRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceARN: str
    Tags: list[TagMember]


async def tag_alarm(alarms: Alarms, caller: Caller, request: TagAlarmRequest) -> None:
    """Checks the ARN, the tags, and their number. Raises ServiceError, StorageError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    tags = {**alarm.tags, **tags_of(request.Tags)}
    if len(tags) > ALARM_TAGS_MAX:
        refuse_value(sentences.TOO_MANY_TAGS.format(most=ALARM_TAGS_MAX))
    await alarms.set_tags(alarm, tags)


class UntagAlarmRequest(msgspec.Struct, frozen=True):
    """Request of UntagResource."""

    ResourceARN: str
    TagKeys: list[str]


async def untag_alarm(alarms: Alarms, caller: Caller, request: UntagAlarmRequest) -> None:
    """Checks the ARN, then the keys. Raises ServiceError, StorageError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    check_alarm_tag_keys("TagKeys", request.TagKeys)
    await alarms.set_tags(alarm, {key: value for key, value in alarm.tags.items() if key not in request.TagKeys})


class ListAlarmTagsRequest(msgspec.Struct, frozen=True):
    """Request of ListTagsForResource."""

    ResourceARN: str


async def list_alarm_tags(alarms: Alarms, caller: Caller, request: ListAlarmTagsRequest) -> Mapping[str, Any]:
    """Returns all tags. Raises ServiceError."""
    alarm = find_tagged_alarm(alarms, caller, request.ResourceARN)
    return {"Tags": [{"Key": key, "Value": value} for key, value in alarm.tags.items()]}


OPERATIONS = (
    Operation("TagResource", TagAlarmRequest, tag_alarm, FORM),
    Operation("UntagResource", UntagAlarmRequest, untag_alarm, FORM),
    Operation("ListTagsForResource", ListAlarmTagsRequest, list_alarm_tags, FORM),
)
