"""EnableAlarmActions and DisableAlarmActions: let alarms execute their actions, or not."""

from collections.abc import Sequence

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import check_alarm_count, word_alarm_fault
from hashrange.cloudwatch.alarms.api.members import check_alarm_name
from hashrange.cloudwatch.limits import ALARMS_DELETED_MAX


class SwitchAlarmActionsRequest(msgspec.Struct, frozen=True):
    """Request of EnableAlarmActions and DisableAlarmActions."""

    AlarmNames: list[str]


async def enable_alarm_actions(alarms: Alarms, caller: Caller, request: SwitchAlarmActionsRequest) -> None:
    """Names without an alarm are passed over. Raises ServiceError and StorageError."""
    await _switch_actions(alarms, caller, request.AlarmNames, are_enabled=True)


async def disable_alarm_actions(alarms: Alarms, caller: Caller, request: SwitchAlarmActionsRequest) -> None:
    """Names without an alarm are passed over. Raises ServiceError and StorageError."""
    await _switch_actions(alarms, caller, request.AlarmNames, are_enabled=False)


async def _switch_actions(alarms: Alarms, caller: Caller, names: Sequence[str], *, are_enabled: bool) -> None:
    """Let the alarms of these names execute their actions, or not. Raises ServiceError and StorageError."""
    check_alarm_count("AlarmNames", names, ALARMS_DELETED_MAX)
    for place, name in enumerate(names, 1):
        check_alarm_name(name, f"AlarmNames.{place}")
    for name in dict.fromkeys(names):
        alarm = alarms.get(caller.account, caller.region, name)
        if alarm is not None and alarm.definition.actions.are_enabled != are_enabled:
            await alarms.enable_actions(alarm, are_enabled=are_enabled)


OPERATIONS = (
    Operation("DisableAlarmActions", SwitchAlarmActionsRequest, disable_alarm_actions, FormWire(word=word_alarm_fault)),
    Operation("EnableAlarmActions", SwitchAlarmActionsRequest, enable_alarm_actions, FormWire(word=word_alarm_fault)),
)
