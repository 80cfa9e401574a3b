"""Which metrics do Prometheus and OpenTelemetry see? Those of CloudWatch as counters, histograms and gauges,
and what only this server has: connections and commits.

CloudWatch's `ConsumedReadCapacityUnits` with the dimension `TableName` becomes
`hashrange_consumed_read_capacity_units_total` with the label `table_name`. Milliseconds become seconds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from hashrange import __version__
from hashrange.cloudwatch.dynamodb.definitions import ALL_METRICS, UNITS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import upper_bound
from hashrange.cloudwatch.totals import Total
from hashrange.items.steps import spend, walk
from hashrange.server.exposition.server_state import ServerState, WorkState

FamilyKind = Literal["counter", "gauge", "histogram"]
PREFIX = "hashrange_"
GAUGE_STEPS = 14
"""Steps that the sample of a gauge takes."""
SERVICE_NAMESPACES = "AWS/"
GAUGES = frozenset(one.name for one in ALL_METRICS if one.is_gauge)
"""Metrics that are read every five minutes."""
REPEATING = frozenset({"OperationType", "Source", "Verb"})
"""Dimensions whose metrics count again what those without it count:
a sum over all samples of a family would count it twice."""
LATENCY_BOUNDS_SECONDS = (*(step / parts for parts in (10_000, 1_000, 100, 10, 1) for step in (1, 2.5, 5)), 10.0)
"""Upper bounds of a histogram's buckets: 0.1 ms, 0.25 ms, 0.5 ms, 1 ms and so on to 10 s. CloudWatch's buckets are a
tenth wide, so a value may be counted in the bucket above its own."""
HISTOGRAM_STEPS = 50
"""Steps that counting or writing the buckets of one histogram takes."""
_words = re.compile(r"(?<=[a-z0-9])(?=[A-Z])").sub


class HistogramValue(NamedTuple):
    """What a histogram has counted."""

    counts: Sequence[float]
    """Values in each bucket of LATENCY_BOUNDS_SECONDS, and above the last."""
    sum: float
    minimum: float
    maximum: float


class Sample(NamedTuple):
    """The value of a family for one set of labels."""

    labels: dict[str, str]
    value: float | HistogramValue


class Family(NamedTuple):
    """All samples of one name."""

    name: str
    """Without the ending `_total`."""
    kind: FamilyKind
    documentation: str
    samples: list[Sample]


def families_of(state: ServerState) -> Iterable[Family]:
    """All families, those of the server first, then those of CloudWatch by name; may give way."""
    yield Family(f"{PREFIX}build_info", "gauge", "Version that is running.", [Sample({"version": __version__}, 1.0)])
    for name, documentation, value in (
        ("connections", "Open connections.", state.connections),
        ("tables", "Tables of the accounts and Regions that are shown.", state.tables),
        ("service_time_seconds", "The database's own time, in seconds since 1970.", state.service_seconds),
        ("durable_commit_position", "Position up to which commits survive a power cut.", state.durable_commits),
    ):
        yield Family(PREFIX + name, "gauge", documentation, [Sample({}, float(value))])
    yield Family(f"{PREFIX}commits", "counter", "Commits of the store.", [Sample({}, float(state.commits))])
    yield from _of_work("transfers", "Exports, imports and bulk puts, by status.", state.transfers)
    yield from _of_work("backups", "Backups, and tables that are being restored, by status.", state.backups)
    yield from sorted(_of_cloudwatch(state).values())


def _of_work(name: str, documentation: str, counts: Mapping[WorkState, int]) -> Iterable[Family]:
    """The family of counts; none if there is nothing to count."""
    if counts:
        samples = [Sample(one._asdict(), float(count)) for one, count in walk(list(counts.items()))]
        yield Family(PREFIX + name, "gauge", documentation, samples)


def _of_cloudwatch(state: ServerState) -> dict[str, Family]:
    families: dict[str, Family] = {}
    for metric, total in walk(state.totals):
        # Names of a program's own metrics may be anything, and gauges are read, not counted.
        is_counted = metric.namespace.startswith(SERVICE_NAMESPACES) and metric.name not in GAUGES
        if is_counted and REPEATING.isdisjoint(name for name, _ in metric.dimensions):
            is_latency = total.unit == "Milliseconds"
            value = _histogram(total) if is_latency else total.statistics.sum
            _add(families, metric, total.unit, "histogram" if is_latency else "counter", value)
    for metric, number in state.gauges.items():
        spend(GAUGE_STEPS)
        _add(families, metric, UNITS[metric.name], "gauge", number)
    return families


def _add(
    families: dict[str, Family], metric: MetricId, unit: str, kind: FamilyKind, value: float | HistogramValue
) -> None:
    """Add a sample to its family. A metric has one unit, so all samples of a family have the same kind."""
    name = family_name(metric.name, unit)
    family = families.get(name)
    if family is None:
        documentation = f"CloudWatch's metric {metric.name} in {metric.namespace}."
        family = families[name] = Family(name, kind, documentation, [])
    labels = {_snake(dimension): text for dimension, text in metric.dimensions}
    family.samples.append(Sample({"account": metric.account, "region": metric.region, **labels}, value))


def family_name(name: str, unit: str) -> str:
    """The name of the family of a CloudWatch metric."""
    return f"{PREFIX}{_snake(name)}{'_seconds' if unit == 'Milliseconds' else ''}"


def _snake(name: str) -> str:
    return _words("_", name).lower()


def _histogram(total: Total) -> HistogramValue:
    """Milliseconds in CloudWatch's buckets as seconds in ours; may give way."""
    spend(HISTOGRAM_STEPS)
    counts = [0.0] * (len(LATENCY_BOUNDS_SECONDS) + 1)
    for bucket, count in total.distribution.items():
        bound_seconds = upper_bound(bucket) / 1000
        counts[sum(bound_seconds > bound for bound in LATENCY_BOUNDS_SECONDS)] += count
    observed = total.statistics
    return HistogramValue(counts, observed.sum / 1000, observed.minimum / 1000, observed.maximum / 1000)
