"""Transactions under faults: cancellation reasons, errors of the whole, replays,
and conflicts of requests that come close together.
"""

from typing import Any

import pytest

from hashrange.faults import remembered
from hashrange.faults.fault import Fault
from hashrange.testing.database import Database
from tests.unit.faults.kit import code_of, impatient, message, met, outcome, put_songs, refusal, song, songs

CONFLICT = "Transaction is ongoing for the item"


def write_all(client: Any, *keys: str, **members: Any) -> Any:
    """Write songs as one."""
    puts = [{"Put": {"TableName": "music", "Item": song(key)}} for key in keys]
    return client.transact_write_items(TransactItems=puts, **members)


def read_all(client: Any, *keys: str) -> Any:
    """Read songs as one."""
    return client.transact_get_items(TransactItems=[{"Get": {"TableName": "music", "Key": song(key)}} for key in keys])


def insert_all(client: Any, *keys: str, **members: Any) -> Any:
    """Insert songs as one, with statements."""
    statements = [{"Statement": f"INSERT INTO music VALUE {{'pk': '{key}'}}"} for key in keys]
    return client.execute_transaction(TransactStatements=statements, **members)


def select_all(client: Any, *keys: str) -> Any:
    """Read songs as one, with statements."""
    statements = [{"Statement": f"SELECT * FROM music WHERE pk = '{key}'"} for key in keys]
    return client.execute_transaction(TransactStatements=statements)


def reasons_of(told: Any) -> list[tuple[str, str | None]]:
    return [(reason["Code"], reason.get("Message")) for reason in told["CancellationReasons"]]


@pytest.mark.parametrize("run", [write_all, read_all, insert_all, select_all])
def test_a_cancelled_transaction_lists_the_fault_of_each_action(database: Database, run: Any) -> None:
    client = impatient(database)
    database.faults.use(
        Fault("throttle", table="music", key=song("b")),
        Fault("conflict", table="music", key=song("c")),
        Fault("throttle", table="music", key=song("d"), exception="ProvisionedThroughputExceededException"),
    )
    told = refusal(run, client, *"abcde")
    assert told["Error"]["Code"] == "TransactionCanceledException"
    codes, messages = zip(*reasons_of(told), strict=True)
    assert codes == ("None", "ThrottlingError", "TransactionConflict", "ProvisionedThroughputExceeded", "None")
    assert messages[1].startswith("Throughput exceeds the current capacity of your table or index.")
    assert messages[2] == CONFLICT
    assert messages[3].startswith("The level of configured provisioned throughput for the table was exceeded.")
    assert told["Error"]["Message"].endswith(
        "[None, ThrottlingError, TransactionConflict, ProvisionedThroughputExceeded, None]"
    )
    assert all(set(reason) <= {"Code", "Message"} for reason in told["CancellationReasons"])
    assert songs(database) == set()


