"""Which alarm does a request about tags name?"""

import re
from typing import NoReturn

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.api.checks import check_length, refuse_value
from hashrange.cloudwatch.limits import METRIC_ARN_LENGTH_MAX
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
