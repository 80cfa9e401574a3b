"""In which metrics do requests count that succeed, and with which values? Through boto3."""

import json
from typing import Any
from urllib.request import Request, urlopen

import pytest

from hashrange.faults.fault import Fault
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.conformance.vectors import vector_index
from tests.unit.metric_recording.seen import Seen, create_table, freeze_at_minute, key

LATENCY = "SuccessfulRequestLatency"
ORDERS = {"TableName": "orders"}


@pytest.fixture(autouse=True)
def table(client: Any, seen: Seen) -> None:
    create_table(client)


def latency(seen: Seen, operation: str, **more: str) -> float:
    """Number of requests whose latency has been observed."""
    found = seen.all(LATENCY, Operation=operation, TableName="orders", **more)
    return 0.0 if found is None else found.sample_count


def test_average_and_maximum_of_consumed_units_are_per_request(client: Any, seen: Seen) -> None:
    client.put_item(TableName="orders", Item=key() | {"text": {"S": "x" * 9_000}})
    for consistent in (True, True, False):
        client.get_item(TableName="orders", Key=key(), ConsistentRead=consistent)
    found = seen.all("ConsumedReadCapacityUnits", **ORDERS)
    assert found is not None
    assert (found.sample_count, found.sum, found.minimum, found.maximum) == (3, 7.5, 1.5, 3)
    written = seen.all("ConsumedWriteCapacityUnits", **ORDERS)
    assert written is not None
    assert (written.sample_count, written.sum) == (1, 9)


def create_vector_table(client: Any) -> None:
    """A table with a vector index, and two items that are in it."""
    client.create_table(
        TableName="vectors",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[vector_index("vix", Dimensions=1)],
    )
    for name in "ab":
        item = {"pk": {"S": name}, "embedding": {"L": [{"N": "1"}]}, "text": {"S": "x" * 3_000}}
        client.put_item(TableName="vectors", Item=item)


def search(client: Any, **members: Any) -> Any:
    wanted = {"TableName": "vectors", "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 5}
    return client.search_vectors(**wanted | members)


def test_entries_of_vector_indexes_consume_no_units(client: Any, seen: Seen) -> None:
    create_vector_table(client)
    item = {"pk": {"S": "c"}, "embedding": {"L": [{"N": "1"}]}}
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "vectors", "Item": item}}])
    found = seen.all("ConsumedWriteCapacityUnits", TableName="vectors")
    assert found is not None
    assert (found.sample_count, found.sum) == (3, 3 + 3 + 2)


VECTOR_INDEX = {"TableName": "vectors", "VectorIndexName": "vix"}


def test_writes_are_observed_with_the_bytes_that_entries_are_charged_for(client: Any, seen: Seen) -> None:
    create_vector_table(client)
    long = 2 + 1 + 9 + 4 + 4 + 3_000
    texts = [("a", "x"), ("b", "y")]
    items = [{"pk": {"S": name}, "embedding": {"L": [{"N": "1"}]}, "text": {"S": text}} for name, text in texts]
    client.batch_write_item(RequestItems={"vectors": [{"PutRequest": {"Item": item}} for item in items]})
    client.delete_item(TableName="vectors", Key={"pk": {"S": "a"}})
    statement = "INSERT INTO \"vectors\" VALUE {'pk': 'c', 'embedding': [1]}"
    client.execute_statement(Statement=statement)
    client.put_item(TableName="vectors", Item={"pk": {"S": "none"}})
    found = seen.all("VectorWriteRequestBytes", **VECTOR_INDEX)
    assert found is not None
    assert (found.sample_count, found.sum, found.maximum) == (5, 2 * long + 2 * long + 1_024 + 1_024, 2 * long)
    assert seen.dimensions("VectorWriteRequestBytes") == [VECTOR_INDEX]


