"""Does no commit read the rows of wide items to learn when they expire? One took 10 ms, or 160 with a quotation mark in
the attribute's name, and a batch deletes 16.
"""

from collections.abc import Iterator
from threading import get_ident
from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.items.row_layout import is_packed, row_json_bytes
from hashrange.items.rows import encode_row
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Row
from hashrange.items.values import check_item
from hashrange.operations.meter import Meter
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import expiries, layout
from hashrange.store.embedded.expiries import queue_key
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.expiry import ReadNumber, number_reader
from hashrange.tables.open_table import OpenTable
from tests.support.working import give_way_always
from tests.unit.jobs.world import TABLE, World, drive

Item = dict[str, Any]
COUNT = 16
SECONDS = 1_000
MAPS: Item = {f"m{number:05}": {"M": {"a": {"NULL": True}, "b": {"NULL": True}}} for number in range(2_000)}
TEXTS: Item = {f"m{number:05}": {"S": "x" * 20} for number in range(2_000)}


class Expiring:
    """A table of wide items that expire."""

    def __init__(self, name: str, wide: Item) -> None:
        self.world, self.name, self.wide = World(None), name, wide
        specification = {"Enabled": True, "AttributeName": name}
        self.world.ask("UpdateTimeToLive", TimeToLiveSpecification=specification)
        self.world.finish()
        self.first_second = int(self.world.clock.service_time()) + SECONDS

    @property
    def table(self) -> OpenTable:
        table = self.world.store.catalog.find(self.world.scope.account, self.world.scope.region, TABLE)
        assert table is not None
        return table

    def item(self, number: int, later_seconds: int = 0) -> Item:
        """A wide item, whose size is the same if it expires later."""
        expires_seconds = self.first_second + number + later_seconds
        return {"id": {"S": f"o{number:02}"}, self.name: {"N": str(expires_seconds)}} | self.wide

    def key(self, number: int) -> Item:
        return {"id": self.item(number)["id"]}

    def fill(self) -> None:
        for number in range(COUNT):
            self.world.ask("PutItem", Item=self.item(number))
        assert self.queued() == self.expected(COUNT)

    def rows(self, later_seconds: int) -> dict[Any, Row]:
        checked = [check_item(self.item(number, later_seconds)) for number in range(COUNT)]
        return {self.table.item_key(item): encode_row(item, size_bytes) for item, size_bytes in checked}

    def batch(self, *requests: Item) -> int:
        """Write a batch; return how often it gave way."""
        request: Any = msgspec.convert({"RequestItems": {TABLE: list(requests)}}, OPERATIONS["BatchWriteItem"].request)
        count, _ = give_way_always(OPERATIONS["BatchWriteItem"].start(self.world.scope, request, Meter()))
        return count

    def queued(self) -> list[bytes]:
        found = scan_prefix(self.world.embedded.engine, layout.TIME_TO_LIVE_PREFIX + self.table.source_id)
        return [key[len(layout.TIME_TO_LIVE_PREFIX) + len(self.table.source_id) :] for key, _ in found]

    def expected(self, count: int, later_seconds: int = 0) -> list[bytes]:
        """The queue of the first items."""
        first = self.first_second + later_seconds
        return [queue_key(first + number, self.table.item_key(self.item(number))) for number in range(count)]


@pytest.fixture(params=[MAPS, TEXTS], ids=["packed", "plain"])
def wide(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=["expires", 'e"s'])
def expiring(request: pytest.FixtureRequest, wide: Item) -> Iterator[Expiring]:
    made = Expiring(request.param, wide)
    yield made
    assert made.world.close() == []


