"""Which limits do metrics and alarms have? Those of CloudWatch, and bounds of our own, which say so."""

CLOUDWATCH_INTEGER_MAX = 2**31 - 1
"""Greatest number of the type Integer of the service's model."""

# --- CloudWatch's metrics ---

METRIC_FOUND_SECONDS = 14 * 86_400
"""Service time for which ListMetrics returns a metric after its newest datapoint. Source: operations.md 7."""
METRIC_NAME_LENGTH_MAX = 255
"""Characters of a metric's name, and of a namespace. Source of these limits: operations.md 6 and 7."""
METRIC_DIMENSIONS_MAX = 30
METRIC_DIMENSIONS_FILTERED_MAX = 10
"""Dimensions that ListMetrics may filter by."""
METRIC_DIMENSION_NAME_LENGTH_MAX = 255
METRIC_DIMENSION_VALUE_LENGTH_MAX = 1024
METRICS_LISTED_MAX = 500
"""Metrics in a page of ListMetrics."""
METRICS_LISTED_BYTES_MAX = 1024 * 1024
"""Memory of names and dimensions in a page of ListMetrics, unless it has one metric:
our own bound. 500 of the longest would be 16 MB."""
METRIC_DATA_MAX = 1_000
"""Data of one PutMetricData."""
METRIC_DATA_BYTES_MAX = 1024 * 1024
"""Bytes of one PutMetricData as it is sent. (unconfirmed: that compressed ones count as they are sent)"""
METRIC_VALUES_MAX = 150
"""Values of one datum."""
METRIC_VALUE_MAX = 2.0**360
METRIC_PAST_SECONDS_MAX = 14 * 86_400
METRIC_FUTURE_SECONDS_MAX = 2 * 3600
METRIC_POINTS_MAX = 1_440
"""Datapoints that one GetMetricStatistics may return."""
METRIC_STATISTICS_MAX = 5
"""Statistics that one GetMetricStatistics may name. Source: operations.md 6."""
METRIC_EXTENDED_STATISTICS_MAX = 10
METRIC_QUERIES_MAX = 500
"""Queries of one GetMetricData."""
METRIC_DATA_POINTS_MAX = 100_800
"""Datapoints in a page of GetMetricData."""
METRIC_ARN_LENGTH_MAX = 1024
"""Characters of the ARN of a resource with tags. Source: botocore's service model of CloudWatch."""
METRIC_EXPRESSION_LENGTH_MAX = 2_048
"""Characters of an expression of metric math. Source: botocore's service model of CloudWatch."""
METRIC_LABEL_LENGTH_MAX = 2_048
"""Characters of the label of a query, and of the label of a result: our own bound. A query may have 500 results."""
METRIC_MATH_LEVELS_MAX = 100
"""Levels of parentheses and operators in an expression of metric math: our own bound."""
METRIC_MATH_POINTS_MAX = 5_000_000
"""Datapoints that the expressions of one request may work on, each as often as it is used:
our own bound. Each takes about 0.2 µs."""
METRIC_MATH_AT_ONCE_MAX = 2_000_000
"""Datapoints that the expressions of an alarm, which is evaluated every minute, may work on: our own bound.
Ten metrics of a week by minutes are 0.5 million."""
METRIC_MATH_HELD_MAX = 1_000_000
"""Datapoints that the expressions of a request may hold at the same time: our own bound.
Each takes up to 0.1 KB. 500 metrics of a day by minutes are 0.7 million."""
METRIC_RESULTS_MAX = 2_500
"""Series in a reply of GetMetricData: our own bound. Its queries find at most 500,
but several expressions may return each of them."""
METRIC_MATH_PERIODS_MAX = METRIC_DATA_POINTS_MAX
"""Periods of a series that metric math fills or makes: our own bound."""
METRIC_SEARCH_LENGTH_MAX = 1_024
"""Characters of a search expression. Source: CloudWatch user guide."""
METRIC_SEARCH_SERIES_MAX = 500
"""Series that the SEARCHes of one GetMetricData may find. Source: API reference, *GetMetricData*:
it retrieves as many as 500 metrics."""
METRIC_SERIES_MAX = 100_000
"""Metrics of namespaces that begin with `AWS/` that a database keeps, each unit for itself:
our own bound. Each takes about 1.5 KB."""
METRIC_SERIES_CUSTOM_MAX = 20_000
"""Metrics of other namespaces that a database keeps, each unit for itself: our own bound.
Each takes about 1.5 KB, and its names."""
METRIC_CUSTOM_NAMES_BYTES_MAX = 64_000_000
"""Memory that the names and dimensions of these metrics may take: our own bound. Those of one metric take up to 37 KB;
of 20,000 metrics, each may have 3.2 KB, such as 15 dimensions with values of 40 characters."""
METRIC_UNSAVED_BYTES = 8_000_000
"""Memory that observations may take before they are saved earlier than after 15 minutes: our own bound."""
METRIC_UNSAVED_BYTES_MAX = 64_000_000
"""Memory at which PutMetricData waits until they are saved: our own bound. A client can put 50 MB in a second."""

