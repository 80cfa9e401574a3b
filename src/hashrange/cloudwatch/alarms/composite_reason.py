"""Why is a composite alarm in its state? What its reason and the data of its reason say.

Source: CloudWatch user guide, *Alarm events and EventBridge*, and alarms that users quote;
after a change of the rule: (unconfirmed).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm, StateValue
from hashrange.cloudwatch.limits import ALARM_REASON_DATA_LENGTH_MAX, ALARM_REASON_LENGTH_MAX
from hashrange.messages import alarms as sentences

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def composite_reason(alarm: Alarm, state: StateValue, watched: Sequence[Alarm]) -> tuple[str, str]:
    """The reason of a composite alarm that goes into a state, and JSON: the alarm that changed last,
    or all if the composite alarm itself did.
    """
    last = max(watched, key=lambda one: one.transitioned_seconds, default=None)
    if alarm.state == "INSUFFICIENT_DATA":
        reason = sentences.COMPOSITE_CREATED.format(arn=alarm.arn, state=state)
    elif last is None or last.transitioned_seconds < alarm.configured_seconds:
        reason = sentences.COMPOSITE_UPDATED.format(arn=alarm.arn, state=state)
    else:
        watched = [last]
        time = datetime.fromtimestamp(last.transitioned_seconds, UTC)
        day = f"{_WEEKDAYS[time.weekday()]} {time:%d} {_MONTHS[time.month - 1]}, {time:%Y %H:%M:%S} UTC"
        reason = sentences.COMPOSITE_CHANGED.format(arn=last.arn, state=last.state, time=day)
    return reason[:ALARM_REASON_LENGTH_MAX], _reason_data(watched)


def _reason_data(watched: Sequence[Alarm]) -> str:
    """The alarms and their states, as many as there is room for."""
    found, length = [], len('{"triggeringAlarms":[]}')
    for one in watched:
        time = datetime.fromtimestamp(one.transitioned_seconds, UTC)
        stamp = f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}+0000"
        text = msgspec.json.encode({"arn": one.arn, "state": {"value": one.state, "timestamp": stamp}}).decode()
        length += len(text) + 1
        if length > ALARM_REASON_DATA_LENGTH_MAX:
            break
        found.append(text)
    return f'{{"triggeringAlarms":[{",".join(found)}]}}'
