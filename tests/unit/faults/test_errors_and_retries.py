"""Internal errors before and after the commit, and what real SDK clients make of them,
of throttling and of lost replies.
"""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from hashrange.errors import ApiError, StorageError
from hashrange.faults.fault import Fault
from hashrange.testing.database import Database
from tests.unit.faults.kit import code_of, impatient, met, outcome, put_songs, refusal, song, songs

NEW = {"ConditionExpression": "attribute_not_exists(pk)"}
WRITES: dict[str, Callable[[Any], Any]] = {
    "PutItem": lambda client: client.put_item(TableName="music", Item=song("a", n={"N": "1"})),
    "UpdateItem": lambda client: client.update_item(
        TableName="music",
        Key=song("a"),
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    ),
    "BatchWriteItem": lambda client: client.batch_write_item(
        RequestItems={"music": [{"PutRequest": {"Item": song("a", n={"N": "1"})}}]}
    ),
    "TransactWriteItems": lambda client: client.transact_write_items(
        TransactItems=[{"Put": {"TableName": "music", "Item": song("a", n={"N": "1"})}}]
    ),
    "ExecuteStatement": lambda client: client.execute_statement(
        Statement="INSERT INTO music VALUE {'pk': 'a', 'n': 1}"
    ),
    "ExecuteTransaction": lambda client: client.execute_transaction(
        TransactStatements=[{"Statement": "INSERT INTO music VALUE {'pk': 'a', 'n': 1}"}]
    ),
}


@pytest.mark.parametrize("name", list(WRITES))
@pytest.mark.parametrize("where", [{}, {"table": "music"}, {"table": "music", "key": song("a")}])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_error_comes_before_or_after_the_commit(database: Database, name: str, where: Any, when: Any) -> None:
    database.faults.use(Fault("error", when=when, **where))
    told = refusal(WRITES[name], impatient(database))
    assert told["Error"]["Code"] == "InternalServerError"
    assert told["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert met(database) == [(1, name)]
    assert songs(database) == (set() if when == "before" else {"a"})


@pytest.mark.parametrize("name", list(WRITES))
@pytest.mark.parametrize("where", [{}, {"table": "music", "key": song("a")}])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reply_is_lost_before_or_after_the_commit(database: Database, name: str, where: Any, when: Any) -> None:
    database.faults.use(Fault("drop", when=when, **where))
    with pytest.raises(ConnectionClosedError):
        WRITES[name](impatient(database))
    assert met(database) == [(1, name)]
    assert database._process.service.faulted.replies == {}
    assert songs(database) == (set() if when == "before" else {"a"})


@pytest.mark.parametrize("when", ["before", "after"])
def test_tables_are_created_and_deleted_under_errors(database: Database, when: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", when=when, operation="DeleteTable"))
    assert code_of(client.delete_table, TableName="music") == "InternalServerError"
    assert ("music" in client.list_tables()["TableNames"]) == (when == "before")


KEYED = {"table": "music", "key": song("a")}


@pytest.mark.parametrize("where", [{}, {"table": "music"}, KEYED])
@pytest.mark.parametrize("kind", ["error", "drop"])
def test_a_refused_request_meets_no_fault_after_it(database: Database, where: Any, kind: Any) -> None:
    client = impatient(database)
    put_songs(client, "a")
    database.faults.use(Fault(kind, when="after", count=1, **where))
    check = {"TableName": "music", "Key": song("a"), "ConditionExpression": "attribute_not_exists(pk)"}
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: client.put_item(TableName="music", Item=song("a"), **NEW), "ConditionalCheckFailedException"),
        (lambda: client.put_item(TableName="music", Item={"x": {"S": "1"}}), "ValidationException"),
        (lambda: client.put_item(TableName="none", Item=song("a")), "ResourceNotFoundException"),
        (
            lambda: client.transact_write_items(
                TransactItems=[{"ConditionCheck": check}, {"Put": {"TableName": "music", "Item": song("b")}}]
            ),
            "TransactionCanceledException",
        ),
        (
            lambda: client.execute_statement(Statement="INSERT INTO music VALUE {'pk': 'a'}"),
            "DuplicateItemException",
        ),
    ]
    for call, code in refused:
        assert code_of(call) == code
    assert met(database) == []
    with pytest.raises((ClientError, ConnectionClosedError)):
        client.put_item(TableName="music", Item=song("a", n={"N": "1"}))
    assert met(database) == [(1, "PutItem")]
    assert client.get_item(TableName="music", Key=song("a"))["Item"]["n"] == {"N": "1"}
    assert database._process.service.faulted.replies == {}


