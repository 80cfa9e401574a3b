"""Which members and checks do the operations of alarms share? Names, actions, tags; members are refused with
ValidationError: in the words of the services' common layer, or in those of alarms.

Source: reports of users, who quote the service.
"""

import re
from collections.abc import Collection, Sequence
from typing import NoReturn, TypeVar

import msgspec

from hashrange.aws_services.constraints import MemberChecks, lower_path
from hashrange.aws_services.operation import Caller, FormWire, MemberFault, ServiceError
from hashrange.aws_services.tagging import is_reserved_tag
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.alarms.alarm import ActionConfiguration, AlarmActions, AlarmDefinition
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.region_names import REGION_NAMES
from hashrange.cloudwatch.api.checks import check_length, refuse_value
from hashrange.items.steps import walk
from hashrange.messages import alarms as sentences
from hashrange.messages import cloudwatch as metric_sentences

MemberT = TypeVar("MemberT")


def _shown_path(path: str) -> str:
    """`AlarmActions.1` → `alarmActions.1.member`."""
    return ".".join(f"{part}.member" if part.isdecimal() else part for part in lower_path(path).split("."))


ALARM_MEMBERS = MemberChecks("ValidationError", _shown_path, shown_max=200)


def word_alarm_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members are wrong."""
    text = sentences.MALFORMED.format(path=_shown_path(fault.path), detail=fault.detail)
    return ALARM_MEMBERS.worded(fault) or ServiceError("ValidationError", text)


ALARM_FORM = FormWire(word=word_alarm_fault)


def refuse_alarm(message: str) -> NoReturn:
    """Raise the error with this message."""
    raise ServiceError("ValidationError", message)


def required_alarm_member(path: str, value: MemberT | None) -> MemberT:
    """The value of a member that an alarm of this kind needs. Raises ServiceError if the request lacks it."""
    if value is None:
        refuse_alarm(sentences.NULL.format(path=path))
    return value


# --- names, actions, tags -------------------------------------------------------------------------


class TagMember(msgspec.Struct, frozen=True):
    """One tag."""

    Key: str
    Value: str


def check_alarm_name(name: str, path: str = "AlarmName") -> None:
    """Raise ServiceError for a name that no alarm may have."""
    ALARM_MEMBERS.check_length(path, name, limits.ALARM_NAME_LENGTH_MAX)
    if not name.isprintable():
        refuse_alarm(sentences.NAME_UNPRINTABLE.format(path=path))


def check_alarm_place(alarms: Alarms, caller: Caller, name: str, *, is_composite: bool) -> None:
    """Raise ServiceError if the alarm of this name is of the other kind, or if there is none
    and it would be one too many.
    """
    before = alarms.get(caller.account, caller.region, name)
    if before is None and alarms.count(caller.account, caller.region) >= limits.ALARMS_MAX:
        raise ServiceError("LimitExceededFault", sentences.TOO_MANY_ALARMS.format(most=limits.ALARMS_MAX))
    if before is not None and before.definition.is_composite != is_composite:
        refuse_alarm(sentences.OTHER_KIND.format(name=name))


class AlarmMembers(msgspec.Struct, frozen=True, kw_only=True):
    """The members that the requests for all kinds of alarms share."""

    AlarmName: str
    AlarmDescription: str | None = None
    ActionsEnabled: bool | None = None
    OKActions: list[str] | None = None
    AlarmActions: list[str] | None = None
    InsufficientDataActions: list[str] | None = None
    Tags: list[TagMember] | None = None
    ActionConfiguration: "ActionConfiguration | None" = None


def shared_definition(alarms: Alarms, caller: Caller, request: AlarmMembers) -> AlarmDefinition:
    """What the members say that the requests for all kinds of alarms share. Raises ServiceError for actions."""
    actions, configuration = _actions_of(alarms, caller, request), request.ActionConfiguration
    return AlarmDefinition(request.AlarmName, request.AlarmDescription, actions, action_configuration=configuration)


def _actions_of(alarms: Alarms, caller: Caller, request: AlarmMembers) -> AlarmActions:
    given = {name: getattr(request, name) or () for name in ("OKActions", "AlarmActions", "InsufficientDataActions")}
    for path, actions in given.items():
        ALARM_MEMBERS.check_count(path, actions, limits.ALARM_ACTIONS_MAX)
        for place, action in enumerate(actions, 1):
            ALARM_MEMBERS.check_length(f"{path}.{place}", action, limits.ALARM_ACTION_LENGTH_MAX)
            is_arn = re.match(r"arn:[^:]+:[^:]+:[^:]*:[^:]*:.", action) is not None
            if not (is_arn or action.startswith(("http://", "https://"))) or not action.isprintable():
                refuse_alarm(sentences.ACTION_UNKNOWN.format(path=path, action=action))
            _check_topic(alarms, caller, action)
    ok, alarm, insufficient_data = map(tuple, given.values())
    return AlarmActions(ok, alarm, insufficient_data, request.ActionsEnabled is not False)


def _check_topic(alarms: Alarms, caller: Caller, action: str) -> None:
    """Raise ServiceError if the action is an SNS topic of another Region;
    Regions that AWS lacks have no topics of their own.

    Source: reports of users.
    """
    topic = re.match(r"arn:[^:]+:sns:([^:]*):", action)
    if topic is None or topic[1] == caller.region:
        return
    if alarms.has_regions and caller.region in REGION_NAMES:
        refuse_alarm(sentences.TOPIC_ELSEWHERE.format(region=topic[1], supported=caller.region))


def check_action_configuration(configuration: ActionConfiguration | None) -> None:
    """Raise ServiceError for keys of tags that are too many or too long, or given in both lists."""
    propagation = None if configuration is None else configuration.AlarmTagsPropagation
    if propagation is None:
        return
    lists = ("IncludedTagKeys", propagation.IncludedTagKeys), ("ExcludedTagKeys", propagation.ExcludedTagKeys)
    for name, keys in lists:
        if keys is None:
            continue
        path = f"ActionConfiguration.AlarmTagsPropagation.{name}"
        ALARM_MEMBERS.check_count(path, keys, limits.ALARM_TAGS_MAX, 1)
        for place, key in enumerate(keys, 1):
            ALARM_MEMBERS.check_length(f"{path}.{place}", key, limits.ALARM_TAG_KEY_LENGTH_MAX)
    if all(keys is not None for _, keys in lists):
        refuse_alarm(sentences.TAG_KEYS_TWICE)


def check_alarm_tag_keys(path: str, keys: Collection[str]) -> None:
    """Raise ServiceError if a key is reserved; may give way."""
    for place, key in enumerate(walk(keys), 1):
        if is_reserved_tag(key):
            refuse_value(metric_sentences.TAG_RESERVED.format(path=f"{path}.{place}"))


def tags_of(tags: Sequence[TagMember] | None) -> dict[str, str]:
    """The tags of a request; may give way. Raises ServiceError."""
    check_alarm_tag_keys("Tags", [tag.Key for tag in walk(tags or ())])
    found: dict[str, str] = {}
    for place, tag in enumerate(walk(tags or ()), 1):
        check_length(f"Tags.{place}.Key", tag.Key, limits.ALARM_TAG_KEY_LENGTH_MAX)
        check_length(f"Tags.{place}.Value", tag.Value, 256, 0)
        if tag.Key in found:
            refuse_value(sentences.TAG_TWICE.format(key=tag.Key))
        found[tag.Key] = tag.Value
    if len(found) > limits.ALARM_TAGS_MAX:
        refuse_value(metric_sentences.TOO_MANY.format(path="Tags", most=limits.ALARM_TAGS_MAX))
    return found


def require_alarm(alarms: Alarms, caller: Caller, name: str) -> None:
    """Raise ServiceError if there is no alarm of this name."""
    if alarms.get(*caller, name) is None:
        raise ServiceError("ResourceNotFound", sentences.NO_SUCH_ALARM.format(name=name))
