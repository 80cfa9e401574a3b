"""`GET` and `POST tables/NAME/throughput`: how the throughput of one table is enforced,
and what its buckets hold (docs/throughput.md).
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.server.protocols.admin.endpoint import AdminWire, Serving, at_once
from hashrange.server.protocols.admin.tables import find_named_table
from hashrange.settings import AdaptiveSetting, ThroughputSetting
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.throughput.feature import THROUGHPUT


class ThroughputRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: new terms of a table. A member that is missing stays as it is."""

    mode: ThroughputSetting | None = None
    adaptive: AdaptiveSetting | None = None
    account: str | None = None
    region: str | None = None


class ShowThroughputRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: which of several tables of the same name."""

    account: str | None = None
    region: str | None = None


async def show_throughput(serving: Serving, request: ShowThroughputRequest, name: str) -> dict[str, object]:
    """Return the terms of a table, and its buckets. Raises Refused if there is no such table."""
    return _shown(serving, find_named_table(serving.service.store.catalog, name, request.account, request.region))


async def change_throughput(serving: Serving, request: ThroughputRequest, name: str) -> dict[str, object]:
    """Change the terms of a table, whose buckets are full then;
    return what `show_throughput` returns. Raises Refused.
    """
    service = serving.service
    table = find_named_table(service.store.catalog, name, request.account, request.region)
    schema, throughputs = table.schema, service.features.part(THROUGHPUT).throughputs
    terms = throughputs.terms_of(schema.account, schema.region, schema.name)
    terms = terms._replace(mode=request.mode or terms.mode, adaptive=request.adaptive or terms.adaptive)
    throughputs.set_terms(schema.account, schema.region, schema.name, terms)
    service.features.put_in_front()
    return _shown(serving, table)


def _shown(serving: Serving, table: OpenTable) -> dict[str, object]:
    service, schema = serving.service, table.schema
    terms = service.features.part(THROUGHPUT).throughputs.terms_of(schema.account, schema.region, schema.name)
    globals_ = [one for one in table.indexes if one.index is not None and one.index.is_global]
    return {
        "mode": terms.mode,
        "adaptive": terms.adaptive,
        "table": _buckets(serving, table.table_source),
        "indexes": {one.index.name: _buckets(serving, one) for one in globals_ if one.index is not None},
    }


def _buckets(serving: Serving, source: ReadSource) -> dict[str, object] | None:
    """What the buckets of a table or index hold; None if they are not enforced."""
    enforced = serving.service.features.part(THROUGHPUT)
    found = enforced.throughputs.find(source.source_id)
    if found is None:
        return None
    now_seconds = enforced.now_seconds()
    return {"reads": found.reads.describe(now_seconds), "writes": found.writes.describe(now_seconds)}


ENDPOINTS = (
    Operation("GET tables/NAME/throughput", ShowThroughputRequest, show_throughput, AdminWire(), is_eventual=at_once),
    Operation(
        "POST tables/NAME/throughput",
        ThroughputRequest,
        change_throughput,
        AdminWire('{"mode": "enforced"}'),
        is_eventual=at_once,
    ),
)
