"""What do a server's own metrics show? Its connections, tables, commits, transfers and backups, and the totals of
CloudWatch's metrics, at one moment.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from hashrange.cloudwatch.dynamodb.gauges import place_of_table, table_gauges
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.totals import Total
from hashrange.errors import StorageError
from hashrange.items.steps import look, spend, walk
from hashrange.operations.backups.kept_backups import backups_of
from hashrange.operations.transfers.bulk_records import kept_bulk_puts
from hashrange.operations.transfers.export_records import kept_exports
from hashrange.operations.transfers.import_records import kept_imports
from hashrange.server.clients import Clients
from hashrange.service.service import Service
from hashrange.store.interface import WholeStore
from hashrange.store.records import KeptRecords

GAUGES_STEPS = 30
"""Steps that the gauges of one table take."""


class WorkState(NamedTuple):
    """What transfers, backups or restores that are counted together have in common."""

    account: str
    region: str
    kind: str
    """`export`, `import` or `bulk_put`; `backup` or `restore`."""
    status: str


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
    transfers: Mapping[WorkState, int] = {}
    backups: Mapping[WorkState, int] = {}
    """Also tables that are being restored, as CREATING."""


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
        transfers=_seen(viewer, _transfers(store)),
        backups=_seen(viewer, _backups(store, service.clock.service_time())),
    )


def _seen(viewer: Viewer | None, found: Iterator[WorkState]) -> Mapping[WorkState, int]:
    """How many there are of each kind and state. A store that fails shows none: the other metrics are needed then."""
    counts: Counter[WorkState] = Counter()
    with suppress(StorageError):
        for one in found:
            if viewer is None or viewer.sees(one.account, one.region):
                counts[one] += 1
    return counts


def _transfers(store: WholeStore) -> Iterator[WorkState]:
    for kind, records in (
        ("export", kept_exports(store.documents).records),
        ("import", kept_imports(store.documents).records),
        ("bulk_put", kept_bulk_puts(store.documents).records),
    ):
        for one in _sound(records):
            yield WorkState(one.account, one.region, kind, one.status)


def _backups(store: WholeStore, now_seconds: float) -> Iterator[WorkState]:
    for backup in _sound(backups_of(store.documents)):
        if backup.is_shown(now_seconds):
            yield WorkState(backup.account, backup.region, "backup", backup.state)
    for table in walk(store.catalog.all_tables()):
        if table.schema.is_filling:
            yield WorkState(table.schema.account, table.schema.region, "restore", "CREATING")


def _sound(records: KeptRecords[Any]) -> Iterator[Any]:
    """All records, without documents that hold none; gives way."""
    for some in records.pieces(note_damaged=lambda _path, _wrong: None):
        yield from [record for _, record in some]
        look()
