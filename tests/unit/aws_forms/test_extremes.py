"""Numbers, times and lists at the end of what the service's types have: each is served or refused, in every form."""

from datetime import UTC, datetime, timedelta
from typing import Any

import cbor2
import pytest

from hashrange.cloudwatch.limits import CLOUDWATCH_INTEGER_MAX
from hashrange.cloudwatch.statistic import NAME_LENGTH_MAX, statistic_of
from hashrange.testing.database import Database
from tests.unit.aws_forms.test_forms import FORMS, around_now, ask, send_cbor

METRIC = {"Namespace": "own/extremes", "MetricName": "Load"}
SERIES = {"Id": "e1", "Expression": "TIME_SERIES(1)"}


def statistics(database: Database, form: str, **members: Any) -> tuple[int, dict[str, Any], str]:
    asked = METRIC | around_now(database) | {"Period": 60, "Statistics": ["Sum"]} | members
    return ask(database, form, "GetMetricStatistics", {name: one for name, one in asked.items() if one is not None})


@pytest.mark.parametrize("form", FORMS)
def test_an_average_that_no_number_can_be_is_left_out(database: Database, form: str) -> None:
    metric = METRIC | {"MetricName": f"Tiny {form}"}
    values = {"SampleCount": 1e-300, "Sum": 2.0**360, "Minimum": 1.0, "Maximum": 1.0}
    datum = {"MetricName": metric["MetricName"], "StatisticValues": values}
    status, _, _ = ask(database, form, "PutMetricData", {"Namespace": metric["Namespace"], "MetricData": [datum]})
    assert status == 200
    status, found, _ = statistics(database, form, **metric, Statistics=["Average", "Sum"])
    assert status == 200
    (point,) = found["Datapoints"]
    assert float(point["Sum"]) == 2.0**360
    assert "Average" not in point


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("period", [CLOUDWATCH_INTEGER_MAX // 60 * 60 + 60, 60 * 10**30, 60 * 10**400])
def test_periods_are_numbers_of_32_bits(database: Database, form: str, period: int) -> None:
    """Greater ones were taken, and beyond 10**308 were an internal error."""
    status, _, _ = statistics(database, form, Period=CLOUDWATCH_INTEGER_MAX // 60 * 60)
    assert status == 200
    status, _, code = statistics(database, form, Period=period)
    assert (status, code) in {(400, "InvalidParameterValue"), (400, "SerializationException")}
    asked = around_now(database) | {"MetricDataQueries": [SERIES | {"Period": period}]}
    status, _, code = ask(database, form, "GetMetricData", asked)
    assert (status, code) in {(400, "InvalidParameterValue"), (400, "SerializationException")}
    composite = {"AlarmName": "both", "AlarmRule": "TRUE", "ActionsSuppressor": "other"}
    waits = {"ActionsSuppressorWaitPeriod": period, "ActionsSuppressorExtensionPeriod": 1}
    assert ask(database, form, "PutCompositeAlarm", composite | waits)[0] == 400


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("0001-01-01T00:00:00+14:00", "2000-01-01T00:00:00Z"),
        ("9999-12-31T20:00:00Z", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_times_end_with_the_calendar_in_utc(database: Database, begin: str, end: str) -> None:
    queries = [SERIES | {"Period": 3600 * 10_000}]
    status, _, code = ask(
        database, "query", "GetMetricData", {"StartTime": begin, "EndTime": end, "MetricDataQueries": queries}
    )
    assert (status, code) == (400, "InvalidParameterValue")
    tagged = [b"\xc0" + cbor2.dumps(time) for time in (begin, end)]
    body = b"\xa3\x69StartTime" + tagged[0] + b"\x67EndTime" + tagged[1]
    body += b"\x71MetricDataQueries" + cbor2.dumps(queries)
    assert send_cbor(database, "GetMetricData", body).status == 400


@pytest.mark.parametrize("form", FORMS)
def test_all_times_of_the_calendar_may_be_asked_for(database: Database, form: str) -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    expression = "TIME_SERIES(1) + HOUR(TIME_SERIES(1)) + EPOCH(TIME_SERIES(1))"
    queries = [SERIES | {"Expression": expression, "Label": "${FIRST_TIME} ${LAST_TIME}", "Period": 3600 * 10_000}]
    for begin, end in ((first, last), (first, first + timedelta(days=1)), (last - timedelta(days=1), last)):
        asked = {"StartTime": begin, "EndTime": end, "MetricDataQueries": queries}
        assert ask(database, form, "GetMetricData", asked)[0] == 200


@pytest.mark.parametrize("form", FORMS)
def test_only_so_many_statistics_may_be_asked_for(database: Database, form: str) -> None:
    simple = ["Sum", "Average", "Minimum", "Maximum", "SampleCount"]
    extended = [f"p{number}" for number in range(1, 12)]
    assert statistics(database, form, Statistics=simple)[0] == 200
    assert statistics(database, form, Statistics=[*simple, "Sum"])[::2] == (400, "InvalidParameterValue")
    assert statistics(database, form, Statistics=None, ExtendedStatistics=extended[:10])[0] == 200
    answer = statistics(database, form, Statistics=None, ExtendedStatistics=extended)
    assert answer[::2] == (400, "InvalidParameterValue")


@pytest.mark.parametrize("form", FORMS)
def test_statistics_have_names_of_some_length(database: Database, form: str) -> None:
    """A bound of hundreds of digits is infinite, and each name is remembered."""
    for name in (f"WM({'9' * 400}:)", f"TM(0:{'9' * 400})", "x" * 1_000):
        answer = statistics(database, form, Statistics=None, ExtendedStatistics=[name])
        assert answer[::2] == (400, "InvalidParameterValue")
    longest = f"WM({'9' * (NAME_LENGTH_MAX - 5)}:)"
    assert statistic_of(longest) is not None
    assert statistic_of(longest.replace("(", "(9")) is None
