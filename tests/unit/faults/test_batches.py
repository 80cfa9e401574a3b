"""Batches under faults: what is left unprocessed, what fails the whole batch, and how clients go on."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from hashrange.faults.fault import Fault
from hashrange.testing.database import Database
from tests.unit.faults.kit import CHAT, code_of, impatient, message, met, put_songs, refusal, song, songs

KEYS = [song(str(number)) for number in range(20)]
PUTS = [{"PutRequest": {"Item": key}} for key in KEYS]


def written(client: Any) -> list[Any]:
    """Writes all songs in one batch; returns the unprocessed elements."""
    reply = client.batch_write_item(RequestItems={"music": PUTS})
    return list(reply["UnprocessedItems"].get("music", []))


def read(client: Any, **members: Any) -> tuple[list[Any], list[Any]]:
    """Reads all songs in one batch; returns the items and the unprocessed keys."""
    reply = client.batch_get_item(RequestItems={"music": {"Keys": KEYS, **members}})
    return reply["Responses"]["music"], list(reply["UnprocessedKeys"].get("music", {}).get("Keys", []))


@pytest.mark.parametrize("kind", ["throttle", "unprocessed"])
def test_each_element_meets_faults_by_itself(database: Database, kind: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault(kind, share=0.4), seed=5)
    left = written(client)
    assert 0 < len(left) < 20
    assert met(database) == [(1, "BatchWriteItem")] * len(left)
    done = [put["PutRequest"]["Item"]["pk"]["S"] for put in PUTS if put not in left]
    assert songs(database) == set(done)
    put_songs(client, *[key["pk"]["S"] for key in KEYS])
    database.faults.use(Fault(kind, share=0.4), seed=6)
    items, left = read(client)
    assert 0 < len(left) < 20
    assert sorted(item["pk"]["S"] for item in [*items, *left]) == sorted(key["pk"]["S"] for key in KEYS)


def test_unprocessed_elements_can_be_sent_as_they_are(database: Database) -> None:
    client = impatient(database)
    client.batch_write_item(RequestItems={"music": PUTS})
    asked = {"Keys": KEYS, "ProjectionExpression": "#k", "ExpressionAttributeNames": {"#k": "pk"}}
    database.faults.use(Fault("unprocessed", count=1), Fault("throttle", count=1))
    reply = client.batch_get_item(RequestItems={"music": {**asked, "ConsistentRead": True}})
    left = reply["UnprocessedKeys"]["music"]
    assert left == {**asked, "Keys": KEYS[:2], "ConsistentRead": True}
    again = client.batch_get_item(RequestItems=reply["UnprocessedKeys"])
    assert [item["pk"]["S"] for item in again["Responses"]["music"]] == ["0", "1"]
    assert again["UnprocessedKeys"] == {}


def test_a_delete_is_left_as_a_delete(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("unprocessed"))
    wanted = {"music": [{"DeleteRequest": {"Key": song("a")}}, {"PutRequest": {"Item": song("b", n={"N": "1"})}}]}
    assert client.batch_write_item(RequestItems=wanted)["UnprocessedItems"] == wanted


def test_a_batch_of_which_all_is_throttled_fails(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle"))
    told = refusal(written, client)
    assert told["Error"]["Code"] == "ThrottlingException"
    assert told["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"
    assert code_of(read, client) == "ThrottlingException"
    assert len(database.faults.report) == 40
    client.update_table(
        TableName="music",
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )
    assert code_of(written, client) == "ProvisionedThroughputExceededException"
    database.faults.use(Fault("throttle", exception="RequestLimitExceeded"))
    assert code_of(written, client) == code_of(read, client) == "RequestLimitExceeded"
    assert songs(database) == set()


def test_one_element_that_is_done_is_enough(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", skip=19))
    assert written(client) == PUTS[19:]
    database.faults.use(Fault("throttle", count=19))
    assert read(client) == ([], KEYS[:19])  # the last one was read, and is not there


def test_a_batch_of_which_all_is_left_unprocessed_does_not_fail(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("unprocessed"))
    assert written(client) == PUTS
    assert read(client) == ([], KEYS)
    assert read(client, ConsistentRead=True) == ([], KEYS)
    assert songs(database) == set()


def test_a_conflict_leaves_writes_unprocessed_and_reads_alone(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("conflict"))
    assert written(client) == PUTS
    assert read(client)[1] == []
    assert songs(database) == set()


def test_only_batches_leave_anything_unprocessed(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("unprocessed"))
    put_songs(client, "a")
    client.get_item(TableName="music", Key=song("a"))
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "music", "Item": song("b")}}])
    client.transact_get_items(TransactItems=[{"Get": {"TableName": "music", "Key": song("b")}}])
    client.scan(TableName="music")
    replies = client.batch_execute_statement(Statements=[{"Statement": "SELECT * FROM music WHERE pk = 'a'"}])
    assert [list(one) for one in replies["Responses"]] == [["TableName", "Item"]]
    assert met(database) == []


def test_faults_name_one_of_several_tables(database: Database) -> None:
    client = impatient(database)
    wanted = {"music": PUTS[:2], CHAT: [{"PutRequest": {"Item": message("r", 1)}}]}
    database.faults.use(Fault("unprocessed", table=CHAT))
    assert client.batch_write_item(RequestItems=wanted)["UnprocessedItems"] == {CHAT: wanted[CHAT]}
    database.faults.use(Fault("throttle", table=CHAT))
    assert client.batch_write_item(RequestItems=wanted)["UnprocessedItems"] == {CHAT: wanted[CHAT]}
    keys = {"music": {"Keys": KEYS[:2]}, CHAT: {"Keys": [message("r", 1)]}}
    assert client.batch_get_item(RequestItems=keys)["UnprocessedKeys"] == {CHAT: keys[CHAT]}
    database.faults.use(Fault("throttle", table="music", key=KEYS[1]))
    assert client.batch_write_item(RequestItems=wanted)["UnprocessedItems"] == {"music": PUTS[1:2]}


@pytest.mark.parametrize("kind", ["error", "drop"])
@pytest.mark.parametrize("number", [0, 3, 19])
def test_a_fault_of_one_item_comes_before_the_whole_batch_or_after_all_of_it(
    database: Database, kind: Any, number: int
) -> None:
    client = impatient(database)
    key = KEYS[number]
    database.faults.use(Fault(kind, table="music", key=key))
    with pytest.raises((ClientError, ConnectionClosedError)):
        written(client)
    assert [(one.kind, one.table, one.key is not None) for one in database.faults.report] == [(kind, "music", True)]
    assert songs(database) == set()
    database.faults.use(Fault(kind, table="music", key=key, when="after"))
    with pytest.raises((ClientError, ConnectionClosedError)):
        written(client)
    assert [(one.kind, one.table, one.key is not None) for one in database.faults.report] == [(kind, "music", True)]
    assert songs(database) == {one["pk"]["S"] for one in KEYS}


def test_items_of_several_tables_and_deletes_too(database: Database) -> None:
    client = impatient(database)
    put_songs(client, "a")
    wanted = {
        "arn:aws:dynamodb:us-east-1:000000000000:table/chat": [{"PutRequest": {"Item": message("r", 1, n={"N": "1"})}}],
        "music": [{"PutRequest": {"Item": song("b")}}, {"DeleteRequest": {"Key": song("a")}}],
    }
    for fault in (
        Fault("error", table="music", key=song("a")),
        Fault("error", table=CHAT, key={"room": {"S": "r"}}),
        Fault("error", table=CHAT, key={"room": {"S": "r"}, "at": {"N": "1.0"}}),
    ):
        database.faults.use(fault)
        assert code_of(client.batch_write_item, RequestItems=wanted) == "InternalServerError"
        assert songs(database) == {"a"}
    database.faults.use(Fault("error", table="music", key=song("c")), Fault("error", table=CHAT, key=message("r", 2)))
    client.batch_write_item(RequestItems=wanted)
    assert songs(database) == {"b"}


def test_a_batch_that_is_refused_meets_no_faults_of_its_items(database: Database) -> None:
    client = impatient(database)
    faults = [Fault("error", table="music", key=song("a")), Fault("error", table="music", key=song("a"), when="after")]
    database.faults.use(*faults)
    puts = [{"PutRequest": {"Item": song(key)}} for key in "aa"]
    assert code_of(client.batch_write_item, RequestItems={"music": puts}) == "ValidationException"
    wanted = {"music": puts[:1], "none": puts[:1]}
    assert code_of(client.batch_write_item, RequestItems=wanted) == "ResourceNotFoundException"
    assert met(database) == []


def test_an_element_that_is_left_unprocessed_meets_no_fault_after_it(database: Database) -> None:
    client = impatient(database)
    database.faults.use(
        Fault("unprocessed", table="music", key=KEYS[3]),
        Fault("error", table="music", key=KEYS[3], when="after"),
        Fault("throttle", table="music", key=KEYS[4]),
        Fault("drop", table="music", key=KEYS[4], when="after"),
    )
    assert written(client) == PUTS[3:5]
    assert [one.kind for one in database.faults.report] == ["unprocessed", "throttle"]


def test_each_item_of_a_batch_is_drawn_once_for_each_fault(database: Database) -> None:
    client = impatient(database)
    all_songs = [Fault("error", table="music", key=key, share=0.0) for key in KEYS]
    slow = [Fault("slow", table="music", key=key, seconds=0) for key in KEYS]
    database.faults.use(*slow, *all_songs, Fault("half-reply", table="music", key=KEYS[7], skip=1))
    assert written(client) == []
    assert sorted(one.fault for one in database.faults.report) == list(range(1, 21))
    with pytest.raises(ConnectionClosedError):
        written(client)


def test_a_read_of_one_item_fails_the_batch(database: Database) -> None:
    client = impatient(database)
    for when in ("before", "after"):
        database.faults.use(Fault("error", table="music", key=KEYS[3], when=when))
        assert code_of(read, client) == "InternalServerError"
        assert met(database) == [(1, "BatchGetItem")]


def test_statements_of_a_batch_fail_one_by_one(database: Database) -> None:
    client = impatient(database)
    put_songs(client, "a", "b", "c", "d")
    key_faults = {"a": ("throttle", {}), "b": ("error", {}), "c": ("throttle", {"exception": "RequestLimitExceeded"})}
    database.faults.use(
        *[
            Fault(kind, table="music", key=song(key), **more)  # type: ignore[arg-type]
            for key, (kind, more) in key_faults.items()
        ]
    )
    reads = [{"Statement": f"SELECT * FROM music WHERE pk = '{key}'"} for key in "abcd"]
    replies = client.batch_execute_statement(Statements=reads)["Responses"]
    codes = [one.get("Error", {}).get("Code") for one in replies]
    assert codes == ["ThrottlingError", "InternalServerError", "RequestLimitExceeded", None]
    assert replies[3]["Item"] == song("d")
    writes = [{"Statement": f"UPDATE music SET n = 1 WHERE pk = '{key}'"} for key in "abcd"]
    database.faults.use(
        Fault("conflict", table="music", key=song("a")),
        Fault("throttle", table="music", key=song("b"), exception="ProvisionedThroughputExceededException"),
        Fault("error", table="music", key=song("c"), when="after"),
    )
    replies = client.batch_execute_statement(Statements=writes)["Responses"]
    codes = [one.get("Error", {}).get("Code") for one in replies]
    assert codes == ["TransactionConflict", "ProvisionedThroughputExceeded", "InternalServerError", None]
    database.faults.clear()
    changed = [item["pk"]["S"] for item in client.scan(TableName="music")["Items"] if "n" in item]
    assert sorted(changed) == ["c", "d"]


def test_batch_writer_sends_again_what_is_left(database: Database) -> None:
    table = database.resource().Table("music")
    database.faults.use(Fault("unprocessed", share=0.5), Fault("throttle", share=0.2), seed=11)
    with table.batch_writer() as batch:
        for number in range(100):
            batch.put_item(Item={"pk": str(number)})
    assert len(database.faults.report) > 50
    assert songs(database) == {str(number) for number in range(100)}
