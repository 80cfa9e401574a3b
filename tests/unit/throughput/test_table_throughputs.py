"""A table's buckets are made, full, when the table is first asked for; from then on they follow its changes at once.
So no request, and no change of the catalog, costs anything for other tables, however many there are.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.tables.open_table import OpenTable
from hashrange.testing import Database, server
from hashrange.throughput import table_throughputs
from hashrange.throughput.capacity_side import CapacitySide
from hashrange.throughput.feature import THROUGHPUT
from tests.support.servers import ThreadServer
from tests.unit.throughput.admin import set_throughput
from tests.unit.throughput.conftest import client_of, create_table
from tests.unit.throughput.test_enforced import ONCE, provisioned

MANY = 5 * table_throughputs.FREED_TOGETHER
DELAY_SECONDS = 60.0


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, throughput="enforced", adaptive_capacity="off", admin=True)) as running:
        running.clock.freeze()
        yield running


@pytest.fixture
def client(database: Database) -> Any:
    return database.client(config=ONCE)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the table of each pair of sides that has been made, one for reads and one for writes."""
    made: list[str] = []

    class NotedSide(CapacitySide):
        def __init__(self, *terms: Any, is_write: bool) -> None:
            self.is_noted = not is_write
            super().__init__(*terms, is_write=is_write)

        def follow(self, table: OpenTable, *others: Any) -> None:
            if not self.is_noted:
                self.is_noted = True
                made.append(table.name)
            super().follow(table, *others)

    monkeypatch.setattr(table_throughputs, "CapacitySide", NotedSide)
    return made


def throughputs_of(database: Database) -> Any:
    return database._process.service.features.part(THROUGHPUT).throughputs


def get(client: Any, name: str) -> None:
    """Ask for a table, which uses no write units."""
    client.get_item(TableName=name, Key={"pk": {"S": "a"}})


def accepted(client: Any, name: str) -> int:
    """How many writes of 100 units are accepted now."""
    item = {"pk": {"S": "a"}, "text": {"S": "x" * (100 * 1024 - 7)}}
    for count in range(1000):
        try:
            client.put_item(TableName=name, Item=item)
        except client.exceptions.ProvisionedThroughputExceededException:
            return count
    raise AssertionError


def change_units(client: Any, name: str, writes: int) -> None:
    client.update_table(TableName=name, ProvisionedThroughput=provisioned(1_000, writes))


# --- when they are made ---------------------------------------------------------------------------


def test_the_buckets_of_other_tables_stay_as_they_are(running: ThreadServer) -> None:
    throughputs = running.service.features.part(THROUGHPUT).throughputs
    (orders,) = running.store.catalog.all_tables()
    before: Any = running.call(throughputs.find, orders.source_id)
    with closing(client_of(running)) as client:
        create_table(client, "others")
    assert running.call(throughputs.find, orders.source_id) is before


def test_buckets_are_made_anew_once_the_content_or_all_terms_are_replaced(running: ThreadServer) -> None:
    throughputs = running.service.features.part(THROUGHPUT).throughputs
    store: Any = running.store
    (orders,) = store.catalog.all_tables()
    found = [running.call(throughputs.find, orders.source_id)]
    running.call(store.load)
    found.append(running.call(throughputs.find, orders.source_id))
    running.call(throughputs.replace_terms, {})
    found.append(running.call(throughputs.find, orders.source_id))
    assert len({id(one) for one in found}) == 3


def test_only_tables_that_are_asked_for_have_buckets(database: Database, client: Any, made: list[str]) -> None:
    for number in range(MANY):
        create_table(client, f"table{number}")
    get(client, "table3")
    assert made == ["table3"]
    create_table(client, "one-more")
    change_units(client, "table5", 20)
    client.delete_table(TableName="table6")
    get(client, "table3")
    assert made == ["table3"]
    database.restore(database.snapshot())
    get(client, "table4")
    assert made == ["table3", "table4"]
    with database.fork() as fork:
        get(fork.client(), "table5")
    assert made == ["table3", "table4", "table5"]


def test_a_table_that_was_not_asked_for_is_full_after_a_change(client: Any) -> None:
    for name in ("used", "raised"):
        create_table(client, name)
    get(client, "used")
    change_units(client, "raised", 20)
    assert accepted(client, "raised") == 60


def test_a_table_that_was_asked_for_keeps_what_it_has_after_a_change(client: Any) -> None:
    create_table(client, "raised")
    get(client, "raised")
    change_units(client, "raised", 20)
    assert accepted(client, "raised") == 30


def test_a_table_fills_at_its_new_rate_without_a_request(database: Database, client: Any) -> None:
    create_table(client, "raised")
    assert accepted(client, "raised") == 30
    change_units(client, "raised", 300)
    database.clock.advance(1)
    assert accepted(client, "raised") == 3


def test_a_table_that_is_updating_follows_when_that_ends(made: list[str]) -> None:
    settings = Settings(data_dir=None, port=0, throughput="enforced", table_state_delay_seconds=DELAY_SECONDS)
    with server(settings) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        for name in ("asked-before", "asked-meanwhile"):
            create_table(client, name)
        database.clock.advance(DELAY_SECONDS)
        assert accepted(client, "asked-before") == 10  # a second of what its partition serves
        for name in ("asked-before", "asked-meanwhile"):
            change_units(client, name, 1)
        assert throughputs_of(database).by_source == {}
        get(client, "asked-before")
        get(client, "asked-meanwhile")
        assert throughputs_of(database).by_source == {}
        assert made == ["asked-before", "asked-meanwhile"]
        database.clock.advance(DELAY_SECONDS)
        get(client, "asked-before")
        get(client, "asked-meanwhile")
        followed = throughputs_of(database).by_source.values()
        assert [one.writes.describe(0.0)["units_per_second"] for one in followed] == [1, 1]
        assert not throughputs_of(database)._changing


def test_new_terms_of_a_table_leave_others_as_they_are(database: Database, client: Any) -> None:
    for name in ("changed", "other"):
        create_table(client, name)
        assert accepted(client, name) == 30
    set_throughput(database, "changed", adaptive="shares")
    assert accepted(client, "changed") == 30
    assert accepted(client, "other") == 0


# --- when they are freed --------------------------------------------------------------------------


def test_nothing_is_kept_of_tables_that_are_gone(database: Database, client: Any) -> None:
    throughputs = throughputs_of(database)
    create_table(client, "used")
    get(client, "used")
    for _ in range(20):
        create_table(client, "orders")
        get(client, "orders")
        change_units(client, "orders", 20)
        client.delete_table(TableName="orders")
        assert len(throughputs._known) == len(throughputs.by_source) == 1
    assert not throughputs._changing
    assert not throughputs._former


def test_a_table_that_is_gone_has_no_buckets(running: ThreadServer) -> None:
    throughputs = running.service.features.part(THROUGHPUT).throughputs
    (orders,) = running.store.catalog.all_tables()
    with closing(client_of(running)) as client:
        client.delete_table(TableName="orders")
    assert running.call(throughputs.find, orders.source_id) is None
    assert orders.table_id not in throughputs._known


def test_the_buckets_before_a_restore_are_freed_by_and_by(database: Database, client: Any) -> None:
    throughputs = throughputs_of(database)
    for number in range(MANY):
        create_table(client, f"table{number}")
        get(client, f"table{number}")
    database.restore(database.snapshot())
    left = [len(throughputs._former)]
    for number in range(MANY):
        get(client, f"table{number}")
        left.append(len(throughputs._former))
    assert left[:7] == [MANY - one * table_throughputs.FREED_TOGETHER for one in range(6)] + [0]
