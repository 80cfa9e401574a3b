"""The operations that change alarms by their names: DeleteAlarms, EnableAlarmActions, DisableAlarmActions,
SetAlarmState.
"""

from functools import partial

import msgspec

from hashrange.aws_services.operation import Caller, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import STATES
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import (
    ALARM_FORM,
    ALARM_MEMBERS,
    check_alarm_name,
    refuse_alarm,
    require_alarm,
)
from hashrange.cloudwatch.limits import ALARM_REASON_DATA_LENGTH_MAX, ALARM_REASON_LENGTH_MAX, ALARMS_DELETED_MAX
from hashrange.items.steps import walk
from hashrange.messages import alarms as sentences


class AlarmNamesRequest(msgspec.Struct, frozen=True):
    """Request of DeleteAlarms, EnableAlarmActions and DisableAlarmActions."""

    AlarmNames: list[str]

    def checked(self) -> list[str]:
        """The names. Raises ServiceError."""
        ALARM_MEMBERS.check_count("AlarmNames", self.AlarmNames, ALARMS_DELETED_MAX)
        for place, name in enumerate(self.AlarmNames, 1):
            check_alarm_name(name, f"AlarmNames.{place}")
        return self.AlarmNames


async def delete_alarms(alarms: Alarms, caller: Caller, request: AlarmNamesRequest) -> None:
    """DeleteAlarms: deletes alarms by their names; names without an alarm are passed over.

    Deletes the alarms, all or none. Raises ServiceError and StorageError.
    """
    names = request.checked()
    every = alarms.of(caller.account, caller.region)
    composites = [alarm for alarm in walk(every) if alarm.definition.is_composite]
    if len({alarm.name for alarm in composites} & set(names)) > 1:
        refuse_alarm(sentences.COMPOSITES_DELETED)
    if len(names) == 1:
        require_alarm(alarms, caller, names[0])
    needed: set[str] = set()
    for parent in composites:
        if parent.name not in names:
            needed.update(alarms.rules.watched_by(parent))
    if watched := [name for name in dict.fromkeys(names) if name in needed]:
        them = "it" if len(watched) == 1 else "them"
        refuse_alarm(sentences.STILL_WATCHED.format(names=",".join(watched), them=them))
    await alarms.delete(caller.account, caller.region, names)


async def _switch_actions(alarms: Alarms, caller: Caller, request: AlarmNamesRequest, *, are_enabled: bool) -> None:
    """Let the alarms of these names execute their actions, or not; names without an alarm are passed over.
    Raises ServiceError and StorageError.
    """
    for name in dict.fromkeys(request.checked()):
        await alarms.enable_actions(caller.account, caller.region, name, are_enabled=are_enabled)


class SetAlarmStateRequest(msgspec.Struct, frozen=True):
    """Request of SetAlarmState. `StateReasonData` is JSON."""

    AlarmName: str
    StateValue: str
    StateReason: str
    StateReasonData: str | None = None


async def set_alarm_state(alarms: Alarms, caller: Caller, request: SetAlarmStateRequest) -> None:
    """SetAlarmState: puts an alarm into a state, with its actions, until the next evaluation.

    Changes the state. Raises ServiceError and StorageError.
    """
    check_alarm_name(request.AlarmName)
    ALARM_MEMBERS.check_choice("StateValue", request.StateValue, STATES)
    ALARM_MEMBERS.check_length("StateReason", request.StateReason, ALARM_REASON_LENGTH_MAX, 0)
    ALARM_MEMBERS.check_length("StateReasonData", request.StateReasonData, ALARM_REASON_DATA_LENGTH_MAX, 0)
    if request.StateReasonData is not None:
        try:
            msgspec.json.decode(request.StateReasonData)
        except (msgspec.DecodeError, RecursionError):
            raise ServiceError("InvalidFormatFault", sentences.REASON_DATA_NO_JSON) from None
    require_alarm(alarms, caller, request.AlarmName)
    state = next(one for one in STATES if one == request.StateValue)
    changed = await alarms.set_state(*caller, request.AlarmName, state, request.StateReason, request.StateReasonData)
    if changed is None:
        require_alarm(alarms, caller, request.AlarmName)  # it was deleted meanwhile


OPERATIONS = (
    Operation("DeleteAlarms", AlarmNamesRequest, delete_alarms, ALARM_FORM),
    Operation("DisableAlarmActions", AlarmNamesRequest, partial(_switch_actions, are_enabled=False), ALARM_FORM),
    Operation("EnableAlarmActions", AlarmNamesRequest, partial(_switch_actions, are_enabled=True), ALARM_FORM),
    Operation("SetAlarmState", SetAlarmStateRequest, set_alarm_state, ALARM_FORM),
)
