"""`ttl/expire`, `tables/NAME/…`: what may be done to tables beside the API's operations?

`POST ttl/expire` deletes every expired item of one table or of all, whatever `--ttl-delay` says, and then replies.
`POST tables/NAME/split` splits a partition of a table into two halves of its hashes, as happens when the table outgrows
its partitions. Partitions are not stored separately, so their sizes are unknown; the largest is taken to be the one
with the most hashes, among those that hold several partition keys.
`GET` and `POST tables/NAME/throughput`: how the throughput of one table is enforced, and what its buckets hold
(docs/throughput.md).
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.limits import PARTITIONS_MAX
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving, at_once
from hashrange.service.hints import PLACES_TOLD_MAX
from hashrange.settings import AdaptiveSetting, ThroughputSetting
from hashrange.soon import settled
from hashrange.store.interface import Store, local_maintenance_of
from hashrange.store.pause import PAUSE
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import Partition
from hashrange.tables.read_spans import hash_span
from hashrange.tables.source_id import HASH_BYTES
from hashrange.throughput.feature import THROUGHPUT


class TablePlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The members of a request that say which of several tables of the same name is meant."""

    account: str | None = None
    region: str | None = None


def find_named_table(serving: Serving, name: str, place: TablePlace) -> OpenTable:
    """Return the only table of this name, account and Region (None: any). Raises Refused if none or several match."""
    catalog, account, region = serving.service.store.catalog, place.account, place.region
    found = sorted(catalog.elsewhere(name))
    places = [place for place in found if account in {None, place[0]} and region in {None, place[1]}]
    if len(places) > 1:
        shown = ", ".join(f"account {account} and Region {region}" for account, region in places[:PLACES_TOLD_MAX])
        if len(places) > PLACES_TOLD_MAX:
            shown += f" and {len(places) - PLACES_TOLD_MAX:,} more"
        raise Refused(409, sentences.AMBIGUOUS_TABLE.format(name=name, places=shown))
    table = catalog.find(*places[0], name) if places else None
    if table is None:
        where = "".join(
            f" {preposition} {text}"
            for preposition, text in (("of account", account), ("in Region", region))
            if text is not None
        )
        raise Refused(404, sentences.NO_TABLE.format(name=name, where=where))
    return table


# --- expired items --------------------------------------------------------------------------------


class ExpireRequest(TablePlace, frozen=True, forbid_unknown_fields=True):
    """Request: the table whose expired items are deleted; all tables if none is named."""

    table: str | None = None


async def expire(serving: Serving, request: ExpireRequest) -> dict[str, object]:
    """Delete expired items durably, and return how many. Raises Refused or StorageError."""
    service, table = serving.service, None
    if request.table is not None:
        table = find_named_table(serving, request.table, request)
    elif request.account is not None or request.region is not None:
        raise Refused(400, sentences.PLACE_WITHOUT_TABLE)
    maintenance = local_maintenance_of(service.store)
    expired = await maintenance.expire_now(table, service.features.items_expired)
    return {"expired": expired}


# --- partitions -----------------------------------------------------------------------------------


class SplitRequest(TablePlace, frozen=True, forbid_unknown_fields=True):
    """Request: which partition of a table to split."""

    partition: int | None = None
    """Number of the partition among all that the table ever had, from 1; None means the largest that can be split."""


async def split(serving: Serving, request: SplitRequest, name: str) -> dict[str, object]:
    """Split a partition durably; return the table's partitions in order of hashes. Raises Refused or StorageError."""
    store = serving.service.store
    table = find_named_table(serving, name, request)
    if len(table.partitions[table.source_id]) >= PARTITIONS_MAX:
        raise Refused(409, sentences.TOO_MANY_PARTITIONS.format(name=name, count=PARTITIONS_MAX))
    partition = await _choose(store, table, request.partition)
    if not await local_maintenance_of(store).split_partition(partition):
        raise Refused(409, sentences.PARTITION_CHANGED.format(name=name, number=partition.number))
    table = find_named_table(serving, name, TablePlace(table.schema.account, table.schema.region))
    return {"partitions": [_shown_partition(one) for one in table.partitions[table.source_id]]}


