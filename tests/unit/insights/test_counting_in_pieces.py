"""Requests that touch very many keys of watched tables are counted in pieces: other requests do not wait for that.
A page of 45,700 items held up all clients for 0.2 s, a transaction of 100 items with 20 indexes for 0.1 s.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.errors import ConditionalCheckFailedException
from hashrange.insights.counting import CountingStep
from hashrange.insights.rule_counts import RuleCounts
from hashrange.insights.watched_keys import KeysToPay, WatchedKeys
from hashrange.items.rows import encode_row
from hashrange.items.types import Row
from hashrange.limits import TRANSACTION_FACTOR
from hashrange.operations.meter import PageUsage
from hashrange.store.interface import Transacted, TransactionRefused, TransactionStep
from hashrange.tables.open_table import OpenTable, ReadSource
from tests.support.clocks import VirtualClock
from tests.support.fronted import Fronted
from tests.support.many_entries import INDEXES, WRITES, changes_of, service_with_indexes
from tests.support.samples import table_maker
from tests.support.working import give_way_always, lines_between_looks
from tests.unit.insights.test_rule_counts import OwnDocuments

ROWS = 3_000
UNITS = 500.0
LINES_MAX = 8_000
"""Some three milliseconds: a rule that forgets keys has 4,000 lines."""


def watched(table: OpenTable, source: ReadSource, now_seconds: Callable[[], float] = lambda: 0.0) -> WatchedKeys:
    watch: Any = None
    kinds = ("PKC", "SKC") if source.keys.sort_names else ("PKC",)
    rules: Any = {kind: RuleCounts(OwnDocuments(), f"{kind}/", lambda: None) for kind in kinds}
    return WatchedKeys(watch, table, source, rules, now_seconds)


def counted(source: WatchedKeys, kind: Any, now_seconds: float = 60.0) -> list[float]:
    """What a rule has counted in each minute so far."""
    found = source.rules[kind].between(0.0, now_seconds + 60, now_seconds)
    return [summary.total for _, summary in found if summary.total]


def whole_table(now_seconds: Callable[[], float] = lambda: 0.0) -> WatchedKeys:
    """A watched table with the keys `pk` and `sk`."""
    table = OpenTable(table_maker("a")(1))
    return watched(table, table.table_source, now_seconds)


ROWS_OF_PAGE = [encode_row({"pk": {"S": str(number)}, "sk": {"S": "a"}}, 10) for number in range(ROWS)]


def usage_of(source: WatchedKeys) -> PageUsage:
    return PageUsage(source.table, "a", UNITS)


@pytest.mark.parametrize("partition", [None, b"p"], ids=["Scan", "Query"])
def test_the_rows_of_a_page_are_noted_and_counted_in_pieces(partition: bytes | None) -> None:
    source, keys_to_pay = whole_table(), KeysToPay()
    assert lines_between_looks(lambda: keys_to_pay.note_rows(source, partition, ROWS_OF_PAGE)) < LINES_MAX
    assert lines_between_looks(lambda: keys_to_pay.count([usage_of(source)])) < LINES_MAX
    assert [counted(source, kind) for kind in ("PKC", "SKC")] == [[pytest.approx(UNITS)]] * 2


@pytest.mark.parametrize("rows", [[], ROWS_OF_PAGE[:1]])
def test_a_page_is_counted_at_the_rules_that_there_are(rows: list[Row]) -> None:
    """A Query of a table without sort key has one rule, and keys of no items."""
    source, keys_to_pay = whole_table(), KeysToPay()
    del source.rules["SKC"]  # type: ignore[attr-defined]
    source.has_item_units = False
    keys_to_pay.note_rows(source, b"p", rows)
    keys_to_pay.count([usage_of(source)])
    assert counted(source, "PKC") == [UNITS]


def test_nothing_is_lost_when_the_minute_changes_while_a_page_is_counted() -> None:
    clock = VirtualClock(600.0)
    source, keys_to_pay = whole_table(clock.service_time), KeysToPay()
    keys_to_pay.note_rows(source, None, ROWS_OF_PAGE)

    async def count() -> None:
        keys_to_pay.count([usage_of(source)])

    ways_given, _ = give_way_always(count(), lambda: clock.advance(2.0))
    assert ways_given > ROWS // 100
    for kind in ("PKC", "SKC"):
        found = counted(source, kind, clock.service_time())
        assert len(found) > 1
        assert sum(found) == pytest.approx(UNITS)


class Watching:
    """Stands for `Insights`: watches a table and all of its indexes."""

    def __init__(self, table: OpenTable) -> None:
        self.sources = {source.source_id: watched(table, source) for source in (table.table_source, *table.indexes)}
        self.find = self.sources.get

    @property
    def totals(self) -> list[float]:
        """What has been counted of the table, and of each index."""
        return [sum(counted(source, "PKC")) for source in self.sources.values()]


def test_a_transaction_is_counted_in_pieces() -> None:
    service, table = service_with_indexes()
    transacted = Transacted(changes_of(service, table))
    insights: Any = Watching(table)
    step, meter = CountingStep(insights), Fronted("TransactWriteItems").meter
    assert lines_between_looks(lambda: step.after_transact(meter, None, [], transacted)) < LINES_MAX
    assert insights.totals == [3 * WRITES * TRANSACTION_FACTOR] + [3 * WRITES] * INDEXES


def test_a_refused_transaction_looks_before_each_item() -> None:
    """Each of its tables may begin a minute, which takes a millisecond."""
    table = whole_table().table
    keys = [table.item_key({"pk": {"S": str(number)}, "sk": {"S": "a"}}) for number in range(WRITES)]
    steps = [TransactionStep(table, key, lambda old: old) for key in keys]
    insights: Any = Watching(table)
    step, meter = CountingStep(insights), Fronted("TransactWriteItems").meter
    refusal = TransactionRefused([ConditionalCheckFailedException("no") for _ in steps])

    async def refuse() -> None:
        step.refused_transact(meter, None, steps, refusal)

    ways_given, _ = give_way_always(refuse())
    assert ways_given >= 2 * WRITES


def test_what_is_watched_of_other_content_counts_nothing_of_a_transaction_that_gave_way() -> None:
    service, table = service_with_indexes()
    transacted = Transacted(changes_of(service, table))
    before, after = Watching(table), Watching(table)
    insights: Any = SimpleNamespace(find=before.find)
    step, meter = CountingStep(insights), Fronted("TransactWriteItems").meter

    async def count() -> None:
        step.after_transact(meter, None, [], transacted)

    def replace_content() -> None:
        insights.find = after.find

    ways_given, _ = give_way_always(count(), replace_content)
    assert ways_given >= WRITES * (INDEXES + 1)
    assert sum(after.totals) == 0
    assert before.totals == [3 * WRITES * TRANSACTION_FACTOR] + [3 * WRITES] * INDEXES
