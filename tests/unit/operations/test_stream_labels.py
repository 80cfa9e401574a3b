"""Each stream of a table has a label of its own, and another one is soon found while the clock stands still."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from hashrange.operations.streams.stream import with_free_label
from hashrange.settings import Settings
from hashrange.tables.description import stream_label
from hashrange.testing import server
from tests.support.samples import table_maker

NOW = datetime(2026, 11, 30, tzinfo=UTC).timestamp()


def test_streams_of_one_moment_have_labels_of_their_own() -> None:
    with server(Settings(data_dir=None)) as database:
        database.clock.freeze()
        database.call(
            "CreateTable",
            {
                "TableName": "orders",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for _ in range(20):
            on = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
            for specification in (on, {"StreamEnabled": False}):
                database.call("UpdateTable", {"TableName": "orders", "StreamSpecification": specification})
        streams = database.client("dynamodbstreams").list_streams(TableName="orders")["Streams"]
        assert len({one["StreamLabel"] for one in streams}) == 20


def test_a_free_label_is_found_behind_thousands_without_trying_each() -> None:
    taken = {stream_label(NOW + number / 1000) for number in range(5_000)}
    looks = []

    def find(_account: str, _region: str, _table_name: str, label: str) -> str | None:
        looks.append(label)
        return label if label in taken else None

    scope: Any = SimpleNamespace(store=SimpleNamespace(streams=SimpleNamespace(find=find)))
    table = replace(table_maker("t")(1), stream_view_type="KEYS_ONLY", stream_label=stream_label(NOW))
    assert with_free_label(scope, table, NOW).stream_label == stream_label(NOW + 5)
    assert len(looks) < 40
    taken.clear()
    assert with_free_label(scope, table, NOW) == table
