"""A page is paid slice by slice, so that reads at the same time, and a client that leaves, do not read for nothing."""

import asyncio
from typing import Any

import pytest

from hashrange.operations.meter import Meter, PageUsage
from hashrange.soon import settled
from hashrange.tables.span import Span
from hashrange.throughput.admitted_store import AdmittedStore
from hashrange.throughput.feature import THROUGHPUT
from tests.support.servers import ThreadServer
from tests.unit.throughput.conftest import ITEMS, READ_UNITS


def test_each_slice_is_paid_at_once_and_the_sum_is_that_of_the_page(running: ThreadServer) -> None:
    asyncio.run_coroutine_threadsafe(read_in_slices(running), running.loop).result(30)


async def read_in_slices(running: ThreadServer) -> None:
    setup, meter = running.service.features.part(THROUGHPUT), Meter()
    (table,) = running.store.catalog.all_tables()
    admitted = AdmittedStore(running.store, setup.throughputs, setup.now_seconds, lambda: meter)
    found = setup.throughputs.find(table.source_id)
    assert found is not None

    def used() -> float:
        left: Any = found.reads.describe(setup.now_seconds())["units_left"]
        return READ_UNITS * 300 - float(left)

    span = Span(bytes(8), b"\xff" * 16)
    first = await settled(admitted.page(table.source_id, span, 15, 2**20, consistent=True))
    assert used() == pytest.approx(30, abs=1)
    assert first.last_key is not None
    left = Span(first.last_key + b"\0", span.upper)
    rest = await settled(admitted.page(table.source_id, left, 100, 2**20, consistent=True))
    assert len(first.rows) + len(rest.rows) == ITEMS
    assert used() == pytest.approx(79)  # 320,000 bytes
    meter.append(PageUsage(table, "orders", 79.0))
    admitted.count(meter)
    assert used() == pytest.approx(79)
    await settled(admitted.page(table.source_id, span, 15, 2**20, consistent=True))
    meter[:] = [PageUsage(table, "orders", 1.0)]  # the page ended before rows that the store had read
    admitted.count(meter)
    assert used() == pytest.approx(80)
