"""Labels of queries show values and properties of the series."""

from datetime import UTC
from typing import Any

import pytest

from hashrange.aws_services.operation import ServiceError
from hashrange.cloudwatch.limits import METRIC_LABEL_LENGTH_MAX
from hashrange.cloudwatch.math.values import SeriesOrigin, TimeSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_labels import shown_label, timezone_of
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
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
        (
            "${PROP('Namespace')}/${PROP('MetricName')} ${PROP('Stat')} ${PROP('Period')}",
            "AWS/DynamoDB/ConsumedReadCapacityUnits Sum 60",
        ),
        ("${PROP('AccountId')} ${PROP('Region')}", "000000000000 us-east-1"),
        ("${PROP('Dim.Other')} ${PROP('Nothing')} ${NOTHING}", "${PROP('Dim.Other')} ${PROP('Nothing')} ${NOTHING}"),
        ("${MAX}" * 6, "44444${MAX}"),
    ],
)
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


def test_values_that_overflow_are_not_shown() -> None:
    series = SERIES.of({BEGIN_SECONDS: 1e308, BEGIN_SECONDS + 60: 1e308, BEGIN_SECONDS + 120: -1e308})
    assert shown_label("${MAX} ${MIN_MAX_RANGE} ${FIRST_LAST_RANGE}", series, NOW_SECONDS) == "1e+308 -- --"
    series = SERIES.of({BEGIN_SECONDS: 1e308, BEGIN_SECONDS + 60: 1e308})
    assert shown_label("${SUM} ${AVG} ${LAST}", series, NOW_SECONDS) == "-- -- 1e+308"


@pytest.mark.parametrize(("at_seconds", "zone"), [(-62_135_596_800, "-0100"), (253_402_300_740, "+0100")])
def test_times_beyond_the_calendar_are_not_shown(at_seconds: int, zone: str) -> None:
    shown_zone = timezone_of(zone)
    assert shown_zone is not None
    assert shown_label("${LAST_TIME}", SERIES.of({at_seconds: 1.0}), NOW_SECONDS, shown_zone) == "--"


class CountedValues(dict[int, float]):
    """Values that count how often somebody looks at all of them."""

    looks = 0

    def values(self) -> Any:
        self.looks += 1
        return super().values()


def test_only_values_that_are_shown_are_computed() -> None:
    values = CountedValues(VALUES)
    series = TimeSeries("", values, 60)
    assert shown_label("${MAX}" * 100, series, NOW_SECONDS) == "4" * 5 + "${MAX}" * 95
    assert values.looks == 5


def test_a_label_has_a_greatest_length() -> None:
    series = TimeSeries("x" * 1_000, VALUES, 60)
    assert shown_label("${LABEL}" * 200, series, NOW_SECONDS) == "x" * METRIC_LABEL_LENGTH_MAX
    query = MetricDataQuery("e1", Expression="TIME_SERIES(1)", Label="x" * (METRIC_LABEL_LENGTH_MAX + 1))
    with pytest.raises(ServiceError, match="Label must be at most"):
        Queries([query])
