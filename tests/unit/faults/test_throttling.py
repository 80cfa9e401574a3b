"""Throttled requests: exception, message, reason and resource, for each kind of request, table and index."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.faults.fault import Fault
from hashrange.messages import throttling as sentences
from hashrange.testing.database import Database
from tests.unit.faults.kit import (
    ARN,
    CHAT,
    impatient,
    make_music,
    message,
    met,
    outcome,
    put_songs,
    refusal,
    song,
    songs,
)
from tests.unit.faults.sockets import connected, one_reply, request

Request = Callable[[Any], Any]
PROVISIONED = {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
CHAT_ARN = ARN.replace("music", CHAT)
QUERY = {"KeyConditionExpression": "#k = :k", "ExpressionAttributeValues": {":k": {"S": "a"}}}
UPDATE = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
WRITES: dict[str, Request] = {
    "PutItem": lambda client: client.put_item(TableName="music", Item=song("a")),
    "UpdateItem": lambda client: client.update_item(TableName="music", Key=song("a"), **UPDATE),
    "DeleteItem": lambda client: client.delete_item(TableName="music", Key=song("a")),
    "insert": lambda client: client.execute_statement(Statement="INSERT INTO music VALUE {'pk': 'b'}"),
    "update": lambda client: client.execute_statement(Statement="UPDATE music SET n = 1 WHERE pk = 'a'"),
    "delete": lambda client: client.execute_statement(Statement="DELETE FROM music WHERE pk = 'a'"),
}
READS: dict[str, Request] = {
    "GetItem": lambda client: client.get_item(TableName="music", Key=song("a")),
    "consistent": lambda client: client.get_item(TableName="music", Key=song("a"), ConsistentRead=True),
    "missing item": lambda client: client.get_item(TableName="music", Key=song("none")),
    "Query": lambda client: client.query(TableName="music", **QUERY, ExpressionAttributeNames={"#k": "pk"}),
    "Scan": lambda client: client.scan(TableName="music"),
    "parallel scan": lambda client: client.scan(TableName="music", Segment=1, TotalSegments=3),
    "count": lambda client: client.scan(TableName="music", Select="COUNT"),
    "select": lambda client: client.execute_statement(Statement="SELECT * FROM music WHERE pk = 'a'"),
    "select all": lambda client: client.execute_statement(Statement="SELECT * FROM music"),
}


@pytest.mark.parametrize("name", [*WRITES, *READS])
@pytest.mark.parametrize("is_provisioned", [True, False])
def test_every_request_gets_the_error_of_its_tables_billing_mode(
    database: Database, name: str, is_provisioned: bool
) -> None:
    client = impatient(database)
    if is_provisioned:
        client.update_table(TableName="music", BillingMode="PROVISIONED", **PROVISIONED)
    put_songs(client, "a")
    database.faults.use(Fault("throttle", count=1))
    told = refusal((WRITES | READS)[name], client)
    kind = "Write" if name in WRITES else "Read"
    assert told["ResponseMetadata"]["HTTPStatusCode"] == 400
    if is_provisioned:
        assert told["Error"]["Code"] == "ProvisionedThroughputExceededException"
        assert told["Error"]["Message"] == sentences.TABLE_PROVISIONED
        assert told["ThrottlingReasons"] == [{"reason": f"Table{kind}ProvisionedThroughputExceeded", "resource": ARN}]
    else:
        assert told["Error"]["Code"] == "ThrottlingException"
        assert told["Error"]["Message"] == sentences.TABLE_ON_DEMAND
        assert told["throttlingReasons"] == [{"reason": f"Table{kind}KeyRangeThroughputExceeded", "resource": ARN}]
    assert songs(database) == {"a"}
    (WRITES | READS)[name](client)


def test_a_table_that_is_created_with_throughput_is_provisioned(database: Database) -> None:
    client = impatient(database)
    make_music(client, "paid", **PROVISIONED)
    database.faults.use(Fault("throttle"))
    told = refusal(client.put_item, TableName="paid", Item=song("a"))
    assert told["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert told["ThrottlingReasons"][0]["resource"].endswith(":table/paid")


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        ("ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded"),
        ("ThrottlingException", "KeyRangeThroughputExceeded"),
        ("RequestLimitExceeded", "AccountLimitExceeded"),
    ],
)
@pytest.mark.parametrize(
    "given",
    [
        None,
        "ProvisionedThroughputExceeded",
        "KeyRangeThroughputExceeded",
        "AccountLimitExceeded",
        "MaxOnDemandThroughputExceeded",
    ],
)
def test_exception_and_reason_can_be_chosen(database: Database, exception: Any, reason: str, given: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", exception=exception, reason=given))
    told = refusal(client.get_item, TableName="music", Key=song("a"))
    member = "throttlingReasons" if exception == "ThrottlingException" else "ThrottlingReasons"
    assert told["Error"]["Code"] == exception
    assert told[member] == [{"reason": f"TableRead{given or reason}", "resource": ARN}]
    account_wide = exception == "RequestLimitExceeded"
    assert (told["Error"]["Message"] == sentences.ACCOUNT_LIMIT) == account_wide


BY_AUTHOR = {"TableName": CHAT, "IndexName": "by_author"}
BY_TOPIC = {"TableName": CHAT, "IndexName": "by_topic"}
INDEX_READS: dict[str, Request] = {
    "Query": lambda client: client.query(**BY_AUTHOR, **QUERY, ExpressionAttributeNames={"#k": "author"}),
    "Scan": lambda client: client.scan(**BY_AUTHOR),
    "select": lambda client: client.execute_statement(Statement="SELECT * FROM chat.by_author WHERE author = 'a'"),
}


@pytest.mark.parametrize("exception", ["ThrottlingException", "ProvisionedThroughputExceededException"])
def test_on_the_wire_a_reason_begins_with_its_type(database: Database, exception: Any) -> None:
    """Old clients of .NET misread it, so an application's test should meet it."""
    database.faults.use(Fault("throttle", exception=exception))
    with connected(database.endpoint) as client:
        client.sendall(request("GetItem", TableName="music", Key=song("a")))
        status, body = one_reply(client)
    assert status == 400
    assert re.search(rb'"[Tt]hrottlingReasons":\[\{"__type":"ThrottlingReason","reason":"TableRead', body)


