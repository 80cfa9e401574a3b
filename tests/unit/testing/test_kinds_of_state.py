"""Every kind of state is copied by snapshots and forks, restored, and emptied by a reset;
a kind that nobody has listed here fails.

The lists are complete if each row kind of the storage format, and each attribute of a service, is named by them.
"""

import io
import random
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pytest

from hashrange.functions.feature import FUNCTIONS
from hashrange.settings import Settings
from hashrange.store.embedded import layout
from hashrange.testing import Database, Fault, server
from tests.support.function_servers import zip_of
from tests.unit.throughput.admin import buckets_of, set_throughput

SETTINGS = Settings(data_dir=None, functions=True, admin=True, kinesis_endpoint="http://127.0.0.1:9")
HOUR_SECONDS = 3600
KINESIS_ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/plays"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music"


_clients: "WeakKeyDictionary[Database, dict[str, Any]]" = WeakKeyDictionary()


def client_of(database: Database, service: str = "dynamodb") -> Any:
    """A client of this database: the same each time, because making one takes longer than most requests."""
    clients = _clients.setdefault(database, {})
    if service not in clients:
        clients[service] = database.client(service)
    return clients[service]


class Kind(NamedTuple):
    """One kind of state: how it is made, and how it is seen by a client."""

    make: Callable[[Database], object]
    look: Callable[[Database], Any]
    rows: tuple[str, ...] = ()
    """Names of the constants of `layout` whose rows hold it."""
    attributes: tuple[str, ...] = ()
    """Attributes of the service that hold it."""


def transact(database: Database) -> None:
    put = {"TableName": "music", "Item": {"pk": {"S": "once"}, "n": {"N": "1"}}}
    client_of(database).transact_write_items(TransactItems=[{"Put": put}], ClientRequestToken="token")


def is_token_known(database: Database) -> bool:
    """True if the token's transaction is not carried out again."""
    client = client_of(database)
    client.delete_item(TableName="music", Key={"pk": {"S": "once"}})
    transact(database)
    return "Item" not in client.get_item(TableName="music", Key={"pk": {"S": "once"}})


def records(database: Database) -> list[Any]:
    streams = client_of(database, "dynamodbstreams")
    found = []
    for stream in streams.list_streams()["Streams"]:
        arn = stream["StreamArn"]
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            found += [
                record["dynamodb"]["SequenceNumber"]
                for record in streams.get_records(ShardIterator=iterator)["Records"]
            ]
    return found


