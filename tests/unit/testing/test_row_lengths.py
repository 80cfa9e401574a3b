"""No row that is no item, entry or stream record is longer than its kind may be:
reads of ranges end at the first row behind them.

The rows are the longest that requests can make: a table with the longest names everywhere, a transaction over the most
tables with the longest names, and documents of all features that may be long.
"""

import io
import random
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.items.types import Key
from hashrange.settings import Settings
from hashrange.store.embedded import layout
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.streams import SEQUENCE_BYTES
from hashrange.testing import Database, server

KB = 1024
BOUNDS = {
    "FORMAT_KEY": 4,
    "CATALOG_PREFIX": 640
    * KB,  # no range ends before a description: they are read by their keys, and all together at the start
    "STATISTICS_PREFIX": 2 * KB,
    "COUNTER_PREFIX": SEQUENCE_BYTES,
    "PROBE_KEY": 0,
    "SAVED_PARTS_KEY": 60 * KB,
    "BACKFILL_PREFIX": 4 * KB,
    "PARTITION_PREFIX": 2 * layout.NUMBER_BYTES,
    "LATE_PREFIX": 10 * KB,
    "TIME_TO_LIVE_PREFIX": 0,
    "STREAM_PREFIX": 8 * KB,
    "SHARD_PREFIX": 64,
    "DOCUMENT_PREFIX": layout.DOCUMENT_ROW_BYTES_MAX,
    "LONG_DOCUMENT_PREFIX": layout.PIECE_ID_BYTES + layout.NUMBER_BYTES,
    "PIECE_PREFIX": layout.DOCUMENT_ROW_BYTES_MAX,
    "TOKEN_PREFIX": 32 * KB,
    "TOKEN_EXPIRY_PREFIX": 0,
    "WAITING_PREFIX": 24,
    "COPY_PREFIX": 8 * KB,
    "KEPT_PREFIX": 0,
    "WINDOW_PREFIX": layout.NUMBER_BYTES,
}
"""Kind of row → most bytes of it."""
UNBOUNDED = {
    "LOG_PREFIX": "stream records",
    "STAGED_PREFIX": "former rows of items",
}
SINGLE = {"NEXT_TABLE_ID_KEY", "NEXT_STREAM_ID_KEY", "AHEAD_KEY", "SEQUENCE_KEY"}
"""Rows below COUNTER_PREFIX."""
TABLES = 100
"""Tables that one transaction may touch."""


def long_name(number: int) -> str:
    """A name with the most bytes that 255 characters have."""
    return chr(0x1F600 + number) * 255


def key(name: str, role: str = "HASH") -> dict[str, str]:
    return {"AttributeName": name, "KeyType": role}


def create_table(client: Any, name: str, **members: Any) -> None:
    names = [one["AttributeName"] for index in members.get("GlobalSecondaryIndexes", ()) for one in index["KeySchema"]]
    client.create_table(
        TableName=name,
        KeySchema=[key(long_name(0)), key(long_name(1), "RANGE")],
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": "S"} for one in (long_name(0), long_name(1), *names)
        ],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )


def create_largest_table(client: Any) -> None:
    """A table with as many indexes, key attributes, projected attributes and tags as possible, of the longest names."""
    indexes = [
        {
            "IndexName": f"{index:02}".ljust(255, "x"),
            "KeySchema": [
                key(long_name(2 + index * 8 + place), "HASH" if place < 4 else "RANGE") for place in range(8)
            ],
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": [long_name(1000 + index * 5 + place) for place in range(5)],
            },
        }
        for index in range(20)
    ]
    create_table(
        client,
        "t" * 255,
        GlobalSecondaryIndexes=indexes,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        Tags=[{"Key": f"{tag:02}" + "漢" * 126, "Value": "漢" * 256} for tag in range(50)],
    )
    client.update_time_to_live(
        TableName="t" * 255, TimeToLiveSpecification={"Enabled": True, "AttributeName": long_name(5000)}
    )


