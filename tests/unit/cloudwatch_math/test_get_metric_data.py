"""GetMetricData and GetMetricStatistics as boto3 sees them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

NAMESPACE = "Tests"


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        database.clock.freeze()
        database.clock.advance((36 * 3600 - database.clock.now() % 86_400) % 86_400)
        yield database


@pytest.fixture
def client(database: Database) -> Any:
    return database.client("cloudwatch")


def now_of(database: Database) -> datetime:
    """Service time: a noon."""
    return datetime.fromtimestamp(database.clock.now(), UTC)


def put(database: Database, name: str, minutes: int, **datum: Any) -> None:
    """Put the values 0, 1, 2, … at each of the last minutes."""
    client, begin = database.client("cloudwatch"), now_of(database) - timedelta(minutes=minutes)
    data = [
        {"MetricName": name, "Timestamp": begin + timedelta(minutes=number), "Value": float(number), **datum}
        for number in range(minutes)
    ]
    for first in range(0, len(data), 1_000):
        client.put_metric_data(Namespace=NAMESPACE, MetricData=data[first : first + 1_000])


def query(query_id: str, name: str, stat: str = "Sum", period: int = 60, **members: Any) -> dict[str, Any]:
    """A query of one metric."""
    metric = {"Namespace": NAMESPACE, "MetricName": name}
    return {"Id": query_id, "MetricStat": {"Metric": metric, "Period": period, "Stat": stat}, **members}


def ask(database: Database, *queries: dict[str, Any], minutes: int = 10, **members: Any) -> Any:
    """The reply for the last minutes."""
    now = now_of(database)
    times = {"StartTime": now - timedelta(minutes=minutes), "EndTime": now}
    return database.client("cloudwatch").get_metric_data(MetricDataQueries=list(queries), **(times | members))


def refused(code: str, call: Any, *given: Any, **members: Any) -> str:
    """The message with which a call is refused."""
    with pytest.raises(ClientError) as caught:
        call(*given, **members)
    error = caught.value.response["Error"]
    assert error["Code"] == code
    return str(error["Message"])


def test_a_metric_and_an_expression(database: Database) -> None:
    put(database, "m", 10, Unit="Count")
    reply = ask(
        database,
        query("m1", "m"),
        query("none", "other", Label="nothing"),
        query("five", "m", "Average", 300, ReturnData=False),
        {"Id": "e1", "Expression": "100 * m1 / FILL(m1, 0) + none"},
        {"Id": "e2", "Expression": "[m1, five]", "Label": "both:"},
    )
    m1, none, e1, e2, five = reply["MetricDataResults"]
    now = now_of(database)
    assert m1["Label"] == "m"
    assert m1["StatusCode"] == "Complete"
    assert m1["Values"] == [float(number) for number in range(9, -1, -1)]
    assert [time.astimezone(UTC) for time in m1["Timestamps"]] == [now - timedelta(minutes=1 + n) for n in range(10)]
    assert none == {"Id": "none", "Label": "nothing", "Timestamps": [], "Values": [], "StatusCode": "Complete"}
    assert (e1["Id"], e1["Label"], e1["Values"]) == ("e1", "e1", [100.0] * 9)
    assert [one["Code"] for one in e1["Messages"]] == ["ArithmeticError"]
    assert e1["Messages"][0]["Value"].startswith("One or more data-points have been dropped due to non-numeric values")
    assert (e2["Label"], five["Label"], five["Values"]) == ("both: m", "both: m", [7.0, 2.0])
    assert reply["Messages"] == []
    assert "NextToken" not in reply


def test_pages_have_each_datapoint_once(database: Database) -> None:
    put(database, "a", 7)
    put(database, "b", 5)
    queries = [query("a1", "a"), query("none", "other"), query("b1", "b"), query("a2", "a", "Maximum")]
    whole = {one["Id"]: one for one in ask(database, *queries)["MetricDataResults"]}
    for order in ("TimestampDescending", "TimestampAscending"):
        for size in (1, 3, 7, 19, 100):
            found: dict[str, list[float]] = {}
            token: dict[str, Any] = {}
            for _ in range(30):
                reply = ask(database, *queries, ScanBy=order, MaxDatapoints=size, **token)
                shown = reply["MetricDataResults"]
                assert sum(len(one["Values"]) for one in shown) <= size
                for one in shown:
                    found.setdefault(one["Id"], []).extend(one["Values"])
                    assert one["StatusCode"] == "Complete" or one is shown[-1]
                if "NextToken" not in reply:
                    break
                token = {"NextToken": reply["NextToken"]}
            assert "NextToken" not in reply
            for query_id, one in whole.items():
                expected = one["Values"] if order == "TimestampDescending" else one["Values"][::-1]
                assert found[query_id] == expected, (order, size)


def test_a_datapoint_between_two_pages_moves_nothing(database: Database) -> None:
    put(database, "a", 5)
    first = ask(database, query("a1", "a"), MaxDatapoints=2)
    now = now_of(database)
    database.client("cloudwatch").put_metric_data(
        Namespace=NAMESPACE, MetricData=[{"MetricName": "a", "Timestamp": now, "Value": 9.0}]
    )
    second = ask(database, query("a1", "a"), EndTime=now + timedelta(minutes=1), NextToken=first["NextToken"])
    assert first["MetricDataResults"][0]["Values"] == [4.0, 3.0]
    assert second["MetricDataResults"][0]["Values"] == [2.0, 1.0, 0.0]


def test_expressions_have_one_page(database: Database) -> None:
    put(database, "a", 5)
    reply = ask(database, query("a1", "a"), {"Id": "e1", "Expression": "-a1"}, MaxDatapoints=7)
    assert [one["StatusCode"] for one in reply["MetricDataResults"]] == ["Complete", "PartialData"]
    assert [len(one["Values"]) for one in reply["MetricDataResults"]] == [5, 2]
    assert "NextToken" not in reply


def test_labels(database: Database) -> None:
    put(database, "a", 3)
    labelled = query("a1", "a", Label="${LABEL}: ${MAX} at ${LAST_TIME}")
    reply = ask(database, labelled, LabelOptions={"Timezone": "-0230"})
    assert reply["MetricDataResults"][0]["Label"] == f"a: 2 at {now_of(database):%Y-%m-%d} 09:29:00"
    assert "Timezone" in refused("ValidationError", ask, database, labelled, LabelOptions={"Timezone": "UTC"})


def test_searches(database: Database, client: Any) -> None:
    for number in range(3):
        dimensions = [{"Name": "TableName", "Value": f"table{number}"}]
        put(database, "ReadUnits", 2, Dimensions=dimensions)
    search = "SEARCH('{Tests,TableName} MetricName=\"ReadUnits\" NOT table1', 'Sum', 60)"
    reply = ask(database, {"Id": "e1", "Expression": search}, {"Id": "e2", "Expression": "SUM(e1)"})
    *found, total = reply["MetricDataResults"]
    assert [one["Label"] for one in found] == ["table0 ReadUnits", "table2 ReadUnits"]
    assert total["Values"] == [2.0, 0.0]
    labelled = {"Id": "e1", "Expression": search, "Label": "${PROP('Dim.TableName')}"}
    assert [one["Label"] for one in ask(database, labelled)["MetricDataResults"]] == ["table0", "table2"]


def test_units(database: Database) -> None:
    put(database, "a", 2, Unit="Count")
    for unit, expected in (("Count", [1.0, 0.0]), ("Bytes", [])):
        asked = query("a1", "a")
        asked["MetricStat"]["Unit"] = unit
        assert ask(database, asked)["MetricDataResults"][0]["Values"] == expected
    assert "Unit" in refused(
        "ValidationError", ask, database, {"Id": "a1", "MetricStat": asked["MetricStat"] | {"Unit": "Miles"}}
    )


def test_several_units(database: Database, client: Any) -> None:
    put(database, "a", 2, Unit="Count")
    put(database, "a", 2, Unit="Bytes")
    now = now_of(database)
    times = {"StartTime": now - timedelta(minutes=10), "EndTime": now}
    reply = client.get_metric_statistics(Namespace=NAMESPACE, MetricName="a", Period=60, Statistics=["Sum"], **times)
    shown = [(one["Unit"], one["Sum"]) for one in reply["Datapoints"]]
    assert sorted(shown) == [("Bytes", 0.0), ("Bytes", 1.0), ("Count", 0.0), ("Count", 1.0)]
    assert ask(database, query("a1", "a"))["MetricDataResults"][0]["Values"] == [1.0, 0.0]


def test_requests_that_are_refused(database: Database) -> None:
    now = now_of(database)
    one = query("a1", "a")
    assert "must not equal" in refused("ValidationError", ask, database, one, StartTime=now)
    assert "less than" in refused("ValidationError", ask, database, one, StartTime=now + timedelta(minutes=1))
    assert "ScanBy" in refused("ValidationError", ask, database, one, ScanBy="Random")
    assert "MaxDatapoints" in refused("ValidationError", ask, database, one, MaxDatapoints=0)
    assert "MaxDatapoints" in refused("ValidationError", ask, database, one, MaxDatapoints=100_801)
    assert "should return data" in refused("ValidationError", ask, database, query("a1", "a", ReturnData=False))
    refused("InvalidNextToken", ask, database, one, NextToken="x")
    refused("InvalidNextToken", ask, database, one, NextToken="WzEsbnVsbF0=")
    refused("MissingParameter", ask, database)
    message = refused("ValidationError", ask, database, one, {"Id": "e1", "Expression": "EXP(a1)"})
    assert message == "Error in expression 'e1': Function 'EXP' not found"


def test_a_start_long_ago_needs_long_periods(database: Database, client: Any) -> None:
    now = now_of(database)
    put(database, "a", 120)
    days = {"minute": 60, "five": 300, "hour": 3600, "second": 10}
    queries = [query(name, "a", period=period) for name, period in days.items()]
    for past, known in (
        (timedelta(hours=2), {"minute", "five", "hour", "second"}),
        (timedelta(hours=4), {"minute", "five", "hour"}),
        (timedelta(days=20), {"five", "hour"}),
        (timedelta(days=70), {"hour"}),
    ):
        results = ask(database, *queries, StartTime=now - past)["MetricDataResults"]
        assert {one["Id"] for one in results if one["Values"]} == known, past
        statistics = client.get_metric_statistics(
            Namespace=NAMESPACE, MetricName="a", StartTime=now - past, EndTime=now, Period=3600 * 24, Statistics=["Sum"]
        )
        assert sum(one["Sum"] for one in statistics["Datapoints"]) == sum(range(120))


def test_get_metric_statistics(database: Database, client: Any) -> None:
    put(database, "a", 10, Unit="Count")
    now = now_of(database)
    members = {"Namespace": NAMESPACE, "MetricName": "a", "StartTime": now - timedelta(minutes=10), "EndTime": now}
    reply = client.get_metric_statistics(**members, Period=300, Statistics=["Sum", "SampleCount", "Maximum"])
    assert reply["Label"] == "a"
    shown = [{name: value for name, value in one.items() if name != "Timestamp"} for one in reply["Datapoints"]]
    assert shown == [
        {"Sum": 10.0, "SampleCount": 5.0, "Maximum": 4.0, "Unit": "Count"},
        {"Sum": 35.0, "SampleCount": 5.0, "Maximum": 9.0, "Unit": "Count"},
    ]
    names = ["p100", "TC(0:2)", "PR(:100)", "TM(:100%)"]
    reply = client.get_metric_statistics(**members, Period=300, ExtendedStatistics=names)
    assert reply["Datapoints"][0]["ExtendedStatistics"] == {
        "p100": 4.0,
        "TC(0:2)": pytest.approx(2, abs=1),
        "PR(:100)": 100.0,
        "TM(:100%)": pytest.approx(2, rel=0.1),
    }
    assert "Sum" not in reply["Datapoints"][0]
    none = client.get_metric_statistics(**members, Period=300, Statistics=["Sum"], Unit="Bytes")
    assert none["Datapoints"] == []


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        (
            {"Statistics": None},
            "InvalidParameterCombination",
            "At least one of the parameters Statistics and ExtendedStatistics must be specified.",
        ),
        ({"ExtendedStatistics": ["p99"]}, "InvalidParameterCombination", "cannot be used together"),
        ({"Statistics": ["p99"]}, "InvalidParameterValue", "Statistics.member.1"),
        ({"Statistics": None, "ExtendedStatistics": ["p101"]}, "InvalidParameterValue", "p101"),
        ({"Statistics": None, "ExtendedStatistics": ["Sum"]}, "InvalidParameterValue", "Sum"),
        ({"Period": 61}, "InvalidParameterValue", "Period"),
        ({"Unit": "Miles"}, "InvalidParameterValue", "Unit"),
        (
            {"EndTime": timedelta()},
            "InvalidParameterValue",
            "The parameter StartTime must be less than the parameter EndTime.",
        ),
        (
            {"EndTime": timedelta(days=3)},
            "InvalidParameterCombination",
            (
                "You have requested up to 4320 datapoints, which exceeds the limit of 1440."
                " You may reduce the datapoints requested by increasing Period, or decreasing the time range."
            ),
        ),
    ],
)
def test_statistics_that_are_refused(
    database: Database, client: Any, changes: dict[str, Any], code: str, words: str
) -> None:
    begin = now_of(database) - timedelta(days=3)
    members: dict[str, Any] = {"Period": 60, "Statistics": ["Sum"], "EndTime": timedelta(minutes=5)} | changes
    members |= {"Namespace": NAMESPACE, "MetricName": "a", "StartTime": begin, "EndTime": begin + members["EndTime"]}
    given = {name: value for name, value in members.items() if value is not None}
    assert words in refused(code, client.get_metric_statistics, **given)