@pytest.mark.parametrize("read", list(INDEX_READS))
@pytest.mark.parametrize("where", [{}, {"table": CHAT}, {"table": CHAT, "index": "by_author"}])
def test_a_throttled_read_of_a_global_index_names_the_index(
    database: Database, read: str, where: dict[str, Any]
) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", **where))
    told = refusal(INDEX_READS[read], client)
    assert told["Error"]["Message"] == sentences.TABLE_ON_DEMAND
    assert told["throttlingReasons"] == [
        {"reason": "IndexReadKeyRangeThroughputExceeded", "resource": f"{CHAT_ARN}/index/by_author"}
    ]
    assert [(one.table, one.index, one.key) for one in database.faults.report] == [(CHAT, "by_author", None)]


@pytest.mark.parametrize("where", [{}, {"table": CHAT, "index": "by_topic"}])
def test_a_local_index_uses_the_capacity_of_its_table(database: Database, where: dict[str, Any]) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", **where))
    told = refusal(client.scan, **BY_TOPIC)
    assert told["throttlingReasons"] == [{"reason": "TableReadKeyRangeThroughputExceeded", "resource": CHAT_ARN}]
    assert database.faults.report[0].index == "by_topic"


def test_a_throttled_global_index_throttles_writes_of_its_table_but_no_reads(database: Database) -> None:
    client = impatient(database)
    client.update_table(TableName=CHAT, BillingMode="PAY_PER_REQUEST")
    database.faults.use(Fault("throttle", table=CHAT, index="by_author"))
    told = refusal(client.put_item, TableName=CHAT, Item=message("r", 1, author={"S": "a"}))
    assert told["Error"]["Message"] == sentences.INDEX_ON_DEMAND
    assert told["throttlingReasons"] == [
        {"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": f"{CHAT_ARN}/index/by_author"}
    ]
    client.get_item(TableName=CHAT, Key=message("r", 1))
    client.scan(TableName=CHAT)
    client.scan(**BY_TOPIC)
    client.put_item(TableName="music", Item=song("a"))
    assert len(database.faults.report) == 1
    database.faults.use(Fault("throttle", table=CHAT, index="by_topic"))
    client.put_item(TableName=CHAT, Item=message("r", 1, topic={"S": "a"}))


