"""A page is paid slice by slice, so that reads at the same time, and a client that leaves, do not read for nothing.
Index entries of a write are derived once, by whoever needs them first. Nothing is asked that need not be.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import msgspec
import pytest

from hashrange.clock import Clock, SystemClock
from hashrange.errors import ProvisionedThroughputExceededException
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Key, Row
from hashrange.operations.meter import PageUsage
from hashrange.operations.operation import Scope
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.soon import settled
from hashrange.store.embedded import open_store
from hashrange.store.front import in_front_of, tell_ended
from hashrange.store.interface import Store, TransactionRefused, TransactionStep
from hashrange.tables import change
from hashrange.tables.entries import EntryWrite, derive_entry_writes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span
from hashrange.throughput.feature import THROUGHPUT
from tests.support.clocks import VirtualClock
from tests.support.fronted import Fronted
from tests.support.samples import finish
from tests.support.scopes import ACCOUNT, REGION
from tests.support.servers import ThreadServer
from tests.unit.throughput.conftest import ITEMS, READ_UNITS


def test_each_slice_is_paid_at_once_and_the_sum_is_that_of_the_page(running: ThreadServer) -> None:
    asyncio.run_coroutine_threadsafe(read_in_slices(running), running.loop).result(30)


async def read_in_slices(running: ThreadServer) -> None:
    setup, call = running.service.features.part(THROUGHPUT), Fronted("Query")
    (table,) = running.store.catalog.all_tables()
    step, meter = setup.step(), call.meter
    assert step is not None
    admitted = in_front_of(running.store, [step])
    found = setup.throughputs.find(table.source_id)
    assert found is not None

    def used() -> float:
        left: Any = found.reads.describe(setup.now_seconds())["units_left"]
        return READ_UNITS * 300 - float(left)

    span = Span(bytes(8), b"\xff" * 16)
    first = await settled(admitted.page(table.source_id, span, 15, 2**20, meter, consistent=True))
    assert used() == pytest.approx(30, abs=1)
    assert first.last_key is not None
    left = Span(first.last_key + b"\0", span.upper)
    rest = await settled(admitted.page(table.source_id, left, 100, 2**20, meter, consistent=True))
    assert len(first.rows) + len(rest.rows) == ITEMS
    assert used() == pytest.approx(79)  # 320,000 bytes
    meter.append(PageUsage(table, "orders", 79.0))
    tell_ended(call, meter)
    assert used() == pytest.approx(79)
    await settled(admitted.page(table.source_id, span, 15, 2**20, meter, consistent=True))
    meter[:] = [PageUsage(table, "orders", 1.0)]  # the page ended before rows that the store had read
    tell_ended(call, meter)
    assert used() == pytest.approx(80)


INDEXED = {
    "TableName": "indexed",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "by")],
    "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_author",
            "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10},
        }
    ],
}


@pytest.mark.parametrize("is_transaction", [False, True])
def test_entries_are_derived_once_while_an_index_is_short_of_units(
    monkeypatch: pytest.MonkeyPatch, *, is_transaction: bool
) -> None:
    service, scope, table = made(SystemClock())
    of_index = service.features.part(THROUGHPUT).throughputs.find(table.indexes[0].source_id)
    assert of_index is not None
    of_index.writes._block(inf)  # as if another key of the index had used its partition up
    derived: list[bytes] = []

    def derive(table: OpenTable, key: Key, *rows: Any) -> list[EntryWrite]:
        derived.append(key)
        return derive_entry_writes(table, key, *rows)

    monkeypatch.setattr(change, "derive_entry_writes", derive)
    item: Item = {"pk": {"S": "a"}, "by": {"S": "b"}}
    key, row = table.lookup_key({"pk": {"S": "a"}}), encode_row(item, 10)
    meter = Fronted("PutItem", scope).meter
    if is_transaction:
        finish(scope.store.transact([TransactionStep(table, key, lambda old: row)], None, None, meter))
    else:
        finish(scope.store.mutate(table, key, lambda old: row, None, meter))
    assert derived == [key]
    source_id = table.indexes[0].source_id
    assert finish(service.store.statistics([source_id]))[source_id].item_count == 1


# --- what need not be asked -----------------------------------------------------------------------


@pytest.mark.parametrize("part", ["reads", "writes", "index"])
def test_nothing_is_asked_before_calls_while_no_bucket_is_empty(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    clock = VirtualClock()
    service, scope, table = made(clock)
    (step,) = service.features.steps
    asked: list[str] = []
    for name in ("before_get", "before_page", "before_mutate", "before_transact", "before_snapshot_get"):
        monkeypatch.setattr(step, name, partial(noting, asked, name, getattr(step, name)))
    found = service.features.part(THROUGHPUT).throughputs.find(
        (table.indexes[0] if part == "index" else table).source_id
    )
    assert found is not None
    key, item = table.lookup_key({"pk": {"S": "a"}}), encode_row({"pk": {"S": "a"}, "by": {"S": "b"}}, 10)

    def use_all() -> list[str]:
        """Make each call once; returns what is asked and what is refused."""
        asked.clear()
        for call in calls_of(scope.store, table, key, item):
            try:
                finish(call())
            except (ProvisionedThroughputExceededException, TransactionRefused):
                asked.append("refused")
        return asked

    assert use_all() == []
    side = found.reads if part == "reads" else found.writes
    side.take(Key(bytes(8)), 3000, 0.0)
    refused = {
        "reads": ["before_get", "before_page", "before_snapshot_get"],
        "writes": ["before_mutate", "before_transact"],
        "index": ["before_mutate", "before_transact"],
    }[part]
    assert step.acts_before
    names = ["before_get", "before_page", "before_snapshot_get", "before_mutate", "before_transact"]
    assert use_all() == [one for name in names for one in ([name, "refused"] if name in refused else [name])]
    clock.advance(301)
    assert use_all() == ["before_get"]
    assert use_all() == []


def noting(asked: list[str], name: str, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    asked.append(name)
    return method(*arguments, **options)


def calls_of(store: Store, table: OpenTable, key: Key, row: Row) -> list[Callable[[], Any]]:
    """Functions that each make one call, of a request of their own; writes change the index each time."""
    span = Span(bytes(8), b"\xff" * 16)

    def plan(old: Row | None) -> Row | None:
        return row if old is None else None

    return [
        lambda: store.get(table.source_id, key, Fronted("GetItem").meter, consistent=True),
        lambda: store.page(table.source_id, span, 10, 2**20, Fronted("Query").meter, consistent=True),
        lambda: store.snapshot_get([(table, key)], 2**20, Fronted("TransactGetItems").meter),
        lambda: store.mutate(table, key, plan, None, Fronted("PutItem").meter),
        lambda: store.transact([TransactionStep(table, key, plan)], None, None, Fronted("TransactWriteItems").meter),
    ]


def made(clock: Clock) -> tuple[Service, Scope, OpenTable]:
    """A service that enforces throughput, a Scope of it, and the table there."""
    service = Service(
        open_store(None, clock, None), ALL_OPERATIONS, clock, Settings(data_dir=None, throughput="enforced")
    )
    service.features.put_in_front()
    scope = service.scope(ACCOUNT, REGION)
    finish(ALL_OPERATIONS["CreateTable"].run(scope, msgspec.convert(INDEXED, ALL_OPERATIONS["CreateTable"].request)))
    (table,) = service.store.catalog.all_tables()
    return service, scope, table
