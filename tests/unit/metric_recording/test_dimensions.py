"""With which sets of dimensions does each metric count, and with no other? Through boto3."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.cloudwatch.dynamodb.definitions import ALL_METRICS
from hashrange.testing import Database, Fault
from tests.unit.metric_recording.seen import Seen, create_table, key

WRITTEN = "ConsumedWriteCapacityUnits"
ORDERS = {"TableName": "orders"}
CUSTOMER = {"Source": "Customer"}
BY_A = {"GlobalSecondaryIndexName": "by-a", **ORDERS}
INDEXED: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "a")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-a",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        }
    ],
}
SELECT = "SELECT * FROM orders WHERE pk = 'a' AND sk = 'b'"


def read_stream(database: Database, client: Any) -> None:
    """Read the first records of the table's stream."""
    streams = database.client("dynamodbstreams")
    arn = client.describe_table(TableName="orders")["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    streams.get_records(ShardIterator=streams.get_shard_iterator(**asked)["ShardIterator"])


def use_everything(database: Database, client: Any) -> None:
    """Make requests of all kinds, so that each metric of requests has been observed."""
    for function, request in (
        (client.put_item, {"TableName": "orders", "Item": key() | {"a": {"S": "x"}}}),
        (client.put_item, {"TableName": "orders", "Item": key("z")} | {"ConditionExpression": "attribute_exists(pk)"}),
        (client.get_item, {"TableName": "orders", "Key": key()}),
        (client.scan, {"TableName": "orders", "IndexName": "by-a"}),
        (client.execute_statement, {"Statement": SELECT}),
        (client.batch_execute_statement, {"Statements": [{"Statement": SELECT}]}),
        (client.execute_transaction, {"TransactStatements": [{"Statement": SELECT}]}),
        (lambda: read_stream(database, client), {}),
    ):
        try:
            function(**request)
        except ClientError:
            continue


def test_no_metric_is_observed_with_dimensions_that_it_has_not(database: Database, client: Any, seen: Seen) -> None:
    create_table(client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}, **INDEXED)
    use_everything(database, client)
    for fault in (Fault("throttle"), Fault("error"), Fault("conflict"), Fault("error", when="after")):
        database.faults.use(fault)
        use_everything(database, client)
    database.clock.advance(600)
    defined = {one.name: one for one in ALL_METRICS}
    for metric in seen.found():
        definition = defined[metric.name]
        assert metric.namespace == definition.namespace
        assert tuple(name for name, _ in metric.dimensions) in definition.dimensions, metric
        points = seen.points(metric.name, metric.namespace, **dict(metric.dimensions))
        assert {point.unit for point in points} == {definition.unit}


@pytest.mark.parametrize(
    ("kind", "metric"), [("error", "SystemErrors"), ("error", "FaultInjectionServiceInducedErrors")]
)
def test_errors_of_get_records_count_for_table_and_operation(
    database: Database, client: Any, seen: Seen, kind: Any, metric: str
) -> None:
    create_table(client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    database.faults.use(Fault(kind, operation="GetRecords"))
    with pytest.raises(ClientError):
        read_stream(database, client)
    assert seen.dimensions(metric) == [{"Operation": "GetRecords", **ORDERS}]


def test_errors_of_statements_count_for_table_and_operation_alone(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    database.faults.use(Fault("error"))
    with pytest.raises(ClientError):
        client.execute_statement(Statement=SELECT)
    with pytest.raises(ClientError):
        client.execute_transaction(TransactStatements=[{"Statement": SELECT}])
    for metric in ("SystemErrors", "FaultInjectionServiceInducedErrors"):
        operations = [{"Operation": name, **ORDERS} for name in ("ExecuteStatement", "ExecuteTransaction")]
        assert seen.dimensions(metric) == operations


def test_throttled_statements_count_by_verb_and_not_by_type(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    database.faults.use(Fault("throttle"))
    with pytest.raises(ClientError):
        client.execute_statement(Statement=SELECT)
    client.batch_execute_statement(Statements=[{"Statement": SELECT}])
    found = seen.dimensions("ThrottledRequests")
    assert len(found) == 3
    assert {"Operation": "BatchExecuteStatement", **ORDERS} in found
    assert {"Operation": "ExecuteStatement", **ORDERS} in found
    assert {"Operation": "ExecuteStatement", "Verb": "PartiQLSelect", **ORDERS} in found


# --- the source of writes ------------------------------------------------------------------------


def test_writes_of_clients_have_the_source_customer_too(database: Database, client: Any, seen: Seen) -> None:
    create_table(client, **INDEXED)
    client.put_item(TableName="orders", Item=key() | {"a": {"S": "x"}})
    client.batch_write_item(
        RequestItems={"orders": [{"PutRequest": {"Item": key("b") | {"text": {"S": "x" * 2_000}}}}]}
    )
    for subject in (ORDERS, BY_A):
        assert seen.all(WRITTEN, **subject) == seen.all(WRITTEN, **subject, **CUSTOMER)
    assert seen.sum(WRITTEN, **ORDERS, **CUSTOMER) == 3
    assert seen.sum(WRITTEN, **BY_A, **CUSTOMER) == 1
    assert all("Source" not in one for one in seen.dimensions("ConsumedReadCapacityUnits"))


def test_idle_tables_have_zeros_with_a_source_too(database: Database, client: Any, seen: Seen) -> None:
    create_table(client, **INDEXED)
    database.clock.advance(120)
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(60)
    for subject, units in ((ORDERS, [0, 0, 1]), (BY_A, [0, 0, 0])):
        points = seen.points(WRITTEN, **subject, **CUSTOMER)
        assert [(point.statistics.sum, point.statistics.sample_count) for point in points] == [
            (one, 1) for one in units
        ]


def test_a_deleted_table_gets_no_more_zeros_of_any_source(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    database.clock.advance(120)
    client.delete_table(TableName="orders")
    database.clock.advance(600)
    assert len(seen.points(WRITTEN, **ORDERS, **CUSTOMER)) == len(seen.points(WRITTEN, **ORDERS)) == 2


def test_prometheus_counts_each_write_once(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    text = database._process.ask("GET", "/metrics", {}, b"").body.decode()
    lines = [line for line in text.splitlines() if line.startswith("hashrange_consumed_write_capacity_units_total{")]
    assert len(lines) == 1
    assert lines[0].endswith(" 1.0")
