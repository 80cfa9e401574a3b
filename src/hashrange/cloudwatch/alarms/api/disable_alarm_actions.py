"""DisableAlarmActions: keeps alarms from executing their actions."""

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import word_alarm_fault
from hashrange.cloudwatch.alarms.api.members import switch_actions


class DisableAlarmActionsRequest(msgspec.Struct, frozen=True):
    """Request of DisableAlarmActions."""

    AlarmNames: list[str]


async def disable_alarm_actions(alarms: Alarms, caller: Caller, request: DisableAlarmActionsRequest) -> None:
    """Names without an alarm are passed over. Raises ServiceError and StorageError."""
    await switch_actions(alarms, caller, request.AlarmNames, are_enabled=False)


OPERATION = Operation(
    "DisableAlarmActions", DisableAlarmActionsRequest, disable_alarm_actions, FormWire(word=word_alarm_fault)
)
