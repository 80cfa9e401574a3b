"""What does a server know of a table that advice can rest on? Its description, its metrics of at most two weeks,
a sample of its items, and what Contributor Insights has counted in the last day, if it is on.

The sample is one page of Scan: at most SAMPLE_ITEMS items and 1 MB, which consumes at most 128 read units.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.remote import RemoteError

READ_UNITS, WRITE_UNITS, INDEX = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "GlobalSecondaryIndexName"
REQUESTS = "SuccessfulRequestLatency"
"""The metric with a sample for each request that succeeded."""
Points = Mapping[float, float]
"""Beginning of an hour, in seconds since 1970 → the metric in it."""
SAMPLE_ITEMS = 500
DAYS_MAX = 14
HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
SECONDS_MAX = DAYS_MAX * DAY_SECONDS


class ItemSample(NamedTuple):
    """What a page of a table's items shows."""

    items: int
    partition_keys: int
    """Different partition keys."""
    most_items_of_a_key: int
    longest_bytes: int
    """Length of the longest item, as JSON."""
    missing_in_indexes: Mapping[str, int]
    """Index → items without its key attributes, which have no entry in it."""
    times: Sequence[str]
    """Attributes that are a time in seconds since 1970 in every item that has them."""


class Use(NamedTuple):
    """Sums of metrics since the first of them, at most DAYS_MAX days ago; None: metrics are not recorded."""

    read_units: float | None
    write_units: float | None
    throttled: float | None
    scans: float | None
    queries: float | None


class IndexUse(NamedTuple):
    """What metrics tell of a global index."""

    read_units: float | None
    days: int
    """Days, of the last DAYS_MAX, that have metrics of the index."""


class HotKey(NamedTuple):
    """The greatest contributor of a rule: the partition key that uses, or is refused, most of a table's units."""

    key: str
    """The partition key, as the report words it."""
    counted: float
    of_all: float
    """What all keys have."""
    what: str
    """What is counted."""


class Evidence(NamedTuple):
    """All that is known of a table."""

    table: Mapping[str, Any]
    """The table's description."""
    expires: bool
    use: Use
    index_uses: Mapping[str, IndexUse]
    """By the name of the global index."""
    sample: ItemSample
    hot_keys: Sequence[HotKey] = ()
    """The greatest contributors of Contributor Insights; none while it is off."""
    seen_seconds: float | None = None
    """For how long there are metrics of the table; None: there are none."""


