"""Each kind of fault, as an application in the same process meets it:
which error, what has been done, and what is reported.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from hashrange.faults.fault import Fault, FaultsError
from hashrange.testing.database import Database, server

ONCE = Config(retries={"total_max_attempts": 1})
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music"


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        make_table(database)
        yield database


def make_table(database: Database, name: str = "music", **members: Any) -> None:
    wanted = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }
    database.client().create_table(**wanted)


def impatient(database: Database) -> Any:
    """A client that does not retry."""
    return database.client(config=ONCE)


def put(client: Any, key: str, **attributes: Any) -> None:
    client.put_item(TableName="music", Item={"pk": {"S": key}, **attributes})


def is_there(database: Database, key: str) -> bool:
    database.faults.clear()
    return "Item" in database.client().get_item(TableName="music", Key={"pk": {"S": key}}, ConsistentRead=True)


def refusal(call: Any, *arguments: Any, **members: Any) -> Any:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **members)
    return caught.value.response


@pytest.mark.parametrize(
    ("fault", "code", "member", "reason"),
    [
        (Fault("throttle"), "ThrottlingException", "throttlingReasons", "TableWriteKeyRangeThroughputExceeded"),
        (
            Fault("throttle", exception="ProvisionedThroughputExceededException"),
            "ProvisionedThroughputExceededException",
            "ThrottlingReasons",
            "TableWriteProvisionedThroughputExceeded",
        ),
        (
            Fault("throttle", exception="RequestLimitExceeded"),
            "RequestLimitExceeded",
            "ThrottlingReasons",
            "TableWriteAccountLimitExceeded",
        ),
        (
            Fault("throttle", reason="MaxOnDemandThroughputExceeded"),
            "ThrottlingException",
            "throttlingReasons",
            "TableWriteMaxOnDemandThroughputExceeded",
        ),
    ],
)
def test_a_throttled_write_has_the_services_error(
    database: Database, fault: Fault, code: str, member: str, reason: str
) -> None:
    database.faults.use(fault)
    told = refusal(put, impatient(database), "a")
    assert told["Error"]["Code"] == code
    assert told[member] == [{"reason": reason, "resource": ARN}]
    assert not is_there(database, "a")


def test_an_sdk_retries_until_the_fault_has_been_met_often_enough(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # botocore waits for some random time
    database.faults.use(Fault("throttle", count=2))
    put(database.client(), "a")
    assert [met.operation for met in database.faults.report] == ["PutItem", "PutItem"]
    assert is_there(database, "a")


def test_batches_leave_what_is_throttled_and_fail_if_all_is(database: Database) -> None:
    client = impatient(database)
    puts = [{"PutRequest": {"Item": {"pk": {"S": str(number)}}}} for number in range(10)]
    keys = [{"pk": {"S": str(number)}} for number in range(10)]
    database.faults.use(Fault("throttle", share=0.5), seed=3)
    left = client.batch_write_item(RequestItems={"music": puts})["UnprocessedItems"]["music"]
    assert 0 < len(left) < 10
    assert len(left) == len(database.faults.report)
    reply = client.batch_get_item(RequestItems={"music": {"Keys": keys}})
    assert 0 < len(reply["UnprocessedKeys"]["music"]["Keys"]) < 10
    database.faults.use(Fault("throttle"))
    for call, wanted in ((client.batch_write_item, puts), (client.batch_get_item, {"Keys": keys})):
        assert refusal(call, RequestItems={"music": wanted})["Error"]["Code"] == "ThrottlingException"
    database.faults.use(Fault("unprocessed"))
    assert client.batch_write_item(RequestItems={"music": puts})["UnprocessedItems"] == {"music": puts}
    assert client.batch_get_item(RequestItems={"music": {"Keys": keys}})["UnprocessedKeys"]["music"]["Keys"] == keys
    put(client, "alone")


def test_transactions_name_the_action_that_is_throttled_or_in_conflict(database: Database) -> None:
    client = impatient(database)
    puts = [{"Put": {"TableName": "music", "Item": {"pk": {"S": key}}}} for key in "abc"]
    database.faults.use(
        Fault("throttle", table="music", key={"pk": {"S": "b"}}),
        Fault("conflict", table="music", key={"pk": {"S": "c"}}),
    )
    told = refusal(client.transact_write_items, TransactItems=puts)
    assert [reason["Code"] for reason in told["CancellationReasons"]] == [
        "None",
        "ThrottlingError",
        "TransactionConflict",
    ]
    database.faults.use(Fault("throttle", exception="RequestLimitExceeded"))
    assert refusal(client.transact_write_items, TransactItems=puts)["Error"]["Code"] == "RequestLimitExceeded"
    assert not is_there(database, "a")


def test_a_conflict_needs_a_transaction_close_by(database: Database) -> None:
    client = impatient(database)
    transaction = [{"Put": {"TableName": "music", "Item": {"pk": {"S": "a"}}}}]
    database.clock.freeze()
    database.faults.use(Fault("conflict", seconds=5))
    put(client, "a")
    put(client, "a")
    assert (
        refusal(client.transact_write_items, TransactItems=transaction)["Error"]["Code"]
        == "TransactionCanceledException"
    )
    database.clock.advance(6)
    client.transact_write_items(TransactItems=transaction)
    assert refusal(put, client, "a")["Error"]["Code"] == "TransactionConflictException"
    database.clock.advance(6)
    put(client, "a")


@pytest.mark.parametrize("key", [None, {"pk": {"S": "a"}}])
@pytest.mark.parametrize(("kind", "error"), [("error", ClientError), ("drop", ConnectionClosedError)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_errors_and_lost_replies_before_and_after_the_commit(
    database: Database, kind: Any, error: type[Exception], when: Any, key: Any
) -> None:
    database.faults.use(Fault(kind, operation="PutItem", table="music", when=when, key=key, count=1))
    with pytest.raises(error):
        put(impatient(database), "a")
    assert [met.kind for met in database.faults.report] == [kind]
    assert is_there(database, "a") == (when == "after")


def test_half_a_reply_is_a_lost_reply(database: Database) -> None:
    database.faults.use(Fault("half-reply", count=1))
    with pytest.raises(ConnectionClosedError):
        impatient(database).list_tables()
    assert impatient(database).list_tables()["TableNames"] == ["music"]


def test_a_partition_key_names_all_its_items_and_other_spellings_of_a_number(database: Database) -> None:
    make_table(
        database,
        "plays",
        KeySchema=[{"AttributeName": "song", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "song", "AttributeType": "N"},
            {"AttributeName": "at", "AttributeType": "N"},
        ],
    )
    client = impatient(database)
    database.faults.use(Fault("throttle", table="plays", key={"song": {"N": "1.0"}}))
    for at in "12":
        refusal(client.put_item, TableName="plays", Item={"song": {"N": "1"}, "at": {"N": at}})
    client.put_item(TableName="plays", Item={"song": {"N": "2"}, "at": {"N": "1"}})
    members: dict[str, Any] = {
        "TableName": "plays",
        "KeyConditionExpression": "song = :s",
        "ExpressionAttributeValues": {":s": {"N": "1"}},
    }
    assert refusal(client.query, **members)["Error"]["Code"] == "ThrottlingException"
    members["ExpressionAttributeValues"] = {":s": {"N": "2"}}
    assert client.query(**members)["Count"] == 1
    assert client.scan(TableName="plays")["Count"] == 1


def test_stale_reads_show_what_was(database: Database) -> None:
    client = database.client()
    for key in ("changed", "deleted"):
        put(client, key, n={"N": "1"})
    database.clock.freeze()
    database.clock.advance(10)
    database.faults.use(Fault("stale-read", seconds=5))
    put(client, "changed", n={"N": "2"})
    put(client, "new")
    client.delete_item(TableName="music", Key={"pk": {"S": "deleted"}})

    def seen(*, consistent: bool) -> dict[str, Any]:
        items = client.scan(TableName="music", ConsistentRead=consistent)["Items"]
        by_key = {item["pk"]["S"]: item.get("n", {}).get("N") for item in items}
        for key in ("changed", "deleted", "new"):
            found = client.get_item(TableName="music", Key={"pk": {"S": key}}, ConsistentRead=consistent).get("Item")
            assert (found is not None) == (key in by_key)
            assert found is None or found.get("n", {}).get("N") == by_key[key]
        return by_key

    assert seen(consistent=False) == {"changed": "1", "deleted": "1"}
    assert seen(consistent=True) == {"changed": "2", "new": None}
    database.clock.advance(6)
    assert seen(consistent=False) == seen(consistent=True)


def test_states_last_and_records_come_late(database: Database) -> None:
    client, streams = database.client(), database.client("dynamodbstreams")
    database.clock.freeze()
    database.faults.use(Fault("table-states", table="songs", seconds=30), Fault("late-records", seconds=60))
    make_table(database, "songs", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    assert client.describe_table(TableName="songs")["Table"]["TableStatus"] == "CREATING"
    database.clock.advance(31)
    described = client.describe_table(TableName="songs")["Table"]
    assert described["TableStatus"] == "ACTIVE"
    client.put_item(TableName="songs", Item={"pk": {"S": "a"}})
    arn = described["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    found = []
    for _ in range(3):
        reply = streams.get_records(ShardIterator=iterator)
        iterator = reply["NextShardIterator"]
        found.append(len(reply["Records"]))
        database.clock.advance(31)
    assert found == [0, 0, 1]


@pytest.mark.parametrize("seed", [None, [], 1.5, "\ud800", 10**5_000], ids=range(5))
def test_a_seed_that_is_none(database: Database, seed: Any) -> None:
    with pytest.raises(FaultsError, match="seed"):
        database.faults.use(Fault("throttle"), seed=seed)


def test_the_same_seed_gives_the_same_report(database: Database) -> None:
    client = impatient(database)

    def run(seed: int) -> list[tuple[int, str]]:
        database.faults.use(
            Fault("throttle", share=0.3), Fault("error", operation="GetItem", share=0.5, skip=3), seed=seed
        )
        for number in range(40):
            for call in (
                lambda key: put(client, key),
                lambda key: client.get_item(TableName="music", Key={"pk": {"S": key}}),
            ):
                try:
                    call(str(number))
                except ClientError:
                    pass
        return [(met.fault, met.operation) for met in database.faults.report]

    assert run(1) == run(1) != run(2)


def test_without_faults_everything_is_as_before(database: Database) -> None:
    service = database._process.service
    client = impatient(database)
    put(client, "a")
    scope = service.scope("000000000000", "us-east-1")
    real = scope.store
    with database.faults.during(Fault("throttle")):
        refusal(put, client, "a")
        assert scope.store is not real
    assert scope.store is real
    assert "_begin" not in vars(service)
    put(client, "a")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("throttle", operation="Put"), "fault 1: there is no operation Put."),
        (Fault("slow"), 'fault 1: the kind "slow" needs the member seconds.'),
        (Fault("index-lag", seconds=1, table="music"), 'fault 1: the kind "index-lag" has no member table'),
        (Fault("error", key={"pk": {"S": "a"}}), "fault 1: the member key needs the member table."),
        (Fault("throttle", index="by"), "fault 1: the member index needs the member table"),
    ],
)
def test_a_fault_that_cannot_be_met_is_refused(database: Database, fault: Fault, message: str) -> None:
    with pytest.raises(FaultsError, match=message.split("(", maxsplit=1)[0]):
        database.faults.use(fault)
