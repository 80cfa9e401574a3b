"""Which operations of CloudWatch's API are served? Those listed here."""

from collections.abc import Sequence

from hashrange.aws_services.operation import FormWire, Operation, ServiceApi, bound
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api import change_alarms, describe_alarms, put_composite_alarm, put_metric_alarm
from hashrange.cloudwatch.api import (
    get_metric_data,
    get_metric_statistics,
    list_metrics,
    put_metric_data,
    tags,
)
from hashrange.cloudwatch.api.checks import ERRORS, word_fault
from hashrange.cloudwatch.metrics import Metrics

METRIC_OPERATIONS = (
    get_metric_data.OPERATION,
    get_metric_statistics.OPERATION,
    list_metrics.OPERATION,
    put_metric_data.OPERATION,
)
ALARM_OPERATIONS = (
    put_metric_alarm.OPERATION,
    put_composite_alarm.OPERATION,
    *change_alarms.OPERATIONS,
    *describe_alarms.OPERATIONS,
    *tags.OPERATIONS,
)
ALL_NAMES = frozenset(
    {
        "AssociateDatasetKmsKey",
        "CreateResourceMetricsConfiguration",
        "DeleteAlarmMuteRule",
        "DeleteAlarms",
        "DeleteAnomalyDetector",
        "DeleteDashboards",
        "DeleteInsightRules",
        "DeleteMetricDataQueryDefinition",
        "DeleteMetricStream",
        "DeleteResourceMetricsConfiguration",
        "DescribeAlarmContributors",
        "DescribeAlarmHistory",
        "DescribeAlarms",
        "DescribeAlarmsForMetric",
        "DescribeAnomalyDetectors",
        "DescribeInsightRules",
        "DisableAlarmActions",
        "DisableInsightRules",
        "DisassociateDatasetKmsKey",
        "EnableAlarmActions",
        "EnableInsightRules",
        "GetAlarmMuteRule",
        "GetDashboard",
        "GetDataset",
        "GetInsightRuleReport",
        "GetMetricData",
        "GetMetricDataQueryDefinition",
        "GetMetricStatistics",
        "GetMetricStream",
        "GetMetricWidgetImage",
        "GetOTelEnrichment",
        "GetResourceMetricsConfiguration",
        "ListAlarmMuteRules",
        "ListDashboards",
        "ListManagedInsightRules",
        "ListMetricDataQueryDefinitions",
        "ListMetricStreams",
        "ListMetrics",
        "ListTagsForResource",
        "PutAlarmMuteRule",
        "PutAnomalyDetector",
        "PutCompositeAlarm",
        "PutDashboard",
        "PutInsightRule",
        "PutLogAlarm",
        "PutManagedInsightRules",
        "PutMetricAlarm",
        "PutMetricData",
        "PutMetricDataQueryDefinition",
        "PutMetricStream",
        "SetAlarmState",
        "StartMetricStreams",
        "StartOTelEnrichment",
        "StopMetricStreams",
        "StopOTelEnrichment",
        "TagResource",
        "UntagResource",
        "UpdateOTelEnrichment",
        "UpdateResourceMetricsConfiguration",
    }
)
"""All operations of the API. Source: operations.md 6."""


def cloudwatch_api(metrics: Metrics, alarms: Alarms, others: Sequence[Operation[FormWire]] = ()) -> ServiceApi:
    """The API over these metrics and alarms. `others`: operations of insight rules."""
    operations = [*bound(METRIC_OPERATIONS, metrics), *bound(ALARM_OPERATIONS, alarms), *others]
    return ServiceApi(
        name="CloudWatch",
        signing_name="monitoring",
        target_prefix="GraniteServiceVersion20100801",
        json_version="1.0",
        version="2010-08-01",
        operations=operations,
        unserved=ALL_NAMES - {operation.name for operation in operations},
        word=word_fault,
        errors=ERRORS,
        internal_error="InternalServiceFault",
        map_members=frozenset({"ExtendedStatistics"}),
        xml_namespace="http://monitoring.amazonaws.com/doc/2010-08-01/",
    )
