"""What does a server know of a table that advice can rest on? Its description, its metrics of two weeks, and a sample of its items.

The sample is one page of Scan: at most SAMPLE_ITEMS items and 1 MB, which consumes at most 128 read units.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.hot_keys import HotKey, hottest_keys
from hashrange.cli.remote import RemoteError
from hashrange.clock import SystemClock

SAMPLE_ITEMS = 500
DAYS = 14
DAY_SECONDS = 86_400
SECONDS = timedelta(days=DAYS).total_seconds()


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
    """Sums of metrics of the last DAYS days; None: there are no metrics."""

    read_units: float | None
    write_units: float | None
    throttled: float | None
    scans: float | None
    queries: float | None


class Evidence(NamedTuple):
    """All that is known of a table."""

    table: Mapping[str, Any]
    """The table's description."""
    expires: bool
    use: Use
    index_reads: Mapping[str, float | None]
    """Global index → read units of the last DAYS days."""
    sample: ItemSample
    hot_keys: Sequence[HotKey] = ()
    """The greatest contributors of Contributor Insights; none while it is off."""


def gather_evidence(asking: AskedServer, table: str) -> Evidence:
    """Ask for all of it. Raises RemoteError if the table cannot be described or read; metrics may be missing."""
    described = asking.ask("DescribeTable", TableName=table)["Table"]
    expiry = asking.ask("DescribeTimeToLive", TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
    page = asking.ask("Scan", TableName=table, Limit=SAMPLE_ITEMS)
    names = [one["IndexName"] for one in described.get("GlobalSecondaryIndexes", ())]
    of_table = [{"Name": "TableName", "Value": table}]
    throttled = [_sum(asking, name, of_table) for name in ("ReadThrottleEvents", "WriteThrottleEvents")]
    use = Use(
        _sum(asking, "ConsumedReadCapacityUnits", of_table),
        _sum(asking, "ConsumedWriteCapacityUnits", of_table),
        None if None in throttled else sum(one or 0.0 for one in throttled),
        *(_requests(asking, of_table, operation) for operation in ("Scan", "Query")),
    )
    reads = {
        name: _sum(
            asking, "ConsumedReadCapacityUnits", [*of_table, {"Name": "GlobalSecondaryIndexName", "Value": name}]
        )
        for name in names
    }
    sample = _sampled(described, page["Items"])
    hot = hottest_keys(asking, table, SystemClock.wall_time())
    return Evidence(described, expiry in {"ENABLED", "ENABLING"}, use, reads, sample, hot)


def _sum(
    asking: AskedServer, metric: str, dimensions: Sequence[Mapping[str, str]], statistic: str = "Sum"
) -> float | None:
    end_seconds = SystemClock.wall_time()
    try:
        reply = asking.ask(
            "GetMetricStatistics",
            "cloudwatch",
            Namespace="AWS/DynamoDB",
            MetricName=metric,
            Dimensions=list(dimensions),
            StartTime=end_seconds - SECONDS,
            EndTime=end_seconds + DAY_SECONDS,
            Period=DAY_SECONDS,
            Statistics=[statistic],
        )
    except RemoteError:
        return None
    return float(sum(point.get(statistic, 0.0) for point in reply.get("Datapoints", ())))


def _requests(asking: AskedServer, of_table: Sequence[Mapping[str, str]], operation: str) -> float | None:
    dimensions = [*of_table, {"Name": "Operation", "Value": operation}]
    return _sum(asking, "SuccessfulRequestLatency", dimensions, "SampleCount")


def _sampled(table: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> ItemSample:
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
        _times(items),
    )


def _times(items: Sequence[Mapping[str, Any]]) -> list[str]:
    now_seconds = SystemClock.wall_time()
    names = {name for item in items for name in item}

    def is_time(value: Mapping[str, str]) -> bool:
        text = value.get("N", "")
        return text.isdigit() and abs(int(text[:12]) - now_seconds) < 10 * 365 * DAY_SECONDS

    return sorted(name for name in names if all(is_time(item[name]) for item in items if name in item))
