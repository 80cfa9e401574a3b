"""Stale reads: each eventually consistent read shows the rows of an earlier moment, in whole pages,
and what is kept for it is bounded.
"""

from collections import deque
from typing import Any

import pytest

from hashrange.faults import remembered
from hashrange.faults.fault import Fault
from hashrange.items import steps
from hashrange.items.rows import decode_row
from hashrange.items.types import Key
from hashrange.store.interface import Page
from hashrange.testing.database import Database
from tests.unit.faults.kit import CHAT, impatient, message, met, put_songs, song

IN_ROOM = {"KeyConditionExpression": "room = :r", "ExpressionAttributeValues": {":r": {"S": "r"}}}


def fill(client: Any, count: int = 6) -> None:
    """Write messages of one room, numbered from 0."""
    for at in range(count):
        client.put_item(TableName=CHAT, Item=message("r", at, n={"N": "0"}))


def change(client: Any) -> None:
    """Of the six messages delete 1 to 3, change 4, and add 6 and 7."""
    for at in (1, 2, 3):
        client.delete_item(TableName=CHAT, Key=message("r", at))
    for at in (4, 6, 7):
        client.put_item(TableName=CHAT, Item=message("r", at, n={"N": "1"}))


def write_many(client: Any, requests: list[Any]) -> None:
    """Write or delete messages, 25 at a time."""
    for begin in range(0, len(requests), 25):
        client.batch_write_item(RequestItems={CHAT: requests[begin : begin + 25]})


THEN = [(at, "0") for at in range(6)]
NOW = [(0, "0"), (4, "1"), (5, "0"), (6, "1"), (7, "1")]


@pytest.fixture
def changed(database: Database) -> Database:
    """The database after a change that reads do not show yet, for 5 seconds of service time."""
    client = database.client()
    fill(client)
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5))
    change(client)
    return database


def seen(items: list[Any]) -> list[tuple[int, str]]:
    return [(int(item["at"]["N"]), item["n"]["N"]) for item in items]


def pages(call: Any, **members: Any) -> list[list[tuple[int, str]]]:
    """Everything that a Query or Scan returns, by page."""
    found: list[list[tuple[int, str]]] = []
    start: dict[str, Any] = {}
    while True:
        reply = call(TableName=CHAT, **members, **start)
        assert reply["Count"] == len(reply["Items"])
        found.append(seen(reply["Items"]))
        if "LastEvaluatedKey" not in reply:
            return found
        start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7, 100])
@pytest.mark.parametrize("is_forward", [True, False])
def test_a_query_shows_the_earlier_rows_in_pages_of_at_most_the_limit(
    changed: Database, limit: int, is_forward: bool
) -> None:
    client = changed.client()
    found = pages(client.query, **IN_ROOM, Limit=limit, ScanIndexForward=is_forward)
    expected = THEN if is_forward else THEN[::-1]
    assert [one for page in found for one in page] == expected
    assert max(map(len, found)) <= limit
    consistent = pages(client.query, **IN_ROOM, Limit=limit, ScanIndexForward=is_forward, ConsistentRead=True)
    assert [one for page in consistent for one in page] == (NOW if is_forward else NOW[::-1])
    changed.clock.advance(5)
    found = pages(client.query, **IN_ROOM, Limit=limit, ScanIndexForward=is_forward)
    assert [one for page in found for one in page] == (NOW if is_forward else NOW[::-1])


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_scan_does_too_and_so_do_its_segments(changed: Database, limit: int) -> None:
    client = changed.client()
    assert [one for page in pages(client.scan, Limit=limit) for one in page] == THEN
    segments = [pages(client.scan, Segment=segment, TotalSegments=4, Limit=limit) for segment in range(4)]
    assert [one for segment in segments for page in segment for one in page] == THEN
    consistent = pages(client.scan, Limit=limit, ConsistentRead=True)
    assert [one for page in consistent for one in page] == NOW


def test_a_range_of_sort_keys_and_a_filter_see_the_earlier_rows(changed: Database) -> None:
    client = changed.client()
    values = {":r": {"S": "r"}, ":a": {"N": "2"}, ":b": {"N": "6"}}
    between = {"KeyConditionExpression": "room = :r AND #a BETWEEN :a AND :b", "ExpressionAttributeNames": {"#a": "at"}}
    assert pages(client.query, **between, ExpressionAttributeValues=values) == [THEN[2:]]
    reply = client.scan(TableName=CHAT, FilterExpression="n = :one", ExpressionAttributeValues={":one": {"N": "1"}})
    assert (reply["Count"], reply["ScannedCount"]) == (0, 6)
    assert client.scan(TableName=CHAT, Select="COUNT")["Count"] == 6


