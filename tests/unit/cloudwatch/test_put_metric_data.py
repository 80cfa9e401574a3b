"""PutMetricData takes every form of observations, and records all of a request or, if one is wrong, nothing."""

import math
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.api.list_metrics import OPERATION as LIST_METRICS
from hashrange.cloudwatch.api.list_metrics import ListMetricsRequest
from hashrange.cloudwatch.api.put_metric_data import OPERATION as PUT_METRIC_DATA
from hashrange.cloudwatch.api.put_metric_data import PutMetricDataRequest
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import bucket_of
from hashrange.cloudwatch.statistic import Datapoint, StatisticSet
from tests.unit.cloudwatch.conftest import START_SECONDS, World

CALLER = Caller("000000000000", "us-east-1")
VALUE, COMBINATION, MISSING = (
    f"{name}Exception" for name in ("InvalidParameterValue", "InvalidParameterCombination", "MissingRequiredParameter")
)


def put(world: World, *data: dict[str, Any], namespace: str = "Own", **members: Any) -> None:
    """Send a request."""
    given = {"Namespace": namespace, **({"MetricData": data} if data else {}), **members}
    world.run(PUT_METRIC_DATA.run(world.metrics, CALLER, msgspec.convert(given, PutMetricDataRequest)))


def points(world: World, name: str = "m", dimensions: tuple[tuple[str, str], ...] = ()) -> list[Datapoint]:
    """Datapoints of a metric around now."""
    metric = MetricId(*CALLER, "Own", name, dimensions)
    now_seconds = world.clock.service_time()
    return list(world.metrics.points(metric, now_seconds - 15 * 86_400 + 60, now_seconds + 86_400, 60))


def at(seconds: float) -> datetime:
    """A time relative to START_SECONDS."""
    return datetime.fromtimestamp(START_SECONDS + seconds, UTC)


def test_a_value(world: World) -> None:
    put(world, {"MetricName": "m", "Value": 2.5})
    assert points(world) == [
        Datapoint(int(START_SECONDS), "None", StatisticSet(1.0, 2.5, 2.5, 2.5), {bucket_of(2.5): 1.0})
    ]


def test_values_with_counts(world: World) -> None:
    put(world, {"MetricName": "m", "Values": [1.0, 4.0], "Counts": [3.0, 2.0], "Unit": "Bytes"})
    put(world, {"MetricName": "m", "Values": [9.0], "Unit": "Bytes"})
    buckets = {bucket_of(1.0): 3.0, bucket_of(4.0): 2.0, bucket_of(9.0): 1.0}
    assert points(world) == [Datapoint(int(START_SECONDS), "Bytes", StatisticSet(6.0, 20.0, 1.0, 9.0), buckets)]


def test_statistics_have_percentiles_only_if_all_values_are_the_same(world: World) -> None:
    statistics = {"SampleCount": 4.0, "Sum": 12.0, "Minimum": 3.0, "Maximum": 3.0}
    put(world, {"MetricName": "m", "StatisticValues": statistics})
    put(world, {"MetricName": "n", "StatisticValues": {**statistics, "Maximum": 5.0}})
    assert points(world) == [
        Datapoint(int(START_SECONDS), "None", StatisticSet(4.0, 12.0, 3.0, 3.0), {bucket_of(3.0): 4.0})
    ]
    assert points(world, "n") == [Datapoint(int(START_SECONDS), "None", StatisticSet(4.0, 12.0, 3.0, 5.0), None)]


def test_times_from_two_weeks_ago_to_two_hours_ahead(world: World) -> None:
    for seconds in (-14 * 86_400, -60, 7200):
        put(world, {"MetricName": "m", "Value": 1.0, "Timestamp": at(seconds)})
    for seconds in (-14 * 86_400 - 1, 7201):
        assert refused(world, {"MetricName": "m", "Value": 1.0, "Timestamp": at(seconds)}) == VALUE
    assert [one.at_seconds - START_SECONDS for one in points(world)] == [-14 * 86_400, -60, 7200]


def test_the_order_of_dimensions_does_not_matter(world: World) -> None:
    dimensions = [{"Name": "b", "Value": "2"}, {"Name": "a", "Value": "1"}]
    put(world, {"MetricName": "m", "Value": 1.0, "Dimensions": dimensions})
    put(world, {"MetricName": "m", "Value": 1.0, "Dimensions": dimensions[::-1]})
    (point,) = points(world, dimensions=(("a", "1"), ("b", "2")))
    assert point.statistics.sample_count == 2.0
    assert points(world) == []


