"""The operations on tags of alarms: TagResource, UntagResource, ListTagsForResource. Other resources have no tags."""

import re
from collections.abc import Collection, Sequence

from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.aws_services.tagging import TaggedArnRequest, Tagging, TagSet, UntagArnRequest, kept_by, key_value_tags
from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import TagMember, check_alarm_tag_keys, tags_of
from hashrange.cloudwatch.api.checks import check_length, refuse_value
from hashrange.cloudwatch.limits import ALARM_TAGS_MAX, METRIC_ARN_LENGTH_MAX
from hashrange.items.steps import walk
from hashrange.messages import cloudwatch as sentences

_alarm_arn = re.compile(r"arn:[^:]+:cloudwatch:([^:]*):([^:]*):alarm:(.+)", re.DOTALL).fullmatch
_any_arn = re.compile(r"arn:[^:]+:cloudwatch:[^:]*:[^:]*:.+", re.DOTALL).fullmatch


class TagAlarmRequest(TaggedArnRequest, frozen=True):
    """Request of TagResource."""

    Tags: list[TagMember]


def find_tagged_alarm(alarms: Alarms, caller: Caller, request: TaggedArnRequest) -> Alarm:
    """The alarm of the ARN, of the caller's account and Region. Raises ServiceError; other resources have no tags."""
    arn = request.ResourceARN
    check_length("ResourceARN", arn, METRIC_ARN_LENGTH_MAX)
    if not _any_arn(arn):
        refuse_value(sentences.NOT_AN_ARN.format(arn=arn))
    match = _alarm_arn(arn)
    alarm = None
    if match is not None and match.group(1, 2) == (caller.region, caller.account):
        alarm = alarms.get(caller.account, caller.region, match[3])
    if alarm is None:
        message = sentences.NO_SUCH_RESOURCE.format(arn=arn)
        raise ServiceError("ResourceNotFoundException", message, ResourceType="Alarm", ResourceId=arn)
    return alarm


def _added(_: Alarm, present: TagSet, given: Sequence[TagMember]) -> dict[str, str]:
    tags = {**present, **tags_of(given)}
    if len(tags) > ALARM_TAGS_MAX:
        refuse_value(sentences.TOO_MANY_TAGS.format(most=ALARM_TAGS_MAX))
    return tags


def _gone(_: TagSet, keys: Sequence[str]) -> Collection[str]:
    check_alarm_tag_keys("TagKeys", keys)
    return set(walk(keys))


_TAGGING = Tagging(find_tagged_alarm, _added, kept_by(Alarms.keep), _gone, key_value_tags)
OPERATIONS = (
    Operation("TagResource", TagAlarmRequest, _TAGGING.tag, FORM),
    Operation("UntagResource", UntagArnRequest, _TAGGING.untag, FORM),
    Operation("ListTagsForResource", TaggedArnRequest, _TAGGING.list_tags, FORM),
)
