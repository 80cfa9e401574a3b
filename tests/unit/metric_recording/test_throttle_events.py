"""Who is told of throttled parts of requests, and of what: table or index, limit, and the item's key."""

from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.tables.throttling import ThrottleEvent
from hashrange.testing import Database, Fault, server
from tests.unit.metric_recording.conftest import ONCE
from tests.unit.metric_recording.seen import create_table, freeze_at_minute, key


def follow(database: Database) -> list[ThrottleEvent]:
    """The events from now on."""
    events: list[ThrottleEvent] = []
    database._process.service.requests.see_throttled.append(events.append)
    return events


def item_key(event: ThrottleEvent, name: str) -> bytes:
    """The key of the item of this name."""
    return event.table.lookup_key({"pk": {"S": name}, "sk": {"S": "b"}})


def test_each_throttled_part_of_a_batch_is_told_with_its_key() -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced")) as database:
        freeze_at_minute(database)
        client = database.client(config=ONCE)
        create_table(client, ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})
        create_table(client, "idle")
        for _ in range(300):
            client.get_item(TableName="orders", Key=key(), ConsistentRead=True)
        events = follow(database)
        requests = {name: {"Keys": [key("a"), key("c")]} for name in ("orders", "idle")}
        client.batch_get_item(RequestItems=requests)
        assert [(one.table.name, one.index_name, one.limit, one.is_write) for one in events] == 2 * [
            ("orders", None, "ProvisionedThroughputExceeded", False)
        ]
        assert {one.key for one in events} == {item_key(events[0], "a"), item_key(events[0], "c")}


def test_faults_that_throttle_are_told_too(database: Database, client: Any) -> None:
    create_table(client)
    database.faults.use(Fault("throttle"))
    events = follow(database)
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.put_item(TableName="orders", Item=key())
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        client.scan(TableName="orders")
    (write, read) = events
    assert (write.is_write, write.key) == (True, item_key(write, "a"))
    assert (read.is_write, read.key) == (False, None)
