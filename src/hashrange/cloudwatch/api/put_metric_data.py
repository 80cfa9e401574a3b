"""PutMetricData: adds a program's own observations, as single values, as values with counts, or as statistics."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceError
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.api.checks import (
    DimensionMember,
    check_ascii,
    check_finite,
    check_length,
    check_metric,
    check_one_of,
    check_printed,
    dimensions_of,
    missing,
    refuse_value,
)
from hashrange.cloudwatch.metric_id import Dimensions, MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.percentiles import Distribution, distribution_of
from hashrange.cloudwatch.statistic import StatisticSet
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.errors import without_frames
from hashrange.items.steps import spend
from hashrange.messages import cloudwatch as sentences

DATUM_STEPS = 20
"""Steps that checking one datum takes, besides its values."""
RECORD_STEPS = 20
"""Steps that recording one datum takes."""


class StatisticValuesMember(msgspec.Struct, frozen=True):
    """Statistics of several values."""

    SampleCount: float
    Sum: float
    Minimum: float
    Maximum: float


class MetricDatumMember(msgspec.Struct, frozen=True):
    """Observations of one metric at one time."""

    MetricName: str
    Dimensions: list[DimensionMember] | None = None
    Timestamp: datetime | None = None
    Value: float | None = None
    StatisticValues: StatisticValuesMember | None = None
    Values: list[float] | None = None
    Counts: list[float] | None = None
    Unit: str | None = None
    StorageResolution: int | None = None


class EntityMetricDataMember(msgspec.Struct, frozen=True):
    """Observations that belong to an entity, whose name is not kept."""

    MetricData: list[MetricDatumMember] | None = None


class PutMetricDataRequest(msgspec.Struct, frozen=True):
    """Request of PutMetricData."""

    Namespace: str
    MetricData: list[MetricDatumMember] | None = None
    EntityMetricData: list[EntityMetricDataMember] | None = None
    StrictEntityValidation: bool | None = None


async def put_metric_data(metrics: Metrics, caller: Caller, request: PutMetricDataRequest) -> None:
    """Records all data, or raises ServiceError or StorageError and records nothing."""
    check_ascii("Namespace", request.Namespace)
    check_length("Namespace", request.Namespace, limits.METRIC_NAME_LENGTH_MAX)
    check_printed("Namespace", request.Namespace)
    if request.Namespace.startswith(("AWS/", ":")):
        refuse_value(sentences.NAMESPACE_INVALID.format(namespace=request.Namespace))
    data = [(f"MetricData.member.{place}", one) for place, one in enumerate(request.MetricData or (), 1)]
    for place, entity in enumerate(request.EntityMetricData or (), 1):
        path = f"EntityMetricData.member.{place}.MetricData.member"
        data += [(f"{path}.{number}", one) for number, one in enumerate(entity.MetricData or (), 1)]
    if not data:
        raise missing("MetricData")
    if len(data) > limits.METRIC_DATA_MAX:
        refuse_value(sentences.TOO_MANY.format(path="MetricData", most=limits.METRIC_DATA_MAX))
    observations = _observations(metrics, caller, request.Namespace, data)
    await metrics.make_room()
    for record in observations:
        spend(RECORD_STEPS)
        record()


def _observations(
    metrics: Metrics, caller: Caller, namespace: str, data: Sequence[tuple[str, MetricDatumMember]]
) -> list[Callable[[], None]]:
    """A function for each datum that records it. Raises the first ServiceError, with the messages of all data that have
    an error of its kind.
    """
    now_seconds = metrics.now_seconds()
    observations: list[Callable[[], None]] = []
    faults: list[ServiceError] = []
    for path, datum in data:
        try:
            observed = _observation(caller, namespace, datum, path, now_seconds)
            observations.append(partial(metrics.record, *observed, by_second=datum.StorageResolution == 1))
        except ServiceError as fault:
            faults.append(without_frames(fault))
    if faults:
        code = faults[0].code
        raise ServiceError(code, "\n".join([one.message for one in faults if one.code == code]))
    return observations


def _observation(
    caller: Caller, namespace: str, datum: MetricDatumMember, path: str, now_seconds: float
) -> tuple[MetricId, str, float, StatisticSet, Distribution | None]:
    """What `Metrics.record` is told of a datum. Raises ServiceError."""
    spend(len(datum.Values or ()) + DATUM_STEPS)
    check_ascii(f"{path}.MetricName", datum.MetricName)
    check_metric(namespace, datum.MetricName, f"{path}.")
    dimensions = _dimensions_of(datum.Dimensions, f"{path}.Dimensions")
    unit = "None" if datum.Unit is None else datum.Unit
    check_one_of(f"{path}.Unit", unit, STANDARD_UNITS)
    if datum.StorageResolution not in (None, 1, 60):
        refuse_value(sentences.RESOLUTION.format(path=path))
    at_seconds = now_seconds if datum.Timestamp is None else datum.Timestamp.timestamp()
    if at_seconds < now_seconds - limits.METRIC_PAST_SECONDS_MAX:
        refuse_value(sentences.TIMESTAMP_TOO_OLD.format(path=path))
    if at_seconds > now_seconds + limits.METRIC_FUTURE_SECONDS_MAX:
        refuse_value(sentences.TIMESTAMP_TOO_LATE.format(path=path))
    metric = MetricId(caller.account, caller.region, namespace, datum.MetricName, dimensions)
    return metric, unit, at_seconds, *_observed(datum, path)


def _dimensions_of(given: Sequence[DimensionMember] | None, path: str) -> Dimensions:
    """The dimensions of a datum, whose texts have more rules than those that a question may name.
    Raises ServiceError.
    """
    dimensions = dimensions_of(given, path)
    for place, one in enumerate(given or (), 1):
        name_path = f"{path}.member.{place}.Name"
        check_printed(name_path, one.Name)
        if one.Name.startswith(":"):
            refuse_value(sentences.COLON_FIRST.format(value=one.Name, path=name_path))
        check_printed(f"{path}.member.{place}.Value", one.Value or "")
    return dimensions


def _observed(datum: MetricDatumMember, path: str) -> tuple[StatisticSet, Distribution | None]:
    given = [name for name in ("Value", "Values", "StatisticValues") if getattr(datum, name) is not None]
    if len(given) > 1:
        message = sentences.SEVERAL_VALUES.format(first=f"{path}.{given[0]}", second=f"{path}.{given[1]}")
        raise ServiceError("InvalidParameterCombinationException", message)
    if datum.StatisticValues is not None:
        return _of_statistics(datum.StatisticValues, f"{path}.StatisticValues")
    values: Sequence[float] = [datum.Value] if datum.Value is not None else datum.Values or []
    counts = datum.Counts if datum.Counts is not None and datum.Values is not None else [1.0] * len(values)
    if not values:
        raise ServiceError("MissingRequiredParameterException", sentences.NO_VALUE.format(path=path))
    if len(values) > limits.METRIC_VALUES_MAX:
        refuse_value(sentences.TOO_MANY.format(path=f"{path}.Values", most=limits.METRIC_VALUES_MAX))
    if len(counts) != len(values):
        refuse_value(sentences.COUNTS_DIFFER.format(path=path))
    for place, (value, count) in enumerate(zip(values, counts, strict=True), 1):
        _check_value(f"{path}.{'Value' if datum.Value is not None else f'Values.member.{place}'}", value)
        _check_count(f"{path}.Counts.member.{place}", count)
    pairs = list(zip(values, counts, strict=True))
    total = math.fsum(value * count for value, count in pairs)
    return StatisticSet(math.fsum(counts), total, min(values), max(values)), distribution_of(pairs)


def _of_statistics(given: StatisticValuesMember, path: str) -> tuple[StatisticSet, Distribution | None]:
    """The statistics, with a distribution if all values are the same: there are percentiles only then."""
    for name in ("SampleCount", "Sum", "Minimum", "Maximum"):
        _check_value(f"{path}.{name}", getattr(given, name))
    _check_count(f"{path}.SampleCount", given.SampleCount)
    if given.Minimum > given.Maximum:
        refuse_value(sentences.MINIMUM_ABOVE_MAXIMUM.format(path=path))
    observed = StatisticSet(given.SampleCount, given.Sum, given.Minimum, given.Maximum)
    is_one_value = given.Minimum == given.Maximum and given.Sum == given.Minimum * given.SampleCount
    return observed, distribution_of([(given.Minimum, given.SampleCount)]) if is_one_value else None


def _check_value(path: str, value: float) -> None:
    check_finite(path, value)
    if abs(value) > limits.METRIC_VALUE_MAX:
        refuse_value(sentences.OUT_OF_RANGE.format(path=path, value=value))


def _check_count(path: str, count: float) -> None:
    _check_value(path, count)
    if count <= 0:
        refuse_value(sentences.COUNT_NOT_POSITIVE.format(path=path))


OPERATION = Operation(
    "PutMetricData", PutMetricDataRequest, put_metric_data, FormWire(body_bytes_max=limits.METRIC_DATA_BYTES_MAX)
)