def test_searches_are_observed_with_the_bytes_that_they_read(client: Any, seen: Seen) -> None:
    create_vector_table(client)
    capacities = [search(client, TopK=most, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"] for most in (5, 1)]
    found = seen.all("VectorSearchRequestBytes", **VECTOR_INDEX)
    assert found is not None
    assert (found.sample_count, found.sum) == (2, sum(one["VectorSearchRequestBytes"] for one in capacities))
    assert seen.dimensions("VectorSearchRequestBytes") == [VECTOR_INDEX]


def test_a_search_is_measured_and_consumes_no_units(client: Any, seen: Seen) -> None:
    create_vector_table(client)
    for most in (5, 1):
        search(client, TopK=most)
    with pytest.raises(client.exceptions.ClientError):
        search(client, IndexName="none")
    assert seen.all("ConsumedReadCapacityUnits", TableName="vectors") is None
    of_searches = {"Operation": "SearchVectors", "TableName": "vectors"}
    measured = seen.all(LATENCY, **of_searches)
    returned = seen.all("ReturnedItemCount", **of_searches)
    assert measured is not None
    assert returned is not None
    assert (measured.sample_count, returned.sample_count, returned.sum) == (2, 2, 3)
    refused = seen.all("UserErrors")
    assert refused is not None
    assert refused.sum == 1


@pytest.mark.parametrize(
    ("kind", "metric"), [("throttle", "ThrottledRequests"), ("error", "FaultInjectionServiceInducedErrors")]
)
def test_a_search_that_meets_a_fault(database: Database, client: Any, seen: Seen, kind: Any, metric: str) -> None:
    create_vector_table(client)
    database.faults.use(Fault(kind, operation="SearchVectors"))
    with pytest.raises(client.exceptions.ClientError):
        search(client)
    of_searches = {"Operation": "SearchVectors", "TableName": "vectors"}
    found = seen.all(metric, **of_searches)
    assert found is not None
    assert found.sum == 1
    assert seen.all(LATENCY, **of_searches) is None


def test_a_batch_is_one_request_to_each_table(client: Any, seen: Seen) -> None:
    create_table(client, "others")
    keys = [key(name) for name in "abc"]
    client.batch_get_item(RequestItems={"orders": {"Keys": keys}, "others": {"Keys": keys[:1]}})
    for name, units in (("orders", 1.5), ("others", 0.5)):
        found = seen.all("ConsumedReadCapacityUnits", TableName=name)
        assert found is not None
        assert (found.sample_count, found.sum) == (1, units)
        assert seen.all(LATENCY, Operation="BatchGetItem", TableName=name) is not None


def test_units_of_local_indexes_are_their_tables_and_those_of_global_ones_are_not(
    database: Database, client: Any, seen: Seen
) -> None:
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "a")]
    projection: dict[str, Any] = {"Projection": {"ProjectionType": "ALL"}}
    create_table(
        client,
        "indexed",
        AttributeDefinitions=attributes,
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "a", "KeyType": "RANGE"}],
                **projection,
            }
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "global",
                "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                **projection,
            }
        ],
    )
    client.put_item(TableName="indexed", Item=key() | {"a": {"S": "c"}})
    client.scan(TableName="indexed", IndexName="local")
    client.scan(TableName="indexed", IndexName="global")
    client.execute_statement(Statement='SELECT * FROM "indexed"."global"')
    insert = """INSERT INTO "indexed" VALUE {'pk': 'd', 'sk': 'b', 'a': 'c'}"""
    client.execute_statement(Statement=insert)
    read, written = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
    assert seen.sum(written, TableName="indexed") == 4
    assert seen.sum(written, TableName="indexed", GlobalSecondaryIndexName="global") == 2
    for verb in ("PartiQLSelect", "PartiQLInsert"):
        found = seen.all(LATENCY, Operation="ExecuteStatement", TableName="indexed", Verb=verb)
        assert found is not None
        assert found.sample_count == 1
    assert (
        seen.all("ReturnedItemCount", Operation="ExecuteStatement", TableName="indexed", Verb="PartiQLInsert") is None
    )
    of_table = seen.all(read, TableName="indexed")
    assert of_table is not None
    assert (of_table.sample_count, of_table.sum) == (1, 0.5)
    of_index = seen.all(read, TableName="indexed", GlobalSecondaryIndexName="global")
    assert of_index is not None
    assert (of_index.sample_count, of_index.sum) == (2, 1)
    database.clock.advance(120)  # zeros and gauges are recorded at the ends of minutes
    for name in (read, written, "ProvisionedReadCapacityUnits", "ProvisionedWriteCapacityUnits"):
        indexes = {one.get("GlobalSecondaryIndexName") for one in seen.dimensions(name)}
        assert indexes == {None, "global"}