@pytest.mark.parametrize("where", [{}, KEYED])
def test_a_request_that_another_fault_refuses_meets_none_after_it(database: Database, where: Any) -> None:
    client = impatient(database)
    for other, code in ((Fault("error"), "InternalServerError"), (Fault("throttle"), "ThrottlingException")):
        database.faults.use(other, Fault("error", when="after", **where), Fault("drop", when="after", **where))
        assert code_of(put_songs, client, "a") == code
        assert [one.fault for one in database.faults.report] == [1]


def test_nothing_is_kept_of_a_request_that_fails(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_members: Any) -> Any:
        raise StorageError("the disk is gone")

    database.faults.use(Fault("error", when="after"), Fault("slow", seconds=0))
    service = database._process.service
    monkeypatch.setattr(service.store, "mutate", fail)
    assert code_of(put_songs, impatient(database), "a") == "InternalServerError"
    assert [one.fault for one in database.faults.report] == [2]
    assert (service.faulted.replies, service.faulted._after) == ({}, {})


@pytest.mark.parametrize("where", [{}, KEYED])
def test_reads_and_statements_meet_faults_after_they_are_done(database: Database, where: Any) -> None:
    client = impatient(database)
    put_songs(client, "a")
    text = "SELECT * FROM music WHERE pk = 'a'"
    calls: list[Callable[[], Any]] = [
        lambda: client.get_item(TableName="music", Key=song("a")),
        lambda: client.get_item(TableName="music", Key=song("a"), ConsistentRead=True),
        lambda: client.query(
            TableName="music",
            KeyConditionExpression="pk = :k",
            ExpressionAttributeValues={":k": {"S": "a"}},
        ),
        lambda: client.execute_statement(Statement=text),
        lambda: client.execute_transaction(TransactStatements=[{"Statement": text}]),
        lambda: client.transact_get_items(TransactItems=[{"Get": {"TableName": "music", "Key": song("a")}}]),
    ]
    for call in calls:
        database.faults.use(Fault("error", when="after", **where))
        assert code_of(call) == "InternalServerError"
        assert len(database.faults.report) == 1


def test_a_call_with_values_meets_the_same_faults(database: Database) -> None:
    def put(key: str) -> Any:
        return database._process.call("000000000000", "us-east-1", "PutItem", {"TableName": "music", "Item": song(key)})

    for fault, code in ((Fault("throttle"), "ThrottlingException"), (Fault("error"), "InternalServerError")):
        database.faults.use(fault)
        with pytest.raises(ApiError) as caught:
            put("refused")
        assert caught.value.code == code
    database.faults.use(Fault("error", when="after"))
    with pytest.raises(ApiError):
        put("hidden")
    for lost in (Fault("drop", when="after"), Fault("half-reply")):
        database.faults.use(lost)
        with pytest.raises(ConnectionError):
            put(lost.kind)
    assert songs(database) == {"hidden", "drop", "half-reply"}


# --- clients that retry -----------------------------------------------------------------------------


def retrying(database: Database, mode: str) -> Any:
    return database.client(config=Config(retries={"mode": mode, "total_max_attempts": 6}))


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow at once; botocore otherwise waits for some random time."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("botocore.retries.standard.time.sleep", lambda seconds: None)


ALL_RETRIED = [
    Fault("throttle", count=3),
    Fault("throttle", count=3, exception="ProvisionedThroughputExceededException"),
    Fault("throttle", count=3, exception="RequestLimitExceeded"),
    Fault("error", count=3),
    Fault("error", count=3, when="after"),
    Fault("drop", count=3),
    Fault("drop", count=3, when="after"),
    Fault("half-reply", count=3),
]


