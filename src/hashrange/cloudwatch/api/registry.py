"""Which operations of CloudWatch's API are served? Those listed here."""

from collections.abc import Sequence

from hashrange.aws_services.operation import FormWire, Operation, ServiceApi, bound
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api import change_alarms, describe_alarms, put_composite_alarm, put_metric_alarm
from hashrange.cloudwatch.api import get_metric_data, get_metric_statistics, list_metrics, put_metric_data, tags
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
_UNSERVED_NAMES = frozenset(
    {
        "AssociateDatasetKmsKey",
        "CreateResourceMetricsConfiguration",
        "DeleteAlarmMuteRule",
        "DeleteAnomalyDetector",
        "DeleteDashboards",
        "DeleteInsightRules",
        "DeleteMetricDataQueryDefinition",
        "DeleteMetricStream",
        "DeleteResourceMetricsConfiguration",
        "DescribeAlarmContributors",
        "DescribeAnomalyDetectors",
        "DisableInsightRules",
        "DisassociateDatasetKmsKey",
        "EnableInsightRules",
        "GetAlarmMuteRule",
        "GetDashboard",
        "GetDataset",
        "GetMetricDataQueryDefinition",
        "GetMetricStream",
        "GetMetricWidgetImage",
        "GetOTelEnrichment",
        "GetResourceMetricsConfiguration",
        "ListAlarmMuteRules",
        "ListDashboards",
        "ListManagedInsightRules",
        "ListMetricDataQueryDefinitions",
        "ListMetricStreams",
        "PutAlarmMuteRule",
        "PutAnomalyDetector",
        "PutDashboard",
        "PutInsightRule",
        "PutLogAlarm",
        "PutManagedInsightRules",
        "PutMetricDataQueryDefinition",
        "PutMetricStream",
        "StartMetricStreams",
        "StartOTelEnrichment",
        "StopMetricStreams",
        "StopOTelEnrichment",
        "UpdateOTelEnrichment",
        "UpdateResourceMetricsConfiguration",
    }
)
"""Operations of the API that are not served. Source: operations.md 6."""


def cloudwatch_api(metrics: Metrics, alarms: Alarms, others: Sequence[Operation[FormWire]] = ()) -> ServiceApi:
    """The API over these metrics and alarms. `others`: operations of insight rules."""
    return ServiceApi(
        name="CloudWatch",
        signing_name="monitoring",
        target_prefix="GraniteServiceVersion20100801",
        json_version="1.0",
        version="2010-08-01",
        operations=[*bound(METRIC_OPERATIONS, metrics), *bound(ALARM_OPERATIONS, alarms), *others],
        unserved=_UNSERVED_NAMES,
        word=word_fault,
        errors=ERRORS,
        internal_error="InternalServiceFault",
        map_members=frozenset({"ExtendedStatistics"}),
        xml_namespace="http://monitoring.amazonaws.com/doc/2010-08-01/",
    )