def test_single_items_batches_and_statements_do_too(changed: Database) -> None:
    client = changed.client()

    def found(*numbers: int, consistent: bool) -> list[Any]:
        single = [
            client.get_item(TableName=CHAT, Key=message("r", at), ConsistentRead=consistent).get("Item")
            for at in numbers
        ]
        keys = [message("r", at) for at in numbers]
        batch = client.batch_get_item(RequestItems={CHAT: {"Keys": keys, "ConsistentRead": consistent}})
        texts = [f"SELECT * FROM chat WHERE room = 'r' AND \"at\" = {at}" for at in numbers]
        replies = [client.execute_statement(Statement=text, ConsistentRead=consistent)["Items"] for text in texts]
        wanted = [{"Statement": text, "ConsistentRead": consistent} for text in texts]
        together = client.batch_execute_statement(Statements=wanted)["Responses"]
        assert [one for one in single if one is not None] == sorted(
            batch["Responses"][CHAT], key=lambda item: int(item["at"]["N"])
        )
        assert single == [items[0] if items else None for items in replies]
        assert single == [one.get("Item") for one in together]
        return [None if one is None else one["n"]["N"] for one in single]

    assert found(0, 1, 4, 6, consistent=False) == ["0", "0", "0", None]
    assert found(0, 1, 4, 6, consistent=True) == ["0", None, "1", "1"]


def test_transactions_and_conditions_see_what_is(changed: Database) -> None:
    client = impatient(changed)
    gets = [{"Get": {"TableName": CHAT, "Key": message("r", at)}} for at in (1, 4)]
    replies = client.transact_get_items(TransactItems=gets)["Responses"]
    assert [one.get("Item", {}).get("n") for one in replies] == [None, {"N": "1"}]
    client.update_item(
        TableName=CHAT,
        Key=message("r", 4),
        UpdateExpression="SET n = n + :one",
        ConditionExpression="n = :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
    reply = client.get_item(TableName=CHAT, Key=message("r", 4), ConsistentRead=True)
    assert reply["Item"]["n"] == {"N": "2"}


def test_each_moment_in_between_can_be_seen(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("stale-read", seconds=3))
    values = []
    for number in range(8):
        client.put_item(TableName="music", Item=song("a", n={"N": str(number)}))
        database.clock.advance(1)
        found = client.get_item(TableName="music", Key=song("a")).get("Item", {}).get("n", {}).get("N")
        values.append(found)
    assert values == [None, None, "0", "1", "2", "3", "4", "5"]


def test_the_stalest_of_several_faults_counts_and_each_names_its_items(database: Database) -> None:
    client = database.client()
    put_songs(client, "a", "b")
    database.clock.freeze()
    database.clock.advance(60)
    database.faults.use(
        Fault("stale-read", seconds=1, operation="GetItem"),
        Fault("stale-read", seconds=10, table="music", key=song("a")),
        Fault("stale-read", seconds=0, table="music"),
    )
    for key in "ab":
        client.delete_item(TableName="music", Key=song(key))
    database.clock.advance(5)
    assert ["Item" in client.get_item(TableName="music", Key=song(key)) for key in "ab"] == [True, False]
    assert client.scan(TableName="music")["Count"] == 0
    assert met(database) == [
        (1, "GetItem"),
        (2, "GetItem"),
        (3, "GetItem"),
        (1, "GetItem"),
        (3, "GetItem"),
        (3, "Scan"),
    ]


def test_a_share_of_the_reads_is_stale_and_a_long_read_is_so_as_a_whole(database: Database) -> None:
    client = database.client()
    write_many(client, [{"PutRequest": {"Item": message("r", at)}} for at in range(500)])
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5, share=0.5), seed=1)
    write_many(client, [{"DeleteRequest": {"Key": message("r", at)}} for at in range(0, 500, 2)])
    counts = [client.query(TableName=CHAT, **IN_ROOM, Select="COUNT")["Count"] for _ in range(20)]
    assert set(counts) == {500, 250}
    assert len(database.faults.report) == counts.count(500)
    database.faults.use(Fault("stale-read", seconds=5, share=0.5), seed=1)
    assert client.query(TableName=CHAT, **IN_ROOM, Select="COUNT")["Count"] == 250  # earlier changes are not known


