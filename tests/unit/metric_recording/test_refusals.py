"""In which metrics do requests count that are refused? Client errors, failed conditions, conflicts,
throttles and internal errors. Through boto3 and HTTP.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.errors import UnknownOperationException
from hashrange.settings import Settings
from hashrange.testing import Database, Fault, server
from tests.unit.metric_recording.conftest import ONCE
from tests.unit.metric_recording.seen import Seen, create_table, freeze_at_minute, key

ORDERS = {"TableName": "orders"}


@pytest.fixture(autouse=True)
def table(client: Any, seen: Seen) -> None:
    create_table(client)


def refused(function: Any, **request: Any) -> str:
    """The code of the error."""
    with pytest.raises(ClientError) as caught:
        function(**request)
    return str(caught.value.response["Error"]["Code"])


FAILING = {"ConditionExpression": "attribute_exists(absent)"}


# --- errors of clients --------------------------------------------------------------------------------


def test_user_errors_are_the_accounts_and_no_tables(client: Any, seen: Seen) -> None:
    refused(client.get_item, TableName="nowhere", Key=key())
    refused(client.put_item, TableName="orders", Item={"pk": {"S": "a"}})
    refused(client.delete_table, TableName="nowhere")
    assert seen.sum("UserErrors") == 3
    assert seen.points("UserErrors", **ORDERS) == []
    assert seen.dimensions("UserErrors") == [{}]


def test_failed_conditions_count_for_themselves(client: Any, seen: Seen) -> None:
    for function, request in (
        (client.put_item, {"Item": key()}),
        (client.delete_item, {"Key": key()}),
        (client.update_item, {"Key": key()}),
    ):
        assert refused(function, TableName="orders", **request, **FAILING) == "ConditionalCheckFailedException"
    update = "UPDATE orders SET a = 1 WHERE pk = 'x' AND sk = 'b'"
    assert refused(client.execute_statement, Statement=update) == "ConditionalCheckFailedException"
    client.batch_execute_statement(Statements=[{"Statement": update}])
    assert seen.sum("ConditionalCheckFailedRequests", **ORDERS) == 5
    assert seen.sum("UserErrors") == 0
    assert seen.sum("ConsumedWriteCapacityUnits", **ORDERS) == 5


def test_a_condition_that_fails_in_a_transaction_is_a_user_error(client: Any, seen: Seen) -> None:
    check = {"ConditionCheck": {"TableName": "orders", "Key": key(), **FAILING}}
    assert refused(client.transact_write_items, TransactItems=[check]) == "TransactionCanceledException"
    assert (seen.sum("UserErrors"), seen.sum("ConditionalCheckFailedRequests", **ORDERS)) == (1, 0)
    assert seen.sum("ConsumedWriteCapacityUnits", **ORDERS) == 2


@pytest.mark.parametrize(
    ("target", "body", "key_name"),
    [
        ("DynamoDB_20120810.NoSuchOperation", b"{}", "000000000000"),
        ("DynamoDB_20120810.ListTables", b"{", "000000000000"),
        ("DynamoDB_20120810.ListTables", b'{"Limit": "x"}', "000000000000"),
        ("DynamoDB_20120810.ListTables", b"{}", "without a date"),
    ],
)
def test_requests_that_never_became_calls_are_user_errors(
    database: Database, seen: Seen, target: str, body: bytes, key_name: str
) -> None:
    date = "" if key_name == "without a date" else "20261121T120000Z"
    headers = {
        "X-Amz-Target": target,
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": date,
        "Authorization": "AWS4-HMAC-SHA256 Credential=000000000000/20261121/us-east-1/dynamodb/aws4_request,"
        " SignedHeaders=host, Signature=" + "0" * 64,
    }
    answer = database._process.ask("POST", "/", headers, body)
    assert answer.status == 400
    assert seen.sum("UserErrors") == 1


def test_requests_of_nobody_are_nobodys(database: Database, seen: Seen) -> None:
    headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    assert database._process.ask("POST", "/", headers, b"{}").status == 400
    assert seen.sum("UserErrors") == 0


def test_calls_with_plain_values_count_as_requests_do(database: Database, seen: Seen) -> None:
    with pytest.raises(UnknownOperationException):
        database._process.call("000000000000", "us-east-1", "NoSuchOperation", {})
    assert seen.sum("UserErrors") == 1


# --- conflicts and faults ------------------------------------------------------------------------------


def test_conflicts_count_for_each_item(database: Database, client: Any, seen: Seen) -> None:
    database.faults.use(Fault("conflict"))
    assert refused(client.put_item, TableName="orders", Item=key()) == "TransactionConflictException"
    puts = [{"Put": {"TableName": "orders", "Item": key(name)}} for name in "ab"]
    assert refused(client.transact_write_items, TransactItems=puts) == "TransactionCanceledException"
    statement = {"Statement": "DELETE FROM orders WHERE pk = 'a' AND sk = 'b'"}
    client.batch_execute_statement(Statements=[statement])
    assert seen.sum("TransactionConflict", **ORDERS) == 4
    assert seen.sum("UserErrors") == 2


def test_a_request_is_one_sample_of_conflicts_for_each_of_its_tables(
    database: Database, client: Any, seen: Seen
) -> None:
    """SampleCount counts requests; Sum, Minimum and Maximum count items."""
    create_table(client, "others")
    database.faults.use(Fault("conflict"))
    puts = [{"Put": {"TableName": "orders", "Item": key(name)}} for name in "abc"]
    puts.append({"Put": {"TableName": "others", "Item": key()}})
    refused(client.transact_write_items, TransactItems=puts)
    refused(client.put_item, TableName="orders", Item=key())
    found = seen.all("TransactionConflict", **ORDERS)
    assert found is not None
    assert (found.sample_count, found.sum, found.minimum, found.maximum) == (2, 4, 1, 3)
    assert seen.sum("TransactionConflict", TableName="others") == 1


def test_conflicts_of_statements_count_for_their_own_tables(database: Database, client: Any, seen: Seen) -> None:
    create_table(client, "others")
    database.faults.use(Fault("conflict"))
    where = "WHERE pk = 'a' AND sk = 'b'"
    statements = [{"Statement": f"DELETE FROM {name} {where}"} for name in ("orders", "others")]
    client.batch_execute_statement(Statements=statements)
    assert seen.sum("TransactionConflict", **ORDERS) == 1
    assert seen.sum("TransactionConflict", TableName="others") == 1


def test_errors_of_other_services_are_no_user_errors(database: Database, seen: Seen) -> None:
    """Only requests to DynamoDB and its streams count."""
    for service, function, request in (
        ("cloudwatch", "set_alarm_state", {"AlarmName": "none", "StateValue": "OK", "StateReason": "x"}),
        ("application-autoscaling", "describe_scaling_policies", {"ServiceNamespace": "nothing"}),
    ):
        refused(getattr(database.client(service, config=ONCE), function), **request)
    assert seen.sum("UserErrors") == 0
    streams = database.client("dynamodbstreams", config=ONCE)
    refused(streams.describe_stream, StreamArn="arn:aws:dynamodb:us-east-1:000000000000:table/no/stream/" + "x" * 30)
    assert seen.sum("UserErrors") == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_errors_of_faults_are_system_errors_that_were_induced(
    database: Database, client: Any, seen: Seen, when: Any
) -> None:
    database.faults.use(Fault("error", when=when, operation="PutItem"))
    assert refused(client.put_item, TableName="orders", Item=key()) == "InternalServerError"
    dimensions = {"Operation": "PutItem", **ORDERS}
    assert seen.sum("SystemErrors", **dimensions) == 1
    assert seen.sum("FaultInjectionServiceInducedErrors", **dimensions) == 1
    assert seen.sum("UserErrors") == 0
    assert seen.sum("ConsumedWriteCapacityUnits", **ORDERS) == (1 if when == "after" else 0)


def test_an_error_after_a_batch_counts_once(database: Database, client: Any, seen: Seen) -> None:
    database.faults.use(Fault("error", when="after", key=key(), table="orders"))
    puts = [{"PutRequest": {"Item": key(name)}} for name in "ab"]
    assert refused(client.batch_write_item, RequestItems={"orders": puts}) == "InternalServerError"
    dimensions = {"Operation": "BatchWriteItem", **ORDERS}
    assert seen.sum("FaultInjectionServiceInducedErrors", **dimensions) == 1
    assert seen.all("SuccessfulRequestLatency", **dimensions) is None
    assert seen.sum("ConsumedWriteCapacityUnits", **ORDERS) == 2


def test_internal_errors_are_system_errors(
    database: Database, client: Any, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(database._process.service.store, "get", broken)
    assert refused(client.get_item, TableName="orders", Key=key()) == "InternalServerError"
    assert seen.sum("SystemErrors", Operation="GetItem", **ORDERS) == 1
    assert seen.found("FaultInjectionServiceInducedErrors") == []


# --- throttles ------------------------------------------------------------------------------------------


@pytest.fixture
def enforced() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, throughput="enforced")) as database:
        freeze_at_minute(database)
        yield database


INDEX = {
    "IndexName": "by-a",
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
ONE = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def use_up(client: Any, table: str) -> None:
    """Write until no units are left, and read too."""
    for number in range(300):
        client.put_item(TableName=table, Item=key(str(number)))
    for _ in range(300):
        client.get_item(TableName=table, Key=key(), ConsistentRead=True)


def test_throttles_of_a_provisioned_table(enforced: Database) -> None:
    seen, client = Seen(enforced), enforced.client(config=ONCE)
    create_table(client, ProvisionedThroughput=ONE)
    use_up(client, "orders")
    throttled = "ProvisionedThroughputExceededException"
    assert refused(client.put_item, TableName="orders", Item=key()) == throttled
    assert refused(client.get_item, TableName="orders", Key=key()) == throttled
    keys = [key(name) for name in "abc"]
    assert refused(client.batch_get_item, RequestItems={"orders": {"Keys": keys}}) == throttled
    puts = [{"Put": {"TableName": "orders", "Item": one}} for one in keys]
    assert refused(client.transact_write_items, TransactItems=puts) == "TransactionCanceledException"
    delete = {"Statement": "DELETE FROM orders WHERE pk = 'a' AND sk = 'b'"}
    client.batch_execute_statement(Statements=[delete])
    assert seen.sum("ReadThrottleEvents", **ORDERS) == 4
    assert seen.sum("ReadProvisionedThroughputThrottleEvents", **ORDERS) == 4
    assert seen.sum("WriteThrottleEvents", **ORDERS) == 5
    assert seen.sum("WriteProvisionedThroughputThrottleEvents", **ORDERS) == 5
    assert {
        one["Operation"]: seen.sum("ThrottledRequests", **one)
        for one in seen.dimensions("ThrottledRequests")
        if "OperationType" not in one
    } == dict.fromkeys(["PutItem", "GetItem", "BatchGetItem", "TransactWriteItems", "BatchExecuteStatement"], 1)
    assert seen.sum("UserErrors") == 1  # the cancelled transaction


def test_a_batch_of_which_a_part_is_throttled_is_no_throttled_request(enforced: Database) -> None:
    seen, client = Seen(enforced), enforced.client(config=ONCE)
    create_table(client, ProvisionedThroughput=ONE)
    create_table(client, "idle", ProvisionedThroughput=ONE)
    use_up(client, "orders")
    requests = {name: {"Keys": [key(), key("x")]} for name in ("orders", "idle")}
    assert len(client.batch_get_item(RequestItems=requests)["UnprocessedKeys"]["orders"]["Keys"]) == 2
    assert seen.sum("ReadThrottleEvents", **ORDERS) == 2
    assert seen.found("ThrottledRequests") == []
    assert seen.sum("ConsumedReadCapacityUnits", TableName="idle") == 1


def test_throttles_of_an_index_count_for_the_index_alone(enforced: Database) -> None:
    seen, client = Seen(enforced), enforced.client(config=ONCE)
    create_table(
        client,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "a")],
        GlobalSecondaryIndexes=[INDEX | {"ProvisionedThroughput": ONE}],
    )
    for number in range(300):
        client.put_item(TableName="orders", Item=key(str(number)) | {"a": {"S": "x"}})
    item = key("last") | {"a": {"S": "x"}}
    assert refused(client.put_item, TableName="orders", Item=item) == "ProvisionedThroughputExceededException"
    of_index = {"GlobalSecondaryIndexName": "by-a", **ORDERS}
    assert seen.sum("WriteThrottleEvents", **of_index) == 1
    assert seen.sum("WriteThrottleEvents", **ORDERS) == 0
    assert seen.sum("ThrottledRequests", Operation="PutItem", **ORDERS) == 1


def test_an_on_demand_maximum_has_throttle_events_of_its_own(enforced: Database) -> None:
    seen, client = Seen(enforced), enforced.client(config=ONCE)
    client.create_table(
        TableName="small",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        OnDemandThroughput={"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 2},
    )
    item = {"pk": {"S": "a"}}
    for _ in range(2):
        client.put_item(TableName="small", Item=item)
    assert refused(client.put_item, TableName="small", Item=item) == "ThrottlingException"
    assert seen.sum("WriteMaxOnDemandThroughputThrottleEvents", TableName="small") == 1
    assert seen.sum("OnDemandMaxWriteRequestUnits", TableName="small") == 2
    assert seen.sum("OnDemandMaxReadRequestUnits", TableName="small") == 5
    assert seen.sum("UserErrors") == 1  # a ThrottlingException is no exception to that rule


def test_throttles_of_faults_count_as_others_do(database: Database, client: Any, seen: Seen) -> None:
    database.faults.use(Fault("throttle", reason="AccountLimitExceeded", exception="RequestLimitExceeded"))
    assert refused(client.get_item, TableName="orders", Key=key()) == "RequestLimitExceeded"
    database.faults.use(Fault("throttle", reason="KeyRangeThroughputExceeded"))
    assert refused(client.put_item, TableName="orders", Item=key()).endswith("Exception")
    assert seen.sum("ReadAccountLimitThrottleEvents", **ORDERS) == 1
    assert seen.sum("WriteKeyRangeThroughputThrottleEvents", **ORDERS) == 1
    assert seen.sum("ReadThrottleEvents", **ORDERS) == 1
