"""Which requests about metrics cost most? Those of a database with as many metrics as it keeps, and the first one
after a start, for which code is loaded.
"""

import base64
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from benchmarks.signing import ACCESS_KEY, SECRET_KEY
from torture.kinds.kind import Conditions, Hostile, Kind, web

METRICS = 20_000
"""As many metrics of programs' own namespaces as a database keeps."""
TOGETHER = 1_000
"""Data of one PutMetricData."""
SEARCHES = 100
EXPRESSIONS = 400
HOUR_SECONDS, DAYS_SECONDS = 3_600, 14 * 86_400
WITH_ADMIN = Conditions(flags=("--admin",))
NEWLY_STARTED = Conditions(flags=("--log-level", "error"))
"""Conditions that no other kind has, so that the servers are started again."""


def asked(operation: str, members: dict[str, Any]) -> Hostile:
    """A request of CloudWatch."""
    headers = (
        ("X-Amz-Target", f"GraniteServiceVersion20100801.{operation}"),
        ("Content-Type", "application/x-amz-json-1.0"),
    )
    return web("POST", "/", msgspec.json.encode(members), headers, "monitoring")


def put(first: int, count: int = TOGETHER) -> Hostile:
    """A PutMetricData of many metrics, one value each."""
    data = [
        {
            "MetricName": f"load-{number:05}",
            "Dimensions": [{"Name": "host", "Value": f"host-{number % 100}"}],
            "Value": float(number),
        }
        for number in range(first, first + count)
    ]
    return asked("PutMetricData", {"Namespace": "Torture", "MetricData": data})


def every_metric() -> Iterator[Hostile]:
    """Requests that put METRICS metrics."""
    for first in range(0, METRICS, TOGETHER):
        yield put(first)


def every_metric_and_a_snapshot() -> Iterator[Hostile]:
    """The same, and a snapshot, whose number is 1."""
    yield from every_metric()
    yield web("POST", "/_hashrange/v1/snapshots", b"{}")


def data_of(queries: list[dict[str, Any]], seconds: int) -> Hostile:
    """A GetMetricData of the last seconds."""
    now = int(time.time())
    return asked("GetMetricData", {"StartTime": now - seconds, "EndTime": now, "MetricDataQueries": queries})


def searches() -> Hostile:
    """Many SEARCHes, of which each looks at all metrics and finds a hundred."""
    return data_of(
        [
            {"Id": f"e{number}", "Expression": f"SEARCH('{{Torture,host}} host-{number} OR nothing', 'Sum', 60)"}
            for number in range(SEARCHES)
        ],
        HOUR_SECONDS,
    )


def chain() -> Hostile:
    """Many expressions over many days, each of the one before it."""
    queries: list[dict[str, Any]] = [{"Id": "e0", "Expression": "TIME_SERIES(1)", "Period": 60, "ReturnData": False}]
    queries += [
        {"Id": f"e{number}", "Expression": f"e{number - 1} + 1", "Period": 60, "ReturnData": number == EXPRESSIONS}
        for number in range(1, EXPRESSIONS + 1)
    ]
    return data_of(queries, DAYS_SECONDS)


def scrape() -> Hostile:
    """What Prometheus sends."""
    user = base64.b64encode(f"{ACCESS_KEY}:{SECRET_KEY}".encode()).decode()
    return web("GET", "/metrics", headers=(("Authorization", f"Basic {user}"),))


def restore() -> Hostile:
    """A return to the snapshot, after which all metrics are loaded again."""
    return web("POST", "/_hashrange/v1/snapshots/1/restore", b"{}")._replace(then=(put(0, 1),))


KINDS = (
    Kind("first-put-of-metrics", partial(put, 0, 1), ("200",), conditions=NEWLY_STARTED),
    Kind("put-1000-metrics", partial(put, 0), ("200",)),
    Kind("searches-20000-metrics", searches, ("200",), preparation=every_metric),
    Kind("chained-expressions-400", chain, ("400",)),
    Kind("scrape-20000-metrics", scrape, ("200",), preparation=every_metric),
    Kind("restore-20000-metrics", restore, ("200",), conditions=WITH_ADMIN, preparation=every_metric_and_a_snapshot),
)