def test_a_page_of_a_megabyte_ends_where_the_earlier_rows_fill_it(database: Database) -> None:
    client = database.client()
    for at in range(8):
        client.put_item(TableName=CHAT, Item=message("r", at, n={"N": "0"}, text={"S": "x" * 200_000}))
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5))
    for at in range(8):
        client.put_item(TableName=CHAT, Item=message("r", at, n={"N": "1"}))
    assert [len(page) for page in pages(client.query, **IN_ROOM)] == [6, 2]
    assert [len(page) for page in pages(client.query, **IN_ROOM, ConsistentRead=True)] == [8]


def test_items_that_time_to_live_has_deleted_are_still_seen(database: Database) -> None:
    client = database.client()
    client.update_time_to_live(TableName="music", TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
    database.clock.freeze()
    database.clock.advance(3600)
    until = {"N": str(int(database.clock.now()) + 100)}
    for key in "abc":
        client.put_item(TableName="music", Item=song(key, gone=until))
    put_songs(client, "d")
    database.faults.use(Fault("stale-read", seconds=60))
    database.clock.advance(110)
    client.delete_item(TableName="music", Key=song("d"))
    assert client.scan(TableName="music", ConsistentRead=True)["Count"] == 0
    assert ["Item" in client.get_item(TableName="music", Key=song(key)) for key in "ad"] == [True, True]
    assert client.scan(TableName="music")["Count"] == 4
    database.clock.advance(60)
    assert client.scan(TableName="music")["Count"] == 0


@pytest.mark.parametrize("former", [Fault("stale-read", seconds=1), Fault("error", operation="ListTables")])
def test_writes_that_began_with_earlier_faults_are_known_too(database: Database, former: Fault) -> None:
    database.faults.use(former)
    store: Any = database._process.service.scope("000000000000", "us-east-1").store
    database.faults.use(Fault("stale-read", seconds=60))
    for number in range(3):
        database.client().put_item(TableName="music", Item=song("a", n={"N": str(number)}))
    table = store.catalog.find("000000000000", "us-east-1", "music")
    database._process.run(store.mutate, table, table.lookup_key(song("a")), lambda old: None)
    assert len(kept(database)._order) == 4


# --- local indexes --------------------------------------------------------------------------------

BY_TOPIC = {
    "TableName": CHAT,
    "IndexName": "by_topic",
    "KeyConditionExpression": "room = :r",
    "ExpressionAttributeValues": {":r": {"S": "r"}},
}


def topics(client: Any, **members: Any) -> list[tuple[str, int]]:
    """Topic and number of each message that the local index shows, page by page."""
    found: list[tuple[str, int]] = []
    start: dict[str, Any] = {}
    while True:
        reply = client.query(**BY_TOPIC, **members, **start)
        assert len(reply["Items"]) <= members.get("Limit", 100)
        found += [(item["topic"]["S"], int(item["at"]["N"])) for item in reply["Items"]]
        if "LastEvaluatedKey" not in reply:
            return found
        start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


@pytest.fixture
def reordered(database: Database) -> Database:
    """The database after changes of topics, which eventually consistent reads do not show yet, for 5 seconds."""
    client = database.client()
    for at in range(6):
        client.put_item(TableName=CHAT, Item=message("r", at, topic={"S": f"t{at}"}, n={"N": "0"}))
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5))
    client.put_item(TableName=CHAT, Item=message("r", 0, topic={"S": "t9"}, n={"N": "1"}))  # its entry moves
    client.put_item(TableName=CHAT, Item=message("r", 1, topic={"S": "t1"}, n={"N": "1"}))  # its entry stays as it is
    client.put_item(TableName=CHAT, Item=message("r", 2, n={"N": "1"}))  # has no entry any more
    client.delete_item(TableName=CHAT, Key=message("r", 3))
    client.put_item(TableName=CHAT, Item=message("r", 7, topic={"S": "t0"}, n={"N": "1"}))
    return database


