"""SetAlarmState: puts an alarm into a state, with its actions, until the next evaluation."""

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import STATES
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import check_alarm_choice, check_alarm_length, word_alarm_fault
from hashrange.cloudwatch.alarms.api.members import check_alarm_name, found_alarm
from hashrange.cloudwatch.limits import ALARM_REASON_DATA_LENGTH_MAX, ALARM_REASON_LENGTH_MAX
from hashrange.messages import alarms as sentences


class SetAlarmStateRequest(msgspec.Struct, frozen=True):
    """Request of SetAlarmState. `StateReasonData` is JSON."""

    AlarmName: str
    StateValue: str
    StateReason: str
    StateReasonData: str | None = None


async def set_alarm_state(alarms: Alarms, caller: Caller, request: SetAlarmStateRequest) -> None:
    """Changes the state. Raises ServiceError and StorageError."""
    check_alarm_name(request.AlarmName)
    check_alarm_choice("StateValue", request.StateValue, STATES)
    check_alarm_length("StateReason", request.StateReason, ALARM_REASON_LENGTH_MAX, 0)
    if request.StateReasonData is not None:
        check_alarm_length("StateReasonData", request.StateReasonData, ALARM_REASON_DATA_LENGTH_MAX, 0)
        try:
            msgspec.json.decode(request.StateReasonData)
        except (msgspec.DecodeError, RecursionError):
            raise ServiceError("InvalidFormatFault", sentences.REASON_DATA_NO_JSON) from None
    alarm = found_alarm(alarms.get(caller.account, caller.region, request.AlarmName), request.AlarmName)
    state = next(one for one in STATES if one == request.StateValue)
    await alarms.change_state(alarm, state, request.StateReason, request.StateReasonData, alarms.now_seconds())


OPERATION = Operation("SetAlarmState", SetAlarmStateRequest, set_alarm_state, FormWire(word=word_alarm_fault))