async def _choose(store: Store, table: OpenTable, number: int | None) -> Partition:
    """Return the partition of this number or, with None, the largest that can be split.

    Raises Refused if no partition has the number, or none can be split.
    """
    partitions = table.partitions[table.source_id]
    if number is None:
        what = f"Table {table.name}"
        candidates = sorted(partitions, key=lambda one: one.hashes.last - one.hashes.first, reverse=True)
    else:
        what = f"Partition {number} of table {table.name}"
        candidates = [one for one in partitions if one.number == number]
        if not candidates:
            numbers = ", ".join(str(one.number) for one in partitions)
            raise Refused(404, sentences.NO_PARTITION.format(name=table.name, number=number, numbers=numbers))
    for partition in candidates:
        if await _has_several_keys(store, partition):
            return partition
        await PAUSE
    raise Refused(409, sentences.TOO_FEW_KEYS.format(what=what))


async def _has_several_keys(store: Store, partition: Partition) -> bool:
    """True if the partition has several partition keys: its first and last item have different hashes."""
    hashes = set()
    for is_reverse in (False, True):
        span = hash_span(partition.hashes, is_reverse=is_reverse)
        page = await settled(store.page(partition.source_id, span, 1, 1, consistent=True))
        if page.last_key is not None:
            hashes.add(page.last_key[:HASH_BYTES])
    return len(hashes) > 1


def _shown_partition(partition: Partition) -> dict[str, object]:
    """Return the reply's members for a partition. Hashes are hexadecimal texts, because many languages cannot read JSON
    numbers of 64 bits.
    """
    first, last = partition.hashes
    return {"number": partition.number, "first_hash": f"{first:016x}", "last_hash": f"{last:016x}"}


# --- throughput -----------------------------------------------------------------------------------


class ThroughputRequest(TablePlace, frozen=True, forbid_unknown_fields=True):
    """Request: new terms of a table. A member that is missing stays as it is."""

    mode: ThroughputSetting | None = None
    adaptive: AdaptiveSetting | None = None


async def show_throughput(serving: Serving, request: TablePlace, name: str) -> dict[str, object]:
    """Return the terms of a table, and its buckets. Raises Refused if there is no such table."""
    return _shown_throughput(serving, find_named_table(serving, name, request))


async def change_throughput(serving: Serving, request: ThroughputRequest, name: str) -> dict[str, object]:
    """Change the terms of a table, whose buckets are full then;
    return what `show_throughput` returns. Raises Refused.
    """
    service = serving.service
    table = find_named_table(serving, name, request)
    schema, throughputs = table.schema, service.features.part(THROUGHPUT).throughputs
    terms = throughputs.terms_of(schema.account, schema.region, schema.name)
    terms = terms._replace(mode=request.mode or terms.mode, adaptive=request.adaptive or terms.adaptive)
    throughputs.set_terms(schema.account, schema.region, schema.name, terms)
    service.features.put_in_front()
    return _shown_throughput(serving, table)


def _shown_throughput(serving: Serving, table: OpenTable) -> dict[str, object]:
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
    found = serving.service.features.part(THROUGHPUT).throughputs.find(source.source_id)
    if found is None:
        return None
    now_seconds = serving.service.features.part(THROUGHPUT).now_seconds()
    return {"reads": found.reads.describe(now_seconds), "writes": found.writes.describe(now_seconds)}


_TERMS = AdminWire('{"mode": "enforced"}')
ENDPOINTS = (
    Operation("POST ttl/expire", ExpireRequest, expire, AdminWire('{"table": "sessions"}')),
    Operation("POST tables/NAME/split", SplitRequest, split, AdminWire()),
    Operation("GET tables/NAME/throughput", TablePlace, show_throughput, AdminWire(), is_eventual=at_once),
    Operation("POST tables/NAME/throughput", ThroughputRequest, change_throughput, _TERMS, is_eventual=at_once),
)
