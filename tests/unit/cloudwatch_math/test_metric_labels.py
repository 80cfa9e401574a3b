"""Labels of queries show values and properties of the series."""

from datetime import UTC

import pytest

from hashrange.cloudwatch.math.values import SeriesOrigin, TimeSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_labels import shown_label, timezone_of
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, CALLER

METRIC = MetricId(*CALLER, "AWS/DynamoDB", "ConsumedReadCapacityUnits", (("TableName", "shop"),))
VALUES = {BEGIN_SECONDS: 4.0, BEGIN_SECONDS + 60: 1.5, BEGIN_SECONDS + 120: 3.5}
SERIES = TimeSeries(METRIC.name, VALUES, 60, SeriesOrigin(METRIC, "Sum"))
NOW_SECONDS = BEGIN_SECONDS + 3_800.5


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("plain", "plain"),
        ("${MAX}", "4"),
        ("min ${MIN}, avg ${AVG}, sum ${SUM}", "min 1.5, avg 3, sum 9"),
        ("${FIRST} to ${LAST}: ${FIRST_LAST_RANGE}", "4 to 3.5: 0.5"),
        ("${MIN_MAX_RANGE} in ${MIN_MAX_TIME_RANGE}", "2.5 in 1m"),
        ("${DATAPOINT_COUNT} in ${FIRST_LAST_TIME_RANGE}", "3 in 2m"),
        ("${LAST_TIME}", "2027-01-15 09:32:00"),
        ("${MIN_TIME}", "2027-01-15 09:31:00"),
        ("${FIRST_TIME_RELATIVE} ${LAST_TIME_RELATIVE}", "1h 3m 20s 1h 1m 20s"),
        ("[${LABEL}] ${PROP('Dim.TableName')}", "[ConsumedReadCapacityUnits] shop"),
        ("${PROP('Namespace')}/${PROP('MetricName')} ${PROP('Stat')} ${PROP('Period')}", "AWS/DynamoDB/ConsumedReadCapacityUnits Sum 60"),
        ("${PROP('AccountId')} ${PROP('Region')}", "000000000000 us-east-1"),
        ("${PROP('Dim.Other')} ${PROP('Nothing')} ${NOTHING}", "${PROP('Dim.Other')} ${PROP('Nothing')} ${NOTHING}"),
        ("${MAX}" * 6, "44444${MAX}"),
    ],
)  # fmt: skip
def test_dynamic_labels(label: str, shown: str) -> None:
    zone = timezone_of("+0130")
    assert zone is not None
    assert shown_label(label, SERIES, NOW_SECONDS, zone) == shown


def test_a_series_without_points() -> None:
    assert shown_label("${MAX} ${LAST_TIME} ${DATAPOINT_COUNT}", SERIES.of({}), NOW_SECONDS, UTC) == "-- -- 0"


def test_a_series_of_no_metric() -> None:
    assert (
        shown_label("${PROP('Stat')} ${PROP('Period')}", TimeSeries("", VALUES, 60), NOW_SECONDS)
        == "${PROP('Stat')} 60"
    )


@pytest.mark.parametrize("text", ["", "0130", "+130", "+2400", "+0060", "UTC", "+01300"])
def test_time_zones_that_are_not_valid(text: str) -> None:
    assert timezone_of(text) is None