@pytest.fixture
def undisturbed_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the JSON that is read for expiry numbers where nothing may give way."""
    lengths: list[int] = []

    def noting(name: str) -> ReadNumber:
        read = number_reader(name)

        def noted(row: Row) -> str | None:
            if get_ident() in steps.undisturbed:
                lengths.append(row_json_bytes(row))
            return read(row)

        return noted

    monkeypatch.setattr(expiries, "number_reader", noting)
    return lengths


def test_the_rows_of_these_tests_are_long(expiring: Expiring) -> None:
    (row, *_) = expiring.rows(0).values()
    assert row_json_bytes(row) > PIECE_BYTES
    assert is_packed(row) == (expiring.wide is MAPS)


def test_single_writes_read_no_long_row_in_their_commit(expiring: Expiring, undisturbed_bytes: list[int]) -> None:
    expiring.fill()
    for number in range(COUNT):
        expiring.world.ask("PutItem", Item=expiring.item(number, 100))  # the size stays
    assert expiring.queued() == expiring.expected(COUNT, 100)
    for number in range(COUNT):
        update = {"UpdateExpression": "SET #e = #e + :n, a = :n", "ExpressionAttributeNames": {"#e": expiring.name}}
        values = {":n": {"N": "100"}}
        expiring.world.ask("UpdateItem", Key=expiring.key(number), ExpressionAttributeValues=values, **update)
    assert expiring.queued() == expiring.expected(COUNT, 200)
    for number in range(COUNT):
        expiring.world.ask("DeleteItem", Key=expiring.key(number))
    assert expiring.queued() == []
    assert undisturbed_bytes == []


def test_batches_give_way_between_rows(expiring: Expiring, undisturbed_bytes: list[int]) -> None:
    expiring.fill()
    smaller = [{"PutRequest": {"Item": expiring.key(number)}} for number in range(COUNT)]
    assert expiring.batch(*smaller) >= COUNT
    assert expiring.queued() == []
    expiring.fill()
    assert expiring.batch(*[{"DeleteRequest": {"Key": expiring.key(number)}} for number in range(COUNT)]) >= COUNT
    assert expiring.queued() == []
    assert max(undisturbed_bytes, default=0) <= PIECE_BYTES


def test_transactions_read_no_long_row_in_their_commit(expiring: Expiring, undisturbed_bytes: list[int]) -> None:
    expiring.fill()
    deletes = [{"Delete": {"TableName": TABLE, "Key": expiring.key(number)}} for number in range(1, COUNT)]
    expiring.world.request("TransactWriteItems", TransactItems=deletes)
    assert expiring.queued() == expiring.expected(1)
    assert undisturbed_bytes == []


@pytest.mark.parametrize("are_there", [False, True])
def test_imports_read_no_long_row_in_their_commit(
    expiring: Expiring, undisturbed_bytes: list[int], *, are_there: bool
) -> None:
    if are_there:
        expiring.fill()
    count, _ = give_way_always(row_copies_of(expiring.world.store).load(expiring.table, expiring.rows(50)))
    assert count >= COUNT
    assert expiring.queued() == expiring.expected(COUNT, 50)
    assert undisturbed_bytes == []


def test_a_row_that_changes_while_an_import_reads_leaves_its_queue_right(expiring: Expiring) -> None:
    expiring.fill()
    changed: list[int] = []

    def meanwhile() -> None:
        if not changed:
            changed.append(1)
            expiring.world.ask("DeleteItem", Key=expiring.key(3))

    give_way_always(row_copies_of(expiring.world.store).load(expiring.table, expiring.rows(50)), meanwhile)
    assert expiring.queued() == expiring.expected(COUNT, 50)


def test_expired_items_are_deleted_without_reading_a_long_row_in_a_commit(
    expiring: Expiring, undisturbed_bytes: list[int]
) -> None:
    expiring.fill()
    expiring.world.clock.advance(SECONDS + COUNT)
    undisturbed_bytes.clear()
    drive(expiring.world.expiring(expiring.table))
    assert expiring.queued() == []
    assert expiring.world.ask("Scan", Select="COUNT")["Count"] == 0
    assert undisturbed_bytes == []
