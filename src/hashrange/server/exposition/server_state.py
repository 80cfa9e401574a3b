"""What do a server's own metrics show? Its connections, tables and commits, and the totals of
CloudWatch's metrics, at one moment.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from hashrange.cloudwatch.dynamodb.gauges import place_of_table, table_gauges
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.totals import Total
from hashrange.items.steps import spend, walk
from hashrange.server.clients import Clients
from hashrange.service.service import Service

GAUGES_STEPS = 30
"""Steps that the gauges of one table take."""


class ServerState(NamedTuple):
    """What only this server knows, at one moment."""

    service_seconds: float
    """Service time."""
    tables: int
    """Number of tables of the accounts that are shown."""
    connections: int
    commits: int
    """Position of the last commit."""
    durable_commits: int
    """Position up to which commits survive a power cut."""
    totals: Sequence[tuple[MetricId, Total]]
    gauges: Mapping[MetricId, float]
    """What tables are provisioned with, and whatever else has a value at any time."""


class Viewer(NamedTuple):
    """Who looks, and sees the tables and metrics of one account only."""

    account: str
    regions: Collection[str] | None
    """None: all Regions."""

    def sees(self, account: str, region: str) -> bool:
        """True if what this account has in this Region is shown."""
        return account == self.account and (self.regions is None or region in self.regions)


LookAtServer = Callable[[Viewer | None], ServerState]
"""Returns the state that a viewer sees; None sees that of all accounts. May give way."""


def look_at_server(service: Service, clients: Clients, viewer: Viewer | None) -> ServerState:
    """The state now. A `LookAtServer`."""
    store, metrics = service.store, service.features.part(METRICS)
    metrics.sources.read()
    tables, totals = store.catalog.all_tables(), metrics.totals.all()
    if viewer is not None:
        tables = [table for table in walk(tables) if viewer.sees(*place_of_table(table.schema))]
        totals = [(metric, total) for metric, total in walk(totals) if viewer.sees(metric.account, metric.region)]
    gauges: dict[MetricId, float] = {}
    for table in tables:
        spend(GAUGES_STEPS)
        gauges |= table_gauges(table.schema)
    return ServerState(
        service_seconds=service.clock.service_time(),
        tables=len(tables),
        connections=clients.count_open(),
        commits=store.position(),
        durable_commits=store.durable_position(),
        totals=totals,
        gauges=gauges,
    )
