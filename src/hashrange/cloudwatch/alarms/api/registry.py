"""Which operations on alarms are served? Those listed here."""

from hashrange.cloudwatch.alarms.api import (
    delete_alarms,
    describe_alarm_history,
    describe_alarms,
    describe_alarms_for_metric,
    put_composite_alarm,
    put_metric_alarm,
    set_alarm_state,
    switch_alarm_actions,
)

ALARM_OPERATIONS = (
    delete_alarms.OPERATION,
    describe_alarm_history.OPERATION,
    describe_alarms.OPERATION,
    describe_alarms_for_metric.OPERATION,
    put_composite_alarm.OPERATION,
    put_metric_alarm.OPERATION,
    set_alarm_state.OPERATION,
    *switch_alarm_actions.OPERATIONS,
)
