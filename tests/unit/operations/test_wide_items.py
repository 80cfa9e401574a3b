"""Are index entries derived in pieces, of wide items (those with very many attributes), and of transactions with very
many entries? Measured in executed Python lines between two looks, not in time.
"""

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hashrange.backups.copying import RowCopying
from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.commits import Commits
from hashrange.tables.change import Change
from tests.support.asking import run_operation
from tests.support.clocks import VirtualClock
from tests.support.samples import finish
from tests.support.scopes import scope_of
from tests.support.working import give_way_always, lines_between_looks

WIDTH = 20_000
"""Attributes of a wide item."""
LINES_MAX = 10_000
"""Python lines allowed between two looks: half as many as one walk over the attributes of a wide item takes, and some
more than the checks of a transaction take in a table without indexes.
"""
INDEXES, KEY_ATTRIBUTES, STEPS = 20, 8, 100
NAMES = [f"k{number:02}" for number in range(INDEXES)]

Members = dict[str, Any]


def creation(kind: str, **more: Any) -> Members:
    """A table with INDEXES global indexes, each with KEY_ATTRIBUTES key attributes."""
    indexes = []
    for number in range(INDEXES):
        names = (NAMES[number:] + NAMES[:number])[:KEY_ATTRIBUTES]
        kinds = ["HASH"] * (KEY_ATTRIBUTES // 2) + ["RANGE"] * (KEY_ATTRIBUTES // 2)
        keys = [{"AttributeName": name, "KeyType": role} for name, role in zip(names, kinds, strict=True)]
        indexes.append({"IndexName": f"by-{number}", "KeySchema": keys, "Projection": {"ProjectionType": kind}})
    return {
        "TableName": "wide",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", *NAMES)],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": indexes,
        **more,
    }


def item_of(name: str, width: int = 0) -> Members:
    item = {"pk": {"S": name}} | {key: {"S": "v"} for key in NAMES}
    return item | {f"a{number:05}": {"S": ""} for number in range(width)}


def update_of(name: str) -> Members:
    """An update that changes the key of every entry, or, of an index whose key it leaves, the item."""
    return {
        "TableName": "wide",
        "Key": {"pk": {"S": name}},
        "UpdateExpression": "SET k00 = :v, k07 = :v, k14 = :v",
        "ExpressionAttributeValues": {":v": {"S": "new"}},
    }


def run(scope: Scope, operation: str, members: Members) -> Any:
    return finish(run_operation(scope, OPERATIONS[operation], members))


def most_lines(scope: Scope, operation: str, members: Members) -> int:
    request = msgspec.convert(members, OPERATIONS[operation].request)
    return lines_between_looks(lambda: finish(OPERATIONS[operation].start(scope, request, Meter())))


def drain(copying: RowCopying) -> None:
    """Run the job that moves rows until nothing is left."""
    while finish(copying.run_slice()) == 0.0:
        pass


def leave_out_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count no lines of commits, which do not give way."""
    follow, write = Commits._follow, Commits._write

    def uncounted(function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **named: Any) -> None:
            count = sys.gettrace()
            sys.settrace(None)
            try:
                function(*arguments, **named)
            finally:
                sys.settrace(count)

        return call

    monkeypatch.setattr(Commits, "_follow", uncounted(follow))
    monkeypatch.setattr(Commits, "_write", uncounted(write))


@pytest.fixture
def world() -> tuple[EmbeddedStore, Callable[[str], Scope]]:
    """A store, and a function that makes its table with a projection and returns the scope."""
    clock = VirtualClock()
    store = open_store(None, clock, None)
    scope = scope_of(store, clock)

    def make(kind: str) -> Scope:
        run(scope, "CreateTable", creation(kind))
        clock.advance(1.0)
        return scope

    return store, make


Made = tuple[EmbeddedStore, Callable[[str], Scope]]


def test_entries_of_a_wide_item_do_not_walk_it(world: Made) -> None:
    scope = world[1]("KEYS_ONLY")
    run(scope, "PutItem", {"TableName": "wide", "Item": item_of("a", WIDTH)})
    assert 0 < most_lines(scope, "UpdateItem", update_of("a")) <= LINES_MAX
    assert 0 < most_lines(scope, "DeleteItem", {"TableName": "wide", "Key": {"pk": {"S": "a"}}}) <= LINES_MAX


def test_a_transaction_derives_its_entries_in_pieces(world: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured ends with the plan, because the commit does not give way."""
    scope = world[1]("ALL")
    names = [f"i{number:02}" for number in range(STEPS)]
    for name in names:
        run(scope, "PutItem", {"TableName": "wide", "Item": item_of(name)})
    leave_out_commits(monkeypatch)
    updates = [{"Update": update_of(name)} for name in names]
    assert 0 < most_lines(scope, "TransactWriteItems", {"TransactItems": updates}) <= LINES_MAX
    # The same once more: now the updates change nothing, so that no entries follow.
    assert 0 < most_lines(scope, "TransactWriteItems", {"TransactItems": updates}) <= LINES_MAX


def test_a_restore_of_wide_items_does_not_walk_them_for_each_index(world: Made) -> None:
    store, make = world
    scope = make("KEYS_ONLY")
    copying = RowCopying(store, scope.clock, lambda *_: scope)
    run(scope, "PutItem", {"TableName": "wide", "Item": item_of("a", WIDTH)})
    backup = run(scope, "CreateBackup", {"TableName": "wide", "BackupName": "one"})["BackupDetails"]["BackupArn"]
    drain(copying)
    restored = {"TargetTableName": "new", "BackupArn": backup}
    assert 0 < most_lines(scope, "RestoreTableFromBackup", restored) <= LINES_MAX
    drain(copying)
    assert run(scope, "Scan", {"TableName": "new", "IndexName": "by-3"})["Count"] == 1


@pytest.mark.parametrize("are_there", [False, True])
def test_rows_that_an_import_loads_are_derived_in_pieces(
    world: Made, monkeypatch: pytest.MonkeyPatch, *, are_there: bool
) -> None:
    """What is measured ends before the commit, which does not give way and derives nothing again."""
    store, make = world
    make("ALL")
    table = store.catalog.find("000000000000", "us-east-1", "wide")
    assert table is not None
    items = [check_item(item_of(f"i{number:02}")) for number in range(STEPS)]
    rows = {table.item_key(item): encode_row(item, size_bytes) for item, size_bytes in items}
    if are_there:
        former = [check_item(item_of(f"i{number:02}", 1)) for number in range(STEPS)]
        finish(store.row_copies.load(table, {table.item_key(one): encode_row(one, size) for one, size in former}))
    leave_out_commits(monkeypatch)
    assert 0 < lines_between_looks(lambda: finish(store.row_copies.load(table, rows))) <= LINES_MAX


def test_a_row_that_changes_while_the_entries_of_a_load_are_derived_leaves_no_entry(world: Made) -> None:
    store, make = world
    scope = make("ALL")
    table = store.catalog.find("000000000000", "us-east-1", "wide")
    assert table is not None
    items = [check_item(item_of(f"i{number:02}")) for number in range(STEPS)]
    rows = {table.item_key(item): encode_row(item, size_bytes) for item, size_bytes in items}
    other, other_size_bytes = check_item(item_of("i00") | {"k00": {"S": "other"}})
    other_row = encode_row(other, other_size_bytes)
    changes: list[Change] = []

    def meanwhile() -> None:
        if not changes:
            changes.append(finish(store.mutate(table, table.item_key(other), lambda _: other_row)))

    count, _ = give_way_always(store.row_copies.load(table, rows), meanwhile)
    assert count > 1
    assert run(scope, "Scan", {"TableName": "wide", "IndexName": "by-0", "Select": "COUNT"})["Count"] == STEPS