# --- DynamoDB's own metrics ---
# Source: global-tables-backup.md 9.

METRIC_MINUTE_SECONDS = 60
"""Period of most metrics of DynamoDB."""
METRIC_GAUGE_SECONDS = 300
"""Period of the metrics that show what is provisioned, or what an account may use."""
METRIC_PLACE_SHOWN_SECONDS = 3600
"""Service time for which the gauges of an account in its Region are observed after its last table
has been deleted: our own choice."""
METRIC_PLACES_LEFT_MAX = 1_000
"""Accounts and Regions without tables, of those that have had some, whose metrics are kept:
our own bound. Those of one table take about 30 KB."""
METRIC_PLACES_REFUSED_MAX = 1_000
"""Accounts and Regions that have had no tables, whose UserErrors are kept: our own bound.
Anybody can name them, in requests that are refused."""
METRIC_DELEGATED_SECONDS = 300
"""Period of the metrics of changes that are sent to Kinesis."""

# --- alarms ---

ALARMS_MAX = 5_000
"""Alarms of one account in one Region, composite ones too. Source: CloudWatch quotas, which can be raised there."""
ALARM_NAME_LENGTH_MAX = 255
"""Characters of an alarm's name. Source of these limits: operations.md 6 and 7."""
ALARM_DESCRIPTION_LENGTH_MAX = 1_024
ALARM_ACTIONS_MAX = 5
"""Actions of one state."""
ALARM_ACTION_LENGTH_MAX = 1_024
ALARM_ACTIONS_WAITING_MAX = 20_000
"""Actions that wait for their turn, those of one account at most half: our own bound. Further ones fail at once. Each
takes about 2 KB."""
ALARM_QUERIES_MAX = 10
"""Metrics of an alarm on metric math, and expressions: as many of each. Source: API reference, *MetricDataQuery*."""
ALARM_ACTIONS_TOGETHER_MAX = 200
"""Actions of all alarms that are executed at the same time, those of one account at most half: our own bound.
Each may take a connection, for 90 s if nobody answers."""
ALARM_TAGS_MAX = 50
ALARM_TAG_KEY_LENGTH_MAX = 128
ALARM_RULE_LENGTH_MAX = 10_240
ALARM_RULE_ALARMS_MAX = 100
"""Alarms that the rule of a composite alarm may look at."""
ALARM_REASON_LENGTH_MAX = 1_023
ALARM_REASON_DATA_LENGTH_MAX = 4_000
ALARM_SHORT_SECONDS_MAX = 86_400
"""Period times evaluation periods, if the period is shorter than an hour."""
ALARM_SECONDS_MAX = 604_800
"""Period times evaluation periods."""
ALARMS_DESCRIBED_MAX = 100
"""Alarms in a page of DescribeAlarms; by default half as many."""
ALARM_HISTORY_DESCRIBED_MAX = 100
"""Events in a page of DescribeAlarmHistory."""
ALARMS_DELETED_MAX = 100
"""Alarms that one request may delete, or whose actions it may switch."""
ALARM_HISTORY_SECONDS = 14 * 86_400
"""Service time for which events of an alarm are kept. Source: CloudWatch's documentation, *alarm history*."""
ALARM_HISTORIES_GONE_MAX = 5_000
"""Deleted alarms whose histories a database keeps: our own bound."""
ALARM_HISTORY_DATA_LENGTH_MAX = 4_095
"""Characters of the data of an event."""
ALARM_HISTORY_ITEMS_MAX = 500
"""Events of one alarm that are kept: our own bound."""

# --- exposition of metrics ---

METRIC_TOTALS_MAX = 100_000
"""Metrics whose totals Prometheus and OpenTelemetry can read: our own bound. Each takes about 0.5 KB."""