def item(number: int) -> dict[str, Any]:
    """An item whose keys have nearly the most bytes that they may have."""
    return {long_name(0): {"S": f"{number:02}" + "p" * 2_046}, long_name(1): {"S": "s" * 1_024}}


def put_with_a_token(client: Any) -> None:
    """A transaction that writes to as many tables as possible, all with names of the greatest length."""
    names = [f"{number:03}".ljust(255, "n") for number in range(TABLES)]
    for name in names:
        create_table(client, name)
    puts = [{"Put": {"TableName": name, "Item": item(0)}} for name in names]
    client.transact_write_items(TransactItems=puts, ClientRequestToken="c" * 36)


def make_long_documents(database: Database) -> None:
    """A large function, an invocation that waits with a long payload, an alarm with a long rule, and many metrics."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "def handler(event, context): raise ValueError")
        archive.writestr("data", random.Random(1).randbytes(300_000))
    functions = database.client("lambda")
    functions.create_function(
        FunctionName="f", Runtime="python3.13", Handler="app.handler", Role="arn:aws:iam::000000000000:role/r",
        Code={"ZipFile": packed.getvalue()}, Timeout=60,
    )  # fmt: skip
    functions.invoke(FunctionName="f", InvocationType="Event", Payload=b'"' + b"x" * 200_000 + b'"')
    database.client("cloudwatch").put_composite_alarm(
        AlarmName="long", AlarmRule=" OR ".join(["FALSE"] * 1_000), AlarmDescription="d" * 1_024
    )


def make_copies(database: Database) -> None:
    """A backup of the table with the longest description, and the begin of a copy of it, with a former row."""
    client, name = database.client(), "t" * 255
    switch = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    client.update_continuous_backups(TableName=name, **switch)
    client.create_backup(TableName=name, BackupName="b" * 255)
    store = database._process.service.store

    async def begin() -> None:
        (table,) = [one for one in store.catalog.all_tables() if one.name == name]
        await row_copies_of(store).begin("o" * 300, table.schema)
        await row_copies_of(store).passed("o" * 300, Key(table.item_key(item(1)) + b"passed"))

    database._process.run(begin)
    for number in range(90, 99):  # some of them lie behind the key that the copy has passed
        client.put_item(TableName=name, Item=item(number))


def rows(database: Database) -> Iterator[tuple[bytes, int]]:
    """Key and length of each system row."""
    engine: Any = database._process.service.store
    for engine_key, row in engine.engine.items():
        if engine_key[:4] != b"\x00\x00\x00\x00":
            break
        yield engine_key, len(row)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, functions=True)) as database:
        client = database.client()
        create_largest_table(client)
        client.put_item(TableName="t" * 255, Item=item(1) | {long_name(5000): {"N": "4000000000"}})
        put_with_a_token(client)
        make_long_documents(database)
        make_copies(database)
        yield database


def test_every_kind_of_row_is_listed() -> None:
    names = {name for name in vars(layout) if name.isupper() and name.endswith(("_PREFIX", "_KEY"))}
    assert names == {*BOUNDS, *UNBOUNDED, *SINGLE}


def test_no_row_is_longer_than_its_kind_may_be(database: Database) -> None:
    kinds = {getattr(layout, name): name for name in {*BOUNDS, *UNBOUNDED}}
    longest: dict[str, int] = {}
    for engine_key, row_bytes in rows(database):
        kind = kinds[engine_key[:6]]
        longest[kind] = max(longest.get(kind, 0), row_bytes)
    assert {kind: size for kind, size in longest.items() if kind in BOUNDS and size > BOUNDS[kind]} == {}
    assert longest["PIECE_PREFIX"] == layout.DOCUMENT_ROW_BYTES_MAX
    assert longest["CATALOG_PREFIX"] > 500_000
    assert longest["TOKEN_PREFIX"] > 25_000
    assert longest["COPY_PREFIX"] > 5_000
    assert {"KEPT_PREFIX", "STAGED_PREFIX", "WINDOW_PREFIX"} <= longest.keys()
