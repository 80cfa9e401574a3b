"""The units of a transaction that changes very many entries are taken, reported and counted in pieces:
other requests do not wait for that.
"""

from typing import Any

import pytest

from hashrange.items import steps
from hashrange.operations.meter import Meter, TransactedUsage, consumed
from hashrange.service.metric_calls import units_of
from hashrange.store.interface import Transacted
from hashrange.throughput.feature import THROUGHPUT
from tests.support.fronted import Fronted
from tests.support.many_entries import INDEXES, WRITES, changes_of, service_with_indexes
from tests.support.working import give_way_always, lines_between_looks

LINES_MAX = 4_000
"""Some two milliseconds."""


def step_of(service: Any) -> Any:
    """The step at which requests are throttled."""
    service.features.put_in_front()
    return service.features.part(THROUGHPUT).step()


def test_units_are_taken_in_pieces() -> None:
    service, table = service_with_indexes(throughput="enforced")
    transacted = Transacted(changes_of(service, table))
    step, meter = step_of(service), Fronted("TransactWriteItems").meter
    step.after_transact(meter, None, [], Transacted(transacted.changes[:1]))  # makes the buckets
    assert lines_between_looks(lambda: step.after_transact(meter, None, [], transacted)) < LINES_MAX


def test_all_units_are_taken_although_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOOK_STEPS", 1)
    service, table = service_with_indexes(throughput="enforced")
    transacted = Transacted(changes_of(service, table))
    step, meter = step_of(service), Fronted("TransactWriteItems").meter

    async def take() -> None:
        step.after_transact(meter, None, [], transacted)

    ways_given, _ = give_way_always(take())
    assert ways_given >= WRITES - 1
    writes = step._find(table.source_id).entry_writes
    now_seconds = service.features.part(THROUGHPUT).now_seconds()
    left = {writes[source.source_id].describe(now_seconds)["units_left"] for source in table.indexes}
    assert len(writes) == INDEXES
    assert left == {4_000.0 - WRITES}


def test_units_are_reported_and_counted_in_pieces() -> None:
    service, table = service_with_indexes()
    meter: Meter = [TransactedUsage(table, "orders", change) for change in changes_of(service, table)]
    assert lines_between_looks(lambda: units_of(meter)) < LINES_MAX
    assert lines_between_looks(lambda: consumed(meter, "transaction", "INDEXES")) < 2 * LINES_MAX
    assert sorted(units_of(meter).values()) == [WRITES] * INDEXES + [2 * WRITES]