def test_items_that_a_local_index_fetches_are_accesses_of_their_own(database: Database) -> None:
    client = impatient(database)
    for at in range(5):
        client.put_item(TableName=CHAT, Item=message("r", at, topic={"S": "a"}, text={"S": "long"}))
    whole = {**BY_TOPIC, "Select": "ALL_ATTRIBUTES", **QUERY, "ExpressionAttributeNames": {"#k": "room"}}
    whole["ExpressionAttributeValues"] = {":k": {"S": "r"}}
    database.faults.use(Fault("throttle", table=CHAT, key=message("r", 3)))
    told = refusal(client.query, **whole)
    assert told["throttlingReasons"] == [{"reason": "TableReadKeyRangeThroughputExceeded", "resource": CHAT_ARN}]
    client.query(**BY_TOPIC, **QUERY | {"ExpressionAttributeNames": {"#k": "room"}})


def test_what_needs_no_capacity_is_not_throttled(database: Database) -> None:
    client, streams = impatient(database), impatient(database, "dynamodbstreams")
    database.faults.use(Fault("throttle"))
    make_music(client, "other")
    client.describe_table(TableName="music")
    client.list_tables()
    client.update_table(TableName="music", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    streams.list_streams()
    client.delete_table(TableName="other")
    assert met(database) == []


def test_checks_of_the_request_come_first(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle"))
    assert outcome(client.put_item, TableName="none", Item=song("a")) == "ResourceNotFoundException"
    assert outcome(client.put_item, TableName="music", Item={"n": {"N": "1"}}) == "ValidationException"
    assert met(database) == []


@pytest.mark.parametrize("name", ["music", ARN])
def test_a_table_may_be_named_by_its_arn(database: Database, name: str) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", table="music", key=song("a")), Fault("error", table="music"))
    assert outcome(client.get_item, TableName=name, Key=song("b")) == "InternalServerError"
    database.faults.use(Fault("throttle", table="music", key=song("a")))
    assert outcome(client.get_item, TableName=name, Key=song("a")) == "ThrottlingException"
    assert outcome(client.get_item, TableName=name, Key=song("b")) == "done"


# --- when to retry ------------------------------------------------------------------------------------


def retry_after(database: Database, call: Callable[[Any], Any]) -> list[str | None]:
    """The header of each reply to a client that does not retry."""
    client = impatient(database)
    heard: list[str | None] = []

    def note(http_response: Any, **_: Any) -> None:
        heard.append(http_response.headers.get("x-amz-retry-after"))

    client.meta.events.register("after-call.dynamodb", note)
    with suppress(ClientError):
        call(client)
    return heard


@pytest.mark.parametrize("name", [*WRITES, "GetItem", "Query", "select all"])
def test_a_throttled_request_may_be_told_when_to_retry(database: Database, name: str) -> None:
    call = (WRITES | READS)[name]
    put_songs(impatient(database), "a")
    for milliseconds in (0, 1500):
        database.faults.use(Fault("throttle", retry_after_ms=milliseconds, count=1))
        assert retry_after(database, call) == [str(milliseconds)]
        assert retry_after(database, call) == [None], "the next request is not throttled"
    database.faults.use(Fault("throttle", count=1))
    assert retry_after(database, call) == [None]


def test_a_whole_batch_and_a_transaction_are_told_when_to_retry(database: Database) -> None:
    puts = {"music": [{"PutRequest": {"Item": song(name)}} for name in "ab"]}
    actions = [{"Put": {"TableName": "music", "Item": song(name)}} for name in "ab"]
    faults = (
        Fault("throttle", key=song("a"), table="music", retry_after_ms=10),
        Fault("throttle", key=song("b"), table="music", retry_after_ms=20),
    )
    database.faults.use(*faults)
    assert retry_after(database, lambda client: client.batch_write_item(RequestItems=puts)) == ["20"]
    assert retry_after(database, lambda client: client.transact_write_items(TransactItems=actions)) == ["20"]
    database.faults.use(faults[0])
    assert retry_after(database, lambda client: client.batch_write_item(RequestItems=puts)) == [None]


def test_an_error_that_replaces_a_reply_asks_for_nothing(database: Database) -> None:
    database.faults.use(Fault("error", count=1), Fault("throttle", retry_after_ms=5, count=1))
    assert retry_after(database, WRITES["PutItem"]) == [None]


def test_the_header_is_sent_over_sockets(database: Database) -> None:
    database.faults.use(Fault("throttle", retry_after_ms=250))
    with connected(database.endpoint) as connection:
        connection.sendall(request("GetItem", TableName="music", Key=song("a")))
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
    assert b"\r\nx-amz-retry-after: 250\r\n" in head
