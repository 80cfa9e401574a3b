"""What do a server's own metrics show? Its connections, tables and commits, and the totals of CloudWatch's metrics, at one moment."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.gauges import table_gauges
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.totals import Total
from hashrange.server.clients import Clients
from hashrange.service.service import Service


class ServerState(NamedTuple):
    """What only this server knows, at one moment."""

    service_seconds: float
    """Service time."""
    tables: int
    connections: int
    commits: int
    """Position of the last commit."""
    durable_commits: int
    """Position up to which commits survive a power cut."""
    totals: Sequence[tuple[MetricId, Total]]
    gauges: Mapping[MetricId, float]
    """What tables are provisioned with, and whatever else has a value at any time."""


LookAtServer = Callable[[], ServerState]


def look_at_server(service: Service, clients: Clients) -> ServerState:
    """The state now."""
    store, metrics = service.store, service.background.cloudwatch.metrics
    metrics.read_sources()
    return ServerState(
        service_seconds=service.clock.service_time(),
        tables=len(store.catalog.all_tables()),
        connections=clients.count_open(),
        commits=store.position(),
        durable_commits=store.durable_position(),
        totals=metrics.totals.all(),
        gauges={
            metric: value
            for table in store.catalog.all_tables()
            for metric, value in table_gauges(table.schema).items()
        },
    )
