"""EnableAlarmActions: lets alarms execute their actions again."""

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import word_alarm_fault
from hashrange.cloudwatch.alarms.api.members import switch_actions


class EnableAlarmActionsRequest(msgspec.Struct, frozen=True):
    """Request of EnableAlarmActions."""

    AlarmNames: list[str]


async def enable_alarm_actions(alarms: Alarms, caller: Caller, request: EnableAlarmActionsRequest) -> None:
    """Names without an alarm are passed over. Raises ServiceError and StorageError."""
    await switch_actions(alarms, caller, request.AlarmNames, are_enabled=True)


OPERATION = Operation(
    "EnableAlarmActions", EnableAlarmActionsRequest, enable_alarm_actions, FormWire(word=word_alarm_fault)
)