def test_each_operation_has_latencies_with_percentiles(client: Any, seen: Seen) -> None:
    put = {"Put": {"TableName": "orders", "Item": key()}}
    get = {"Get": {"TableName": "orders", "Key": key()}}
    select = {"Statement": "SELECT * FROM orders WHERE pk = 'a' AND sk = 'b'"}
    delete = {"Statement": "DELETE FROM orders WHERE pk = 'a' AND sk = 'b'"}
    client.put_item(TableName="orders", Item=key())
    client.get_item(TableName="orders", Key=key())
    client.update_item(TableName="orders", Key=key())
    client.delete_item(TableName="orders", Key=key())
    client.query(TableName="orders", KeyConditionExpression="pk = :k", ExpressionAttributeValues={":k": {"S": "a"}})
    client.scan(TableName="orders")
    client.batch_get_item(RequestItems={"orders": {"Keys": [key()]}})
    client.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": key()}}]})
    client.transact_write_items(TransactItems=[put])
    client.transact_get_items(TransactItems=[get])
    client.execute_statement(**select)
    client.execute_statement(**delete)
    client.batch_execute_statement(Statements=[select])
    client.execute_transaction(TransactStatements=[delete])
    client.describe_table(TableName="orders")
    assert {name: latency(seen, name) for name in ("GetItem", "Scan", "TransactWriteItems")} == {
        "GetItem": 1,
        "Scan": 1,
        "TransactWriteItems": 1,
    }
    assert latency(seen, "ExecuteStatement") == 2
    assert latency(seen, "ExecuteStatement", Verb="PartiQLSelect") == 1
    assert latency(seen, "ExecuteStatement", Verb="PartiQLDelete") == 1
    assert latency(seen, "BatchExecuteStatement", OperationType="Read") == 1
    assert latency(seen, "ExecuteTransaction", OperationType="Write") == 1
    operations = {one["Operation"] for one in seen.dimensions(LATENCY)}
    assert len(operations) == 13
    assert "DescribeTable" not in operations
    (point,) = seen.points(LATENCY, Operation="PutItem", TableName="orders")
    assert point.unit == "Milliseconds"
    assert point.distribution is not None
    assert sum(point.distribution.values()) == 1


@pytest.mark.parametrize("before", ["", "  ", "-- a comment\n", "/* a comment */"])
def test_a_statement_is_known_behind_a_comment(client: Any, seen: Seen, before: str) -> None:
    select = {"Statement": f"{before}SELECT * FROM orders WHERE pk = 'a' AND sk = 'b'"}
    delete = {"Statement": f"{before}DELETE FROM orders WHERE pk = 'a' AND sk = 'b'"}
    client.execute_statement(**select)
    client.execute_statement(**delete)
    client.batch_execute_statement(Statements=[select])
    client.execute_transaction(TransactStatements=[select])
    client.execute_transaction(TransactStatements=[delete])
    assert latency(seen, "ExecuteStatement", Verb="PartiQLSelect") == 1
    assert latency(seen, "ExecuteStatement", Verb="PartiQLDelete") == 1
    assert latency(seen, "BatchExecuteStatement", OperationType="Read") == 1
    assert latency(seen, "ExecuteTransaction", OperationType="Read") == 1
    assert latency(seen, "ExecuteTransaction", OperationType="Write") == 1
    returned = seen.all("ReturnedItemCount", Operation="ExecuteStatement", Verb="PartiQLSelect", **ORDERS)
    assert returned is not None
    assert (returned.sample_count, returned.sum) == (1, 0)