def test_data_of_entities(world: World) -> None:
    entity = {"KeyAttributes": {"Type": "Service", "Name": "shop"}, "Attributes": {}}
    of_entity = [{"Entity": entity, "MetricData": [{"MetricName": "m", "Value": 1.0}]}]
    put(world, EntityMetricData=of_entity)
    put(world, {"MetricName": "m", "Value": 2.0}, EntityMetricData=of_entity, StrictEntityValidation=True)
    assert [one.statistics.sum for one in points(world)] == [4.0]


def test_resolutions(world: World) -> None:
    for seconds in (1, 60):
        put(world, {"MetricName": "m", "Value": 1.0, "StorageResolution": seconds})
    assert refused(world, {"MetricName": "m", "Value": 1.0, "StorageResolution": 30}) == VALUE


def refused(world: World, *data: dict[str, Any], namespace: str = "Own") -> str:
    """The code of the error."""
    with pytest.raises(ServiceError) as caught:
        put(world, *data, namespace=namespace)
    assert caught.value.message
    return caught.value.code


@pytest.mark.parametrize(
    ("datum", "code"),
    [
        ({}, MISSING),
        ({"Values": []}, MISSING),
        ({"Value": math.nan}, VALUE),
        ({"Value": math.inf}, VALUE),
        ({"Values": [1.0, -math.inf]}, VALUE),
        ({"Value": 2.0**360 * 1.1}, VALUE),
        ({"Value": -(2.0**361)}, VALUE),
        ({"Values": [1.0], "Counts": [1.0, 2.0]}, VALUE),
        ({"Values": [1.0], "Counts": [0.0]}, VALUE),
        ({"Values": [1.0] * 151}, VALUE),
        ({"Value": 1.0, "Values": [1.0]}, COMBINATION),
        ({"Value": 1.0, "StatisticValues": {"SampleCount": 1, "Sum": 1, "Minimum": 1, "Maximum": 1}}, COMBINATION),
        ({"StatisticValues": {"SampleCount": 0, "Sum": 1, "Minimum": 1, "Maximum": 1}}, VALUE),
        ({"StatisticValues": {"SampleCount": 1, "Sum": 1, "Minimum": 2, "Maximum": 1}}, VALUE),
        ({"StatisticValues": {"SampleCount": 1, "Sum": math.nan, "Minimum": 1, "Maximum": 1}}, VALUE),
        ({"Value": 1.0, "Unit": "Pounds"}, VALUE),
        ({"Value": 1.0, "Unit": ""}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": f"d{place}", "Value": "v"} for place in range(31)]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d", "Value": ""}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d" * 256, "Value": "v"}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d", "Value": "v" * 1025}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d"}]}, MISSING),
        ({"Value": 1.0, "Dimensions": [{"Name": ":d", "Value": "v"}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": " ", "Value": "v"}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d", "Value": "  "}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d\x00", "Value": "v"}]}, VALUE),
        ({"Value": 1.0, "Dimensions": [{"Name": "d", "Value": "v\n"}]}, VALUE),
        ({"Value": 1.0, "MetricName": ""}, VALUE),
        ({"Value": 1.0, "MetricName": "m" * 256}, VALUE),
    ],
)
def test_a_wrong_datum_is_refused_with_all_others(world: World, datum: dict[str, Any], code: str) -> None:
    assert refused(world, {"MetricName": "m", "Value": 1.0}, {"MetricName": "m", **datum}) == code
    assert points(world) == []


def test_the_largest_values_are_taken(world: World) -> None:
    put(world, {"MetricName": "m", "Values": [2.0**360, -(2.0**360)], "Counts": [2.0**360, 1.0]})
    assert points(world)[0].statistics.maximum == 2.0**360


def test_requests_that_are_wrong_as_a_whole(world: World) -> None:
    datum = {"MetricName": "m", "Value": 1.0}
    for namespace in ("AWS/DynamoDB", "AWS/", ":own", "", "n" * 256, "  ", "own\x01"):
        assert refused(world, datum, namespace=namespace) == VALUE
    assert refused(world, *[datum] * 1001) == VALUE
    assert refused(world) == MISSING
    put(world, *[datum] * 1000, namespace="AWSome")
    assert points(world) == []


def list_names(world: World, **members: Any) -> tuple[list[str], str | None]:
    """Names on one page of ListMetrics, and the token of the next one."""
    request = msgspec.convert(members, ListMetricsRequest)
    reply = world.run(LIST_METRICS.run(world.metrics, CALLER, request))
    return [one["MetricName"] for one in reply["Metrics"]], reply.get("NextToken")


def test_metrics_are_listed_in_pages_of_500(world: World) -> None:
    names = [f"{place:04}" for place in range(1200)]
    for begin in (0, 600):
        put(world, *({"MetricName": name, "Value": 1.0} for name in names[begin : begin + 600]))
    first, token = list_names(world)
    second, token = list_names(world, NextToken=token)
    third, last = list_names(world, NextToken=token)
    assert (first + second + third, len(first), len(second), last) == (names, 500, 500, None)
    with pytest.raises(ServiceError):
        list_names(world, NextToken="what?")


def test_metrics_are_listed_by_filters(world: World) -> None:
    dimensions = [{"Name": "a", "Value": "1"}, {"Name": "b", "Value": "2"}]
    put(world, {"MetricName": "old", "Value": 1.0, "Timestamp": at(-4 * 3600)})
    put(world, {"MetricName": "m", "Value": 1.0, "Dimensions": dimensions}, {"MetricName": "m", "Value": 1.0})
    put(world, {"MetricName": "m", "Value": 1.0}, namespace="Other")
    assert list_names(world)[0] == ["m", "m", "m", "old"]
    assert list_names(world, Namespace="Own", MetricName="m")[0] == ["m", "m"]
    assert list_names(world, Dimensions=dimensions[:1])[0] == ["m"]
    assert list_names(world, Dimensions=[{"Name": "b"}])[0] == ["m"]
    assert list_names(world, Dimensions=[{"Name": "b", "Value": "1"}])[0] == []
    assert list_names(world, RecentlyActive="PT3H")[0] == ["m", "m", "m"]
    with pytest.raises(ServiceError):
        list_names(world, RecentlyActive="PT2H")


@pytest.mark.parametrize(
    ("datum", "message"),
    [
        ({"Value": math.nan}, "The value NaN for parameter MetricData.member.2.Value is invalid."),
        ({"Values": [math.inf]}, "The value Infinity for parameter MetricData.member.2.Values.member.1 is invalid."),
        ({"Value": -math.inf}, "The value -Infinity for parameter MetricData.member.2.Value is invalid."),
        (
            {"Value": 1.0, "Dimensions": [{"Name": "a", "Value": "caf\u00e9"}]},
            "The value for parameter MetricData.member.2.Dimensions.member.1.Value contains non-ASCII characters.",
        ),
        (
            {"Value": 1.0, "Dimensions": [{"Name": "a", "Value": "v" * 1025}]},
            "The parameter MetricData.member.2.Dimensions.member.1.Value must be shorter than 1025 characters.",
        ),
        (
            {"Value": 1.0, "MetricName": "\u540d"},
            "The value for parameter MetricData.member.2.MetricName contains non-ASCII characters.",
        ),
        (
            {"Value": 1.0, "Dimensions": [{"Name": "d"}]},
            "The parameter MetricData.member.2.Dimensions.member.1.Value is required.",
        ),
        (
            {"Value": 1.0, "Timestamp": at(-14 * 86_400 - 1)},
            "The parameter MetricData.member.2.Timestamp must specify a time within the past two weeks.",
        ),
        (
            {"Value": 1.0, "Timestamp": at(7_201)},
            "The parameter MetricData.member.2.Timestamp must specify a time no more than two hours in the future.",
        ),
    ],
)
def test_a_refusal_has_the_words_of_the_service(world: World, datum: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError) as caught:
        put(world, {"MetricName": "m", "Value": 1.0}, {"MetricName": "m", **datum})
    assert caught.value.message == message


def test_each_wrong_datum_is_named(world: World) -> None:
    wrong = {"MetricName": "m", "Value": math.nan}
    with pytest.raises(ServiceError) as caught:
        put(world, wrong, {"MetricName": "m", "Value": 1.0}, {"MetricName": "m"}, wrong)
    assert caught.value.code == VALUE
    assert caught.value.message.splitlines() == [
        f"The value NaN for parameter MetricData.member.{place}.Value is invalid." for place in (1, 4)
    ]