def gather_evidence(asking: AskedServer, table: str) -> Evidence:
    """Ask for all of it. Raises RemoteError if the table cannot be described or read; metrics may be missing."""
    described = asking.ask("DescribeTable", TableName=table)["Table"]
    expiry = asking.ask("DescribeTimeToLive", TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
    page = asking.ask("Scan", TableName=table, Limit=SAMPLE_ITEMS)
    now_seconds = asking.service_seconds()
    names = [one["IndexName"] for one in described.get("GlobalSecondaryIndexes", ())]
    points_of = partial(_points_of, asking, now_seconds, table)
    reads, writes = points_of(READ_UNITS), points_of(WRITE_UNITS)
    throttled = [points_of("ReadThrottleEvents"), points_of("WriteThrottleEvents")]
    scans, queries = (points_of(REQUESTS, ("Operation", one), "SampleCount") for one in ("Scan", "Query"))
    throttles = [_sum(points) for points in throttled]
    throttled_sum = None if None in throttles else sum(one or 0.0 for one in throttles)
    use = Use(_sum(reads), _sum(writes), throttled_sum, _sum(scans), _sum(queries))
    uses = {
        name: _index_use(points_of(READ_UNITS, (INDEX, name)), points_of(WRITE_UNITS, (INDEX, name))) for name in names
    }
    moments = [moment for points in (reads, writes, *throttled, scans, queries) for moment in points or ()]
    seen_seconds = None
    if moments:
        first_moment = max(min(moments), described.get("CreationDateTime", 0.0))
        # A reply's time is in whole seconds, so a new table may seem younger than nothing.
        seen_seconds = min(max(now_seconds - first_moment, 0.0), SECONDS_MAX)
    sample = _sampled(described, page["Items"], now_seconds)
    hot = hottest_keys(asking, table, now_seconds)
    is_expiring = expiry in {"ENABLED", "ENABLING"}
    return Evidence(described, is_expiring, use, uses, sample, hot, seen_seconds)


def _index_use(reads: Points | None, writes: Points | None) -> IndexUse:
    return IndexUse(_sum(reads), len({moment // DAY_SECONDS for moment in [*(reads or ()), *(writes or ())]}))


def _sum(points: Points | None) -> float | None:
    return None if points is None else sum(points.values())


def _points_of(
    asking: AskedServer,
    now_seconds: float,
    table: str,
    metric: str,
    dimension: tuple[str, str] | None = None,
    statistic: str = "Sum",
) -> Points | None:
    """A metric of a table by hours that have it, of at most DAYS_MAX days; None if the server has no metrics.
    `dimension`: name and value of a further one.
    """
    dimensions = [("TableName", table), *([dimension] if dimension else [])]
    try:
        reply = asking.ask(
            "GetMetricStatistics",
            "cloudwatch",
            Namespace="AWS/DynamoDB",
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions],
            StartTime=now_seconds - SECONDS_MAX,
            EndTime=now_seconds + HOUR_SECONDS,
            Period=HOUR_SECONDS,
            Statistics=[statistic],
        )
    except RemoteError:
        return None
    return {float(point["Timestamp"]): float(point.get(statistic, 0.0)) for point in reply.get("Datapoints", ())}


def _sampled(table: Mapping[str, Any], items: Sequence[Mapping[str, Any]], now_seconds: float) -> ItemSample:
    partition_name = table["KeySchema"][0]["AttributeName"]
    keys = Counter(json.dumps(item.get(partition_name)) for item in items)
    indexes = [*table.get("GlobalSecondaryIndexes", ()), *table.get("LocalSecondaryIndexes", ())]
    missing = {
        one["IndexName"]: sum(
            any(element["AttributeName"] not in item for element in one["KeySchema"]) for item in items
        )
        for one in indexes
    }
    return ItemSample(
        len(items),
        len(keys),
        max(keys.values(), default=0),
        max((len(json.dumps(item)) for item in items), default=0),
        missing,
        _times(items, now_seconds),
    )


def _times(items: Sequence[Mapping[str, Any]], now_seconds: float) -> list[str]:
    names = {name for item in items for name in item}

    def is_time(value: Mapping[str, str]) -> bool:
        text = value.get("N", "")
        return text.isdigit() and abs(int(text[:12]) - now_seconds) < 10 * 365 * DAY_SECONDS

    return sorted(name for name in names if all(is_time(item[name]) for item in items if name in item))


# --- hot keys -------------------------------------------------------------------------------------

RULE_PREFIX = "DynamoDBContributorInsights-"
KINDS = {"PKC": "units", "PKT": "throttled parts of requests"}


def hottest_keys(asking: AskedServer, table: str, now_seconds: float) -> list[HotKey]:
    """The greatest contributor of each rule on partition keys;
    none where Contributor Insights or CloudWatch do not answer.
    """
    try:
        rules = asking.ask("DescribeContributorInsights", TableName=table).get("ContributorInsightsRuleList", ())
        kinds = {rule: rule.removeprefix(RULE_PREFIX).partition("-")[0] for rule in rules}
        known = [(rule, KINDS[kind]) for rule, kind in kinds.items() if kind in KINDS]
        return [hot for rule, what in known for hot in _top(asking, rule, what, now_seconds)]
    except RemoteError:
        return []


def _top(asking: AskedServer, rule: str, what: str, now_seconds: float) -> list[HotKey]:
    report: dict[str, Any] = asking.ask(
        "GetInsightRuleReport",
        "cloudwatch",
        RuleName=rule,
        StartTime=now_seconds - DAY_SECONDS,
        EndTime=now_seconds + HOUR_SECONDS,
        Period=HOUR_SECONDS,
        MaxContributorCount=1,
    )
    return [
        HotKey(", ".join(map(str, one["Keys"])), one["ApproximateAggregateValue"], report["AggregateValue"], what)
        for one in report["Contributors"]
    ]