def test_returned_items_are_counted_by_operation(client: Any, seen: Seen) -> None:
    for name in "abc":
        client.put_item(TableName="orders", Item=key(name))
    client.scan(TableName="orders")
    client.scan(TableName="orders", Select="COUNT", Limit=2)
    client.query(TableName="orders", KeyConditionExpression="pk = :k", ExpressionAttributeValues={":k": {"S": "z"}})
    client.execute_statement(Statement="SELECT * FROM orders WHERE pk = 'a'")
    client.execute_statement(Statement="DELETE FROM orders WHERE pk = 'a' AND sk = 'b'")
    name = "ReturnedItemCount"
    scanned = seen.all(name, Operation="Scan", **ORDERS)
    assert scanned is not None
    assert (scanned.sample_count, scanned.sum, scanned.maximum) == (2, 5, 3)
    queried = seen.all(name, Operation="Query", **ORDERS)
    assert queried is not None
    assert (queried.sample_count, queried.sum) == (1, 0)
    selected = seen.all(name, Operation="ExecuteStatement", Verb="PartiQLSelect", **ORDERS)
    assert selected == seen.all(name, Operation="ExecuteStatement", **ORDERS)
    assert selected is not None
    assert (selected.sample_count, selected.sum) == (1, 1)


def test_get_records_counts_records_and_bytes_of_its_stream(database: Database, client: Any, seen: Seen) -> None:
    create_table(client, "streamed", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    for name in "ab":
        client.put_item(TableName="streamed", Item=key(name))
    streams = database.client("dynamodbstreams")
    arn = client.describe_table(TableName="streamed")["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    assert len(streams.get_records(ShardIterator=iterator)["Records"]) == 2
    dimensions = {"Operation": "GetRecords", "StreamLabel": arn.rpartition("/")[2], "TableName": "streamed"}
    assert seen.sum("ReturnedRecordsCount", **dimensions) == 2
    assert seen.sum("ReturnedBytes", **dimensions) > 0
    assert seen.points("ReturnedBytes", **dimensions)[0].unit == "Bytes"
    assert dimensions in seen.dimensions(LATENCY)
    assert {"Operation": "GetRecords", "TableName": "streamed"} not in seen.dimensions(LATENCY)


def test_items_that_time_to_live_deletes_are_counted(database: Database, client: Any, seen: Seen) -> None:
    client.update_time_to_live(TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    database.clock.advance(3600)
    moments = [int(database.clock.now()) + seconds for seconds in (90, 91, 200)]
    for number, moment in enumerate(moments):
        client.put_item(TableName="orders", Item=key(str(number)) | {"until": {"N": str(moment)}})
    before = seen.sum("ConsumedWriteCapacityUnits", **ORDERS)
    database.clock.advance(5 * 86_400)
    points = seen.points("TimeToLiveDeletedItemCount", "AWS/DynamoDB", 60, 6 * 86_400.0, **ORDERS)
    assert sum(point.statistics.sum for point in points) == 3
    assert {point.at_seconds for point in points} <= {moment // 60 * 60 for moment in moments}
    assert seen.points("ConsumedWriteCapacityUnits", "AWS/DynamoDB", 60, 6 * 86_400.0, **ORDERS)
    assert before == 3


def test_items_that_an_operator_lets_expire_are_counted_too() -> None:
    with server(Settings(data_dir=None, port=0, admin=True, ttl_delay_seconds=1000)) as database:
        freeze_at_minute(database)
        client = database.client()
        create_table(client)
        client.update_time_to_live(
            TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
        )
        database.clock.advance(60)
        for name in "ab":
            until = {"N": str(int(database.clock.now()) - 1)}
            client.put_item(TableName="orders", Item=key(name) | {"until": until})
        with urlopen(Request(f"{database.endpoint}/_hashrange/v1/ttl/expire", b"{}")) as reply:
            assert json.load(reply) == {"expired": 2}
        assert Seen(database).sum("TimeToLiveDeletedItemCount", **ORDERS) == 2


def test_accounts_and_regions_have_metrics_of_their_own(database: Database, client: Any, seen: Seen) -> None:
    elsewhere = database.client(region_name="eu-west-1")
    create_table(elsewhere)
    elsewhere.put_item(TableName="orders", Item=key())
    assert seen.sum("ConsumedWriteCapacityUnits", **ORDERS) == 0
    assert Seen(database, region="eu-west-1").sum("ConsumedWriteCapacityUnits", **ORDERS) == 1
