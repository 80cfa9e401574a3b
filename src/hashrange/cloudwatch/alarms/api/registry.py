"""Which operations on alarms are served? Those listed here."""

from hashrange.cloudwatch.alarms.api import (
    delete_alarms,
    describe_alarm_history,
    describe_alarms,
    describe_alarms_for_metric,
    disable_alarm_actions,
    enable_alarm_actions,
    put_composite_alarm,
    put_metric_alarm,
    set_alarm_state,
)

ALARM_OPERATIONS = (
    delete_alarms.OPERATION,
    describe_alarm_history.OPERATION,
    describe_alarms.OPERATION,
    describe_alarms_for_metric.OPERATION,
    disable_alarm_actions.OPERATION,
    enable_alarm_actions.OPERATION,
    put_composite_alarm.OPERATION,
    put_metric_alarm.OPERATION,
    set_alarm_state.OPERATION,
)