@pytest.mark.parametrize("mode", ["legacy", "standard"])
@pytest.mark.parametrize("fault", ALL_RETRIED, ids=lambda fault: f"{fault.kind}-{fault.exception or fault.when}")
@pytest.mark.usefixtures("no_waiting")
def test_sdks_retry_until_it_succeeds(database: Database, mode: str, fault: Fault) -> None:
    client = retrying(database, mode)
    database.faults.use(fault)
    if (mode, fault.exception) == ("legacy", "RequestLimitExceeded"):
        assert code_of(put_songs, client, "a") == "RequestLimitExceeded"  # retried in the standard mode only
        return
    reply = client.put_item(TableName="music", Item=song("a"))
    assert reply["ResponseMetadata"]["RetryAttempts"] == 3
    assert met(database) == [(1, "PutItem")] * 3
    assert songs(database) == {"a"}


def test_botocore_waits_as_the_reply_asks_and_sends_a_request_four_times(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/testing/faults.md says: pauses of up to 1, 2 and 4 s, or up to 5 s more if the reply asks for it."""
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    database.faults.use(Fault("throttle", retry_after_ms=86_400_000))
    assert code_of(put_songs, database.client(), "a") == "ThrottlingException"
    assert len(database.faults.report) == 4
    assert [5 <= pause <= 5 + most for pause, most in zip(pauses, (1, 2, 4), strict=True)] == [True] * 3
    pauses.clear()
    database.faults.use(Fault("throttle", count=3))
    put_songs(database.client(), "b")
    assert [pause <= most for pause, most in zip(pauses, (1, 2, 4), strict=True)] == [True] * 3


@pytest.mark.usefixtures("no_waiting")
def test_sdks_give_up_in_the_end(database: Database) -> None:
    client = retrying(database, "standard")
    database.faults.use(Fault("throttle"))
    assert code_of(put_songs, client, "a") == "ThrottlingException"
    assert len(database.faults.report) == 6
    database.faults.use(Fault("drop"))
    with pytest.raises(ConnectionClosedError):
        put_songs(client, "a")
    assert len(database.faults.report) == 6


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("fault", [Fault("error", when="after", count=1), Fault("drop", when="after", count=1)])
def test_the_retry_of_a_conditional_write_meets_its_own_first_attempt(database: Database, fault: Fault) -> None:
    """The client is told that its condition failed, though it was its own write that made it so."""
    client = retrying(database, "standard")
    database.faults.use(fault)
    assert outcome(client.put_item, TableName="music", Item=song("a"), **NEW) == "ConditionalCheckFailedException"
    assert songs(database) == {"a"}


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("fault", [Fault("error", when="after", count=1), Fault("drop", when="after", count=1)])
def test_the_retry_of_an_addition_adds_twice_but_a_transaction_adds_once(database: Database, fault: Fault) -> None:
    client = retrying(database, "standard")
    add = {
        "TableName": "music",
        "Key": song("a"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }

    def counted() -> Any:
        found = client.get_item(TableName="music", Key=song("a"), ConsistentRead=True)["Item"]["n"]["N"]
        return int(found)

    database.faults.use(fault)
    client.update_item(**add)
    assert counted() == 2
    database.faults.use(fault)
    client.transact_write_items(TransactItems=[{"Update": add}])
    assert len(database.faults.report) == 1
    assert counted() == 3


@pytest.mark.usefixtures("no_waiting")
def test_conflicts_and_cancelled_transactions_are_not_retried(database: Database) -> None:
    """They are left to the application."""
    client = retrying(database, "standard")
    database.faults.use(Fault("conflict"))
    with pytest.raises(ClientError):
        put_songs(client, "a")
    assert len(database.faults.report) == 1
    database.faults.use(Fault("throttle"))
    with pytest.raises(client.exceptions.TransactionCanceledException):
        WRITES["TransactWriteItems"](client)
    assert len(database.faults.report) == 1


@pytest.mark.usefixtures("no_waiting")
def test_a_paginator_and_a_waiter_go_on_through_faults(database: Database) -> None:
    client = retrying(database, "standard")
    put_songs(client, *"abcdefgh")
    database.faults.use(Fault("throttle", share=0.4), Fault("drop", operation="Scan", share=0.2, count=5), seed=2)
    pages = client.get_paginator("scan").paginate(TableName="music", PaginationConfig={"PageSize": 1})
    assert sorted(item["pk"]["S"] for page in pages for item in page["Items"]) == list("abcdefgh")
    assert len(database.faults.report) > 3