@pytest.mark.parametrize("run", [write_all, read_all, insert_all, select_all])
def test_some_faults_fail_the_whole_transaction(database: Database, run: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", table="music", key=song("b"), exception="RequestLimitExceeded"))
    told = refusal(run, client, *"abc")
    assert told["Error"]["Code"] == "RequestLimitExceeded"
    assert told["ThrottlingReasons"][0]["reason"].endswith("AccountLimitExceeded")
    database.faults.use(Fault("error", table="music", key=song("b")))
    assert code_of(run, client, *"abc") == "InternalServerError"
    assert songs(database) == set()


@pytest.mark.parametrize("run", [write_all, insert_all])
def test_an_error_after_the_commit_hides_that_it_took_place(database: Database, run: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", table="music", key=song("b"), when="after"))
    assert code_of(run, client, *"abc") == "InternalServerError"
    assert songs(database) == set("abc")


def test_a_read_may_fail_after_it_was_done(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", table="music", key=song("b"), when="after"))
    assert code_of(read_all, client, *"abc") == "InternalServerError"
    assert code_of(select_all, client, *"abc") == "InternalServerError"


def test_failed_conditions_and_faults_are_listed_together(database: Database) -> None:
    client = impatient(database)
    put_songs(client, "a")
    database.faults.use(Fault("conflict", table="music", key=song("b")))
    puts = [
        {"Put": {"TableName": "music", "Item": song(key), "ConditionExpression": "attribute_not_exists(pk)"}}
        for key in "abc"
    ]
    told = refusal(client.transact_write_items, TransactItems=puts)
    assert [code for code, _ in reasons_of(told)] == ["ConditionalCheckFailed", "TransactionConflict", "None"]


@pytest.mark.parametrize("run", [write_all, insert_all])
@pytest.mark.parametrize(
    "fault",
    [
        Fault("throttle", table="music", key=song("a")),
        Fault("conflict", table="music", key=song("a")),
        Fault("error", table="music", key=song("a")),
        Fault("error", table="music", key=song("a"), when="after"),
    ],
)
def test_a_repeated_transaction_that_took_place_meets_no_faults(database: Database, run: Any, fault: Fault) -> None:
    """Otherwise a client that lost the reply would learn that its transaction was cancelled."""
    client = impatient(database)
    run(client, "a", "b", ClientRequestToken="once")
    database.faults.use(fault)
    run(client, "a", "b", ClientRequestToken="once")
    assert met(database) == []
    database.faults.clear()
    for key in "ab":
        client.delete_item(TableName="music", Key=song(key))
    database.faults.use(fault)
    assert outcome(run, client, "a", "b", ClientRequestToken="twice") != "done"
    assert len(met(database)) == 1


def test_a_lost_reply_and_a_repeat_are_one_transaction(database: Database) -> None:
    database.faults.use(Fault("error", when="after", count=2), Fault("conflict", seconds=60))
    write_all(database.client(), "a", "b")  # the SDK makes a token, and repeats the request
    assert met(database) == [(1, "TransactWriteItems")] * 2
    assert songs(database) == {"a", "b"}


# --- conflicts within some seconds ------------------------------------------------------------------


def run_named(client: Any, name: str) -> str:
    """Carry out a request that names the song `a`; returns its outcome, of a cancelled one the reason's code."""
    calls: dict[str, Any] = {
        "put": lambda: client.put_item(TableName="music", Item=song("a")),
        "batch": lambda: client.batch_write_item(RequestItems={"music": [{"PutRequest": {"Item": song("a")}}]}),
        "statement": lambda: client.execute_statement(Statement="UPDATE music SET n = 1 WHERE pk = 'a'"),
        "transaction": lambda: write_all(client, "a", "b"),
        "check": lambda: client.transact_write_items(
            TransactItems=[
                {
                    "ConditionCheck": {
                        "TableName": "music",
                        "Key": song("a"),
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                }
            ]
        ),
        "statements": lambda: client.execute_transaction(
            TransactStatements=[{"Statement": "UPDATE music SET n = 1 WHERE pk = 'a'"}]
        ),
        "get": lambda: client.get_item(TableName="music", Key=song("a"), ConsistentRead=True),
        "scan": lambda: client.scan(TableName="music"),
        "reading transaction": lambda: read_all(client, "a"),
        "reading statements": lambda: select_all(client, "a"),
        "refused put": lambda: outcome(
            client.put_item, TableName="music", Item=song("a"), ConditionExpression="attribute_not_exists(pk)"
        ),
        "other item": lambda: write_all(client, "z"),
    }
    try:
        reply = calls[name]()
    except client.exceptions.TransactionCanceledException as error:
        return str(error.response["CancellationReasons"][0]["Code"])
    except client.exceptions.TransactionConflictException:
        return "TransactionConflict"
    return "unprocessed" if isinstance(reply, dict) and reply.get("UnprocessedItems") else "done"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("transaction", "put", "TransactionConflict"),
        ("transaction", "statement", "TransactionConflict"),
        ("transaction", "batch", "unprocessed"),
        ("transaction", "transaction", "TransactionConflict"),
        ("transaction", "check", "TransactionConflict"),
        ("transaction", "statements", "TransactionConflict"),
        ("transaction", "reading transaction", "TransactionConflict"),
        ("transaction", "get", "done"),
        ("transaction", "scan", "done"),
        ("transaction", "other item", "done"),
        ("check", "put", "TransactionConflict"),
        ("statements", "put", "TransactionConflict"),
        ("put", "transaction", "TransactionConflict"),
        ("batch", "transaction", "TransactionConflict"),
        ("statement", "transaction", "TransactionConflict"),
        ("put", "reading transaction", "TransactionConflict"),
        ("put", "put", "done"),
        ("put", "batch", "done"),
        ("put", "statement", "done"),
        ("batch", "put", "done"),
        ("get", "transaction", "done"),
        ("scan", "transaction", "done"),
        ("reading transaction", "transaction", "TransactionConflict"),
        ("reading transaction", "statements", "TransactionConflict"),
        ("reading transaction", "put", "TransactionConflict"),
        ("reading transaction", "batch", "unprocessed"),
        ("reading transaction", "get", "done"),
        ("reading transaction", "reading transaction", "done"),
        ("reading statements", "put", "TransactionConflict"),
        ("reading statements", "reading transaction", "done"),
        ("statements", "reading statements", "TransactionConflict"),
        ("put", "get", "done"),
        ("other item", "put", "done"),
    ],
)
def test_requests_for_one_item_are_in_conflict_if_one_is_a_transaction_and_one_writes(
    database: Database, first: str, second: str, expected: str
) -> None:
    client = impatient(database)
    put_songs(client, "a")
    database.clock.freeze()
    database.faults.use(Fault("conflict", seconds=5))
    assert run_named(client, first) == "done"
    database.clock.advance(4)
    assert run_named(client, second) == expected
    database.clock.advance(6)
    assert run_named(client, second) == "done"


def test_a_transaction_is_in_the_way_however_often_the_item_was_named_since(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("conflict", seconds=60, skip=1))
    outcomes = [run_named(client, name) for name in ("transaction", "put", "put")]
    assert outcomes == ["done", "done", "TransactionConflict"]
    database.faults.use(Fault("conflict", seconds=60, skip=1))
    outcomes = [run_named(client, name) for name in ("put", "reading transaction", "reading transaction", "put")]
    assert outcomes == ["done", "done", "TransactionConflict", "TransactionConflict"]


def test_a_refused_transaction_is_in_nobodys_way(database: Database) -> None:
    """A client that repeats its transaction must not be in conflict with its own attempts."""
    client = impatient(database)
    database.clock.freeze()
    database.faults.use(Fault("conflict", seconds=5))
    put_songs(client, "a")
    outcomes = []
    for _ in range(4):
        outcomes.append(run_named(client, "transaction"))
        database.clock.advance(2)
    assert outcomes == ["TransactionConflict"] * 3 + ["done"]


def test_zero_seconds_is_the_same_moment(database: Database) -> None:
    client = impatient(database)
    database.clock.freeze()
    database.faults.use(Fault("conflict", seconds=0))
    assert [run_named(client, name) for name in ("put", "transaction", "other item", "transaction")] == [
        "done",
        "TransactionConflict",
        "done",
        "TransactionConflict",
    ]
    database.clock.advance(0.001)
    assert run_named(client, "transaction") == "done"


def test_one_conflict_within_seconds_does_not_change_another_without(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("conflict", table="music", seconds=60), Fault("conflict", table="chat"))
    assert outcome(client.put_item, TableName="chat", Item=message("r", 1)) == "TransactionConflictException"
    put_songs(client, "a", "a")
    assert met(database) == [(2, "PutItem")]


def test_share_and_count_are_of_requests_that_are_close(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("conflict", seconds=60, skip=1, count=1))
    put_songs(client, "a")
    outcomes = [run_named(client, name) for name in ("transaction", "put", "put", "put")]
    assert outcomes == ["done", "TransactionConflict", "done", "done"]


def test_a_refused_reading_transaction_is_in_nobodys_way(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("conflict", seconds=60), Fault("throttle", operation="TransactGetItems"))
    assert run_named(client, "reading transaction") == "ThrottlingError"
    assert run_named(client, "put") == "done"


def test_the_items_named_last_are_remembered(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "RECENT_MAX", 10)
    client = impatient(database)
    database.faults.use(Fault("conflict", seconds=3600))
    write_all(client, "first")
    write_all(client, "second")
    put_songs(client, *"abcdefghi")
    assert outcome(put_songs, client, "second") == "TransactionConflictException"
    assert outcome(put_songs, client, "first") == "done"