TOPICS_THEN = [(f"t{at}", at) for at in range(6)]
TOPICS_NOW = [("t0", 7), ("t1", 1), ("t4", 4), ("t5", 5), ("t9", 0)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("is_forward", [True, False])
def test_a_local_index_shows_the_earlier_entries(reordered: Database, limit: int, is_forward: bool) -> None:
    client = reordered.client()
    turn = 1 if is_forward else -1
    members = {"Limit": limit, "ScanIndexForward": is_forward}
    assert topics(client, **members) == TOPICS_THEN[::turn]
    assert topics(client, **members, ConsistentRead=True) == TOPICS_NOW[::turn]
    assert client.scan(TableName=CHAT, IndexName="by_topic")["Count"] == 6
    assert {(one.operation, one.table, one.index) for one in reordered.faults.report} == {
        ("Query", CHAT, "by_topic"),
        ("Scan", CHAT, "by_topic"),
    }
    reordered.clock.advance(5)
    assert topics(client, **members) == TOPICS_NOW[::turn]


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_items_that_a_local_index_lacks_are_of_the_same_moment(reordered: Database, limit: int) -> None:
    """The read draws once, however many items it fetches from the table."""
    client = reordered.client()
    whole = {"Select": "ALL_ATTRIBUTES", "Limit": limit}
    reordered.faults.use(Fault("stale-read", seconds=5, count=1))
    client.delete_item(TableName=CHAT, Key=message("r", 4))
    reply = client.query(**BY_TOPIC, **whole)
    assert met(reordered) == [(1, "Query")]
    then = [("t0", 7), ("t1", 1), ("t4", 4), ("t5", 5), ("t9", 0)][:limit]
    assert [(item["topic"]["S"], int(item["at"]["N"])) for item in reply["Items"]] == then
    reply = client.query(**BY_TOPIC, **whole)
    assert len(met(reordered)) == 1
    now = [("t0", 7), ("t1", 1), ("t5", 5), ("t9", 0)][:limit]
    assert [(item["topic"]["S"], int(item["at"]["N"])) for item in reply["Items"]] == now


def test_global_indexes_are_not_stale(changed: Database) -> None:
    client = changed.client()
    client.put_item(TableName=CHAT, Item=message("r", 9, author={"S": "a"}))
    assert client.scan(TableName=CHAT, IndexName="by_author")["Count"] == 1
    assert met(changed) == []


# --- what is kept ---------------------------------------------------------------------------------


def kept(database: Database) -> remembered.StaleRows:
    step: Any = database._process.service.features.steps[0]
    found: remembered.StaleRows = step.stale
    return found


def test_changes_are_kept_as_long_as_reads_can_be_stale(changed: Database) -> None:
    assert len(kept(changed)._order) == 6
    changed.clock.advance(6)
    put_songs(changed.client(), "a")
    rows = kept(changed)
    assert (len(rows._order), len(rows._changes), rows._size_bytes) == (1, 1, 0)


def test_the_number_and_the_bytes_of_changes_are_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("stale-read", seconds=60))
    database.clock.advance(100)
    monkeypatch.setattr(remembered, "CHANGES_MAX", 5)
    for number in range(20):
        client.put_item(TableName="music", Item=song("hot", n={"N": str(number)}))
    assert len(kept(database)._order) == 5
    assert client.get_item(TableName="music", Key=song("hot"))["Item"]["n"] == {"N": "14"}
    monkeypatch.setattr(remembered, "CHANGES_MAX", 1000)
    monkeypatch.setattr(remembered, "CHANGES_BYTES_MAX", 100_000)
    for number in range(20):
        client.put_item(TableName="music", Item=song("large", text={"S": str(number % 10) * 30_000}))
    rows = kept(database)
    assert 60_000 < rows._size_bytes <= 100_000
    assert rows._size_bytes == sum(len(old or b"") for changes in rows._changes.values() for _, old in changes)
    client.put_item(TableName="music", Item=song("large", text={"S": "y" * 300_000}))
    client.delete_item(TableName="music", Key=song("large"))
    assert len(rows._order) == 1  # the last change is always kept
    assert len(client.get_item(TableName="music", Key=song("large"))["Item"]["text"]["S"]) == 300_000


def test_a_page_of_many_changed_rows_gives_way(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows may change further meanwhile; the page shows them as they were."""
    client = database.client()
    requests = [{"PutRequest": {"Item": message("r", at, n={"N": "0"})}} for at in range(600)]
    write_many(client, requests)
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5))
    write_many(client, [{"PutRequest": {"Item": message("r", at, n={"N": "1"})}} for at in range(600)])
    usual_page = remembered.StaleRows.page
    calls: list[tuple[Any, ...]] = []

    def page(*arguments: Any) -> Any:
        calls.append(arguments)
        return usual_page(*arguments)

    monkeypatch.setattr(remembered.StaleRows, "page", page)
    assert sum(map(len, pages(client.query, **IN_ROOM))) == 600
    rows, source, span, _, since_seconds, *_ = calls[0]
    now = [row for _, _, _, one, *_ in calls for row in one.rows]
    looks: list[int] = []

    def look() -> None:
        rows._changes[b"another", Key(b"%d" % len(looks))] = deque()
        looks.append(1)

    monkeypatch.setattr(steps, "_look", look)
    found = usual_page(rows, source, span, Page(now, 0, None), since_seconds, 1000, 2**20)
    assert [decode_row(row)["n"] for row in found.rows] == [{"N": "0"}] * 600
    assert len(looks) >= 20, "one for two pieces, of the ten that each of four walks has"