def expire(database: Database) -> None:
    client = client_of(database)
    client.update_time_to_live(TableName="music", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    database.clock.advance(0)
    item = {"pk": {"S": "short"}, "ttl": {"N": str(int(database.clock.now()) + HOUR_SECONDS)}}
    client.put_item(TableName="music", Item=item)


def expires(database: Database) -> bool:
    """True if the item is there, and is deleted once its time is over."""
    client = client_of(database)
    if "Item" not in client.get_item(TableName="music", Key={"pk": {"S": "short"}}):
        return False
    database.clock.advance(2 * HOUR_SECONDS)
    return "Item" not in client.get_item(TableName="music", Key={"pk": {"S": "short"}})


def freeze_ahead(database: Database) -> None:
    database.clock.advance(9e6)
    database.clock.freeze()


def by_index(database: Database) -> list[Any]:
    reply = client_of(database).query(
        TableName="music",
        IndexName="by_n",
        KeyConditionExpression="n = :n",
        ExpressionAttributeValues={":n": {"N": "7"}},
    )
    return list(reply["Items"])


def lag(database: Database) -> None:
    """Leave an index entry waiting."""
    database.faults.use(Fault("index-lag", seconds=HOUR_SECONDS))
    client_of(database).put_item(TableName="music", Item={"pk": {"S": "late"}, "n": {"N": "7"}})
    assert by_index(database) == []


def arrives(database: Database) -> bool:
    """True if the index entry is not there yet, and is there later."""
    if by_index(database):
        return False
    database.clock.advance(2 * HOUR_SECONDS)
    return bool(by_index(database))


def create_function(database: Database) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as file:
        file.writestr("player.py", "def play(event, context): ...")
        file.writestr("data", random.Random(1).randbytes(2 * layout.DOCUMENT_ROW_BYTES_MAX))
    client_of(database, "lambda").create_function(
        FunctionName="play",
        Runtime="python3.12",
        Handler="player.play",
        Role="arn:aws:iam::000000000000:role/player",
        Code={"ZipFile": code.getvalue()},
    )


def create_mapping(database: Database) -> None:
    """Connect the table's stream with a function."""
    create_function(database)
    stream = client_of(database).describe_table(TableName="music")["Table"]["LatestStreamArn"]
    client_of(database, "lambda").create_event_source_mapping(
        EventSourceArn=stream, FunctionName="play", StartingPosition="TRIM_HORIZON"
    )


def deliver(database: Database) -> None:
    """Let a record be delivered."""
    create_mapping(database)
    client_of(database).put_item(TableName="music", Item={"pk": {"S": "a"}})
    database.clock.advance(0)


def queue_event(database: Database) -> None:
    """Let an asynchronous invocation fail once; it waits for its second try."""
    create_function(database)
    client = client_of(database, "lambda")
    client.update_function_code(FunctionName="play", ZipFile=zip_of(player_py="def play(event, context): 1 / 0"))
    client.invoke(FunctionName="play", InvocationType="Event")
    database.clock.advance(0)


def queued_events(database: Database) -> int:
    """How many asynchronous invocations wait."""
    functions = database._process.service.features.part(FUNCTIONS)
    return int(database._process.run(lambda: functions.events.count))


PLACE = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/scaled",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}


def register_target(database: Database) -> None:
    client_of(database).create_table(
        TableName="scaled",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    )
    client_of(database, "application-autoscaling").register_scalable_target(**PLACE, MinCapacity=2, MaxCapacity=9)


def targets(database: Database) -> list[tuple[int, int]]:
    found = client_of(database, "application-autoscaling").describe_scalable_targets(ServiceNamespace="dynamodb")
    return [(one["MinCapacity"], one["MaxCapacity"]) for one in found["ScalableTargets"]]


def recovery(database: Database) -> tuple[str, Any]:
    described = client_of(database).describe_continuous_backups(TableName="music")["ContinuousBackupsDescription"]
    one = described["PointInTimeRecoveryDescription"]
    return one["PointInTimeRecoveryStatus"], one.get("EarliestRestorableDateTime")


KINDS = {
    "tables": Kind(
        lambda db: None,
        lambda db: client_of(db).describe_table(TableName="music")["Table"]["TableId"],
        ("CATALOG_PREFIX", "NEXT_TABLE_ID_KEY", "COUNTER_PREFIX", "PARTITION_PREFIX", "FORMAT_KEY"),
    ),
    "items": Kind(
        lambda db: client_of(db).put_item(TableName="music", Item={"pk": {"S": "a"}, "n": {"N": "7"}}),
        lambda db: (
            client_of(db).scan(TableName="music")["Items"],
            client_of(db).describe_table(TableName="music")["Table"]["ItemCount"],
        ),
        ("STATISTICS_PREFIX", "AHEAD_KEY"),
    ),
    "index entries": Kind(
        lambda db: client_of(db).put_item(TableName="music", Item={"pk": {"S": "a"}, "n": {"N": "7"}}),
        by_index,
        ("LATE_PREFIX",),
    ),
    "waiting index entries": Kind(lag, arrives, ("WAITING_PREFIX",)),
    "time to live": Kind(expire, expires, ("TIME_TO_LIVE_PREFIX", "BACKFILL_PREFIX")),
    "stream records": Kind(
        lambda db: client_of(db).put_item(TableName="music", Item={"pk": {"S": "a"}}),
        records,
        ("STREAM_PREFIX", "SHARD_PREFIX", "LOG_PREFIX", "NEXT_STREAM_ID_KEY", "SEQUENCE_KEY"),
    ),
    "tokens": Kind(transact, is_token_known, ("TOKEN_PREFIX", "TOKEN_EXPIRY_PREFIX")),
    "tags": Kind(
        lambda db: client_of(db).tag_resource(ResourceArn=ARN, Tags=[{"Key": "team", "Value": "red"}]),
        lambda db: client_of(db).list_tags_of_resource(ResourceArn=ARN)["Tags"],
    ),
    "functions": Kind(
        create_function,
        lambda db: [one["FunctionName"] for one in client_of(db, "lambda").list_functions()["Functions"]],
        ("DOCUMENT_PREFIX", "LONG_DOCUMENT_PREFIX", "PIECE_PREFIX"),
    ),
    "event source mappings": Kind(
        create_mapping,
        lambda db: [one["UUID"] for one in client_of(db, "lambda").list_event_source_mappings()["EventSourceMappings"]],
    ),
    "checkpoints": Kind(
        deliver,
        lambda db: [
            one["LastProcessingResult"]
            for one in client_of(db, "lambda").list_event_source_mappings()["EventSourceMappings"]
        ],
    ),
    "queued events": Kind(queue_event, queued_events),
    "Kinesis destinations": Kind(
        lambda db: client_of(db).enable_kinesis_streaming_destination(TableName="music", StreamArn=KINESIS_ARN),
        lambda db: [
            one["StreamArn"]
            for one in client_of(db).describe_kinesis_streaming_destination(TableName="music")[
                "KinesisDataStreamDestinations"
            ]
        ],
    ),
    "service time": Kind(freeze_ahead, lambda db: db.clock.now(), (), ("clock",)),
    "faults": Kind(
        lambda db: db.faults.use(Fault("error", operation="ListTables", count=2), seed=5),
        lambda db: [refused(db) for _ in range(3)],
        (),
        ("requests",),
    ),
    "terms of throughput": Kind(
        lambda db: set_throughput(db, "music", mode="enforced"),
        lambda db: buckets_of(db, "music")["mode"],
        (),
        ("features",),
    ),
    "metrics": Kind(
        lambda db: client_of(db, "cloudwatch").put_metric_data(
            Namespace="own", MetricData=[{"MetricName": "orders", "Value": 3}]
        ),
        lambda db: [one["MetricName"] for one in client_of(db, "cloudwatch").list_metrics(Namespace="own")["Metrics"]],
    ),
    "alarms": Kind(
        lambda db: client_of(db, "cloudwatch").put_composite_alarm(AlarmName="never", AlarmRule="FALSE"),
        lambda db: [
            one["AlarmName"]
            for one in client_of(db, "cloudwatch").describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
        ],
    ),
    "scalable targets": Kind(register_target, targets),
    "backups": Kind(
        lambda db: client_of(db).create_backup(TableName="music", BackupName="nightly"),
        lambda db: [one["BackupArn"] for one in client_of(db).list_backups()["BackupSummaries"]],
        ("COPY_PREFIX", "STAGED_PREFIX", "KEPT_PREFIX"),
    ),
    "point-in-time recovery": Kind(
        lambda db: client_of(db).update_continuous_backups(
            TableName="music", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        ),
        recovery,
        ("WINDOW_PREFIX",),
    ),
    "contributor insights": Kind(
        lambda db: client_of(db).update_contributor_insights(TableName="music", ContributorInsightsAction="ENABLE"),
        lambda db: client_of(db).list_contributor_insights()["ContributorInsightsSummaries"],
    ),
}
"""Kinds of state that clients can see."""

STATELESS_ROWS = {
    "PROBE_KEY": "an empty row that is written after a failure, and never read",
    "SAVED_PARTS_KEY": "says which files are right for one content of a data folder",
}
STATELESS_ATTRIBUTES = {
    "store": "holds the rows above",
    "settings": "options of the process",
    "operations": "code",
    "workers": "requests that run",
    "jobs": "find their work in the store",
    "scope": "what a request may use",
    "hints": "which hints the log has had",
    "_monotonic": "a function",
    "_position": "a function",
    "_durable_position": "a function",
    "_counters": "counts of the tests that run",
    "faulted": "requests that run",
    "recording": "counts, which it records before a snapshot is taken",
    "_held": "replies under way",
    "_ready": "replies under way",
    "_put_off": "requests that run",
    "_is_beginning_due": "requests that run",
}
"""Attributes of a service that hold no state that outlives a request, and why."""


def refused(database: Database) -> bool:
    from botocore.config import Config
    from botocore.exceptions import ClientError

    try:
        database.client(config=Config(retries={"total_max_attempts": 1})).list_tables()
    except ClientError:
        return True
    return False


@pytest.fixture
def database() -> Iterator[Database]:
    with server(SETTINGS) as database:
        make_table(database)
        yield database


def make_table(database: Database) -> None:
    client_of(database).create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_n",
                "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )


@cache
def without_it(kind: Kind) -> Any:
    """What `look` sees in a database that never had this kind of state."""
    with server(SETTINGS) as plain:
        make_table(plain)
        return kind.look(plain)


@pytest.mark.parametrize("name", KINDS)
def test_snapshots_and_forks_have_it(database: Database, name: str) -> None:
    kind = KINDS[name]
    without = without_it(kind)
    kind.make(database)
    snapshot = database.snapshot()
    with database.fork() as fork, database.fork() as second_fork:
        expected = kind.look(fork)
        assert expected != without
        assert kind.look(second_fork) == expected
    database.reset()
    make_table(database)
    assert type(kind.look(database)) is type(expected)
    for _ in range(2):
        database.restore(snapshot)
        assert kind.look(database) == expected


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"tables", "service time", "stream records"}))
def test_a_reset_removes_it(database: Database, name: str) -> None:
    kind = KINDS[name]
    without = without_it(kind)
    kind.make(database)
    database.reset()
    make_table(database)
    assert kind.look(database) == without


def test_a_reset_removes_tables_records_and_advances(database: Database) -> None:
    KINDS["stream records"].make(database)
    KINDS["service time"].make(database)
    before = database.clock.now()
    database.reset()
    assert client_of(database).list_tables()["TableNames"] == []
    assert records(database) == []
    assert database.clock.now() < before


def test_every_kind_of_row_is_listed() -> None:
    rows = {name for name in vars(layout) if name.endswith(("_PREFIX", "_KEY")) and name.isupper()}
    listed = [row for kind in KINDS.values() for row in kind.rows]
    assert sorted([*listed, *STATELESS_ROWS]) == sorted(rows)


def test_every_attribute_of_a_service_is_listed(database: Database) -> None:
    listed = [name for kind in KINDS.values() for name in kind.attributes]
    assert sorted([*listed, *STATELESS_ATTRIBUTES]) == sorted(vars(database._process.service))
