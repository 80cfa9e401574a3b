"""PutCompositeAlarm: creates an alarm whose state follows from those of other alarms, or replaces its definition."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.alarms.alarm import Suppressor, name_in
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import (
    ALARM_FORM,
    ALARM_MEMBERS,
    AlarmMembers,
    check_action_configuration,
    check_alarm_name,
    check_alarm_place,
    refuse_alarm,
    required_alarm_member,
    shared_definition,
    tags_of,
)
from hashrange.cloudwatch.alarms.rule import RuleError, RuleNode, read_rule
from hashrange.messages import alarms as sentences


class PutCompositeAlarmRequest(AlarmMembers, frozen=True, kw_only=True):
    """Request of PutCompositeAlarm. Periods in seconds."""

    AlarmRule: str
    ActionsSuppressor: str | None = None
    ActionsSuppressorWaitPeriod: Annotated[int, Meta(ge=0, le=limits.CLOUDWATCH_INTEGER_MAX)] | None = None
    ActionsSuppressorExtensionPeriod: Annotated[int, Meta(ge=0, le=limits.CLOUDWATCH_INTEGER_MAX)] | None = None


async def put_composite_alarm(alarms: Alarms, caller: Caller, request: PutCompositeAlarmRequest) -> None:
    """Creates or replaces the alarm. Raises ServiceError and StorageError."""
    check_alarm_name(request.AlarmName)
    ALARM_MEMBERS.check_length("AlarmDescription", request.AlarmDescription, limits.ALARM_DESCRIPTION_LENGTH_MAX, 0)
    check_action_configuration(request.ActionConfiguration)
    ALARM_MEMBERS.check_length("AlarmRule", request.AlarmRule, limits.ALARM_RULE_LENGTH_MAX)
    rule = _checked_rule(alarms, caller, request)
    check_alarm_place(alarms, caller, request.AlarmName, is_composite=True)
    shared = shared_definition(alarms, caller, request)
    definition = msgspec.structs.replace(shared, rule=request.AlarmRule, suppressor=_suppressor(caller, request))
    alarm = await alarms.put(caller.account, caller.region, definition, tags_of(request.Tags))
    alarms.rules.keep(alarm, rule)


def _checked_rule(alarms: Alarms, caller: Caller, request: PutCompositeAlarmRequest) -> RuleNode:
    """The rule. Raises ServiceError for one that cannot be read, names an alarm that does not exist,
    or comes back to the alarm itself.
    """
    if request.AlarmRule != request.AlarmRule.strip():
        refuse_alarm(sentences.RULE_BLANKS)
    try:
        rule = read_rule(request.AlarmRule, *caller)
    except RuleError as error:
        refuse_alarm(sentences.RULE_WRONG.format(reason=error))
    names = dict.fromkeys(rule.alarms())
    if len(names) > limits.ALARM_RULE_ALARMS_MAX:
        refuse_alarm(sentences.RULE_TOO_LONG.format(most=limits.ALARM_RULE_ALARMS_MAX))
    missing = [name for name in names if alarms.get(caller.account, caller.region, name) is None]
    if missing and missing != [request.AlarmName]:
        refuse_alarm(sentences.RULE_OF_NOTHING.format(names=", ".join(missing)))
    seen: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name == request.AlarmName:
            refuse_alarm(sentences.RULE_CYCLE)
        if name in seen:
            continue
        seen.add(name)
        other = alarms.get(caller.account, caller.region, name)
        if other is not None and other.definition.rule is not None:
            left += alarms.rules.watched_by(other)
    return rule


def _suppressor(caller: Caller, request: PutCompositeAlarmRequest) -> Suppressor | None:
    wait_seconds, extension_seconds = request.ActionsSuppressorWaitPeriod, request.ActionsSuppressorExtensionPeriod
    if request.ActionsSuppressor is None and wait_seconds is None and extension_seconds is None:
        return None
    suppressor = Suppressor(
        required_alarm_member("ActionsSuppressor", request.ActionsSuppressor),
        required_alarm_member("ActionsSuppressorWaitPeriod", wait_seconds),
        required_alarm_member("ActionsSuppressorExtensionPeriod", extension_seconds),
    )
    if name_in(suppressor.alarm, *caller) == request.AlarmName:
        refuse_alarm(sentences.RULE_CYCLE)
    return suppressor


OPERATION = Operation("PutCompositeAlarm", PutCompositeAlarmRequest, put_composite_alarm, ALARM_FORM)
