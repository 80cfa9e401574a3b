"""Lines of the access log: tables and units of each operation that ran, and the exception name of a refusal."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.samples import finish, table_maker
from tests.unit.server.harness import ECHO_OPERATIONS, FrontEnd, reply


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd(settings=Settings(access_log=True))


def lines(front: FrontEnd, data: bytes, caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines logged for these bytes, with request ids replaced."""
    caplog.set_level("INFO", "hashrange.access")
    front.ask(data)
    told = [record.getMessage() for record in caplog.records if record.name == "hashrange.access"]
    return [re.sub(r"\b[0-9A-Z]{52}\b", "ID", message) for message in told]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"TableName":"music"}', r"- POST / DynamoDB_20120810\.GetItem 200 \d+ ID music - -"),
        (b'{"TableName":5}', r"- POST / DynamoDB_20120810\.GetItem 400 \d+ ID - - - SerializationException"),
        (b"{}", r"- POST / DynamoDB_20120810\.GetItem 400 \d+ ID - - - ValidationException"),
        (
            b'{"TableName":"missing"}',
            r"- POST / DynamoDB_20120810\.GetItem 400 \d+ ID missing - - ResourceNotFoundException",
        ),
        (b'{"TableName":"bug"}', r"- POST / DynamoDB_20120810\.GetItem 500 \d+ ID bug - - InternalServerError"),
        (b'{"TableName":"no name\\n"}', r"- POST / DynamoDB_20120810\.GetItem 200 \d+ ID - - -"),
    ],
)
def test_a_refusal_names_its_exception(
    front: FrontEnd, caplog: pytest.LogCaptureFixture, body: bytes, line: str
) -> None:
    (found,) = lines(front, front.request(body), caplog)
    assert re.fullmatch(line, found), found


def test_what_is_no_call_names_its_exception_too(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    (found,) = lines(front, b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", caplog)
    assert re.fullmatch(r"- GET /nothing - 404 \d+ ID - - - UnknownOperationException", found), found


def test_what_a_client_says_is_no_exception(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    """A health check's reply is not searched for an exception name."""
    (found,) = lines(front, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", caplog)
    assert re.fullmatch(r"- GET / - 200 \d+ ID - - -", found), found


@pytest.mark.parametrize(
    ("url", "told"), [("/?Action=GetSessionToken&X-Amz-Signature=00", "/"), ("/_lambda/code/secret", "/_lambda/code/")]
)
def test_what_lets_its_reader_in_is_left_out(
    front: FrontEnd, caplog: pytest.LogCaptureFixture, url: str, told: str
) -> None:
    (found,) = lines(front, f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), caplog)
    assert found.startswith(f"- GET {told} - "), found


# --- tables and units -----------------------------------------------------------------------------


KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
PUT = {"PutRequest": {"Item": KEY}}
LONG = "x" * 5000
IS_ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}


@pytest.fixture
def filled() -> Iterator[FrontEnd]:
    """A front end over a store with the table `orders`, which has one item, and the empty table `others`."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    for name in ("orders", "others"):
        finish(store.catalog.create(table_maker(name)))
    front = FrontEnd(operations=ALL_OPERATIONS, real_store=store, settings=Settings(access_log=True))
    ask(front, "PutItem", {"TableName": "orders", "Item": KEY})
    yield front
    store.close_now()


def ask(front: FrontEnd, operation: str, body: dict[str, Any]) -> bytes:
    return front.ask(front.request(json.dumps(body).encode(), operation))


@pytest.mark.parametrize(
    ("operation", "body", "used"),
    [
        ("GetItem", {"TableName": "orders", "Key": KEY}, "200 orders 0.5 0"),
        ("GetItem", {"TableName": ARN, "Key": KEY, "ConsistentRead": True}, "200 orders 1 0"),
        ("PutItem", {"TableName": "orders", "Item": KEY | {"a": {"S": LONG}}}, "200 orders 0 5"),
        (
            "PutItem",
            {"TableName": "orders", "Item": KEY, **IS_ABSENT},
            "400 orders 0 1 ConditionalCheckFailedException",
        ),
        ("PutItem", {"TableName": "orders", "Item": {}}, "400 orders - - ValidationException"),
        ("BatchGetItem", {"RequestItems": {"others": {"Keys": [KEY]}, ARN: {"Keys": [KEY]}}}, "200 others+1 1 0"),
        ("BatchWriteItem", {"RequestItems": {"orders": [PUT], "others": [PUT]}}, "200 orders+1 0 2"),
        (
            "BatchWriteItem",
            {"RequestItems": {"orders": [PUT], "none": [PUT]}},
            "400 orders+1 - - ResourceNotFoundException",
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": "orders", "Item": KEY}},
                    {"Put": {"TableName": "orders", "Item": KEY | {"sk": {"S": LONG[:40]}}}},
                ]
            },
            "200 orders 0 4",
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": "orders", "Item": KEY, **IS_ABSENT}},
                    {"Put": {"TableName": "others", "Item": KEY}},
                ]
            },
            "400 orders+1 0 2 TransactionCanceledException",
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"ConditionCheck": {"TableName": ARN, "Key": KEY, **IS_ABSENT}},
                    {"Delete": {"TableName": "others", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}},
                ]
            },
            "400 orders+1 0 4 TransactionCanceledException",
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {"TableName": "orders", "Item": {"pk": {"N": "1"}, "sk": {"S": "b"}}}},
                ]
            },
            "400 orders - - TransactionCanceledException",
        ),
        (
            "ExecuteTransaction",
            {
                "TransactStatements": [
                    {"Statement": "INSERT INTO orders VALUE {'pk': 'a', 'sk': 'b'}"},
                    {"Statement": "UPDATE others SET x = 1 WHERE pk = 'a' AND sk = 'b'"},
                ]
            },
            "400 orders+1 0 4 TransactionCanceledException",
        ),
        ("ExecuteStatement", {"Statement": "SELECT * FROM orders WHERE pk = 'a' AND sk = 'b'"}, "200 orders 0.5 0"),
        ("ExecuteStatement", {"Statement": "nonsense"}, "400 - - - ValidationException"),
        ("DescribeTable", {"TableName": "orders"}, "200 orders - -"),
        ("ListTables", {}, "200 - - -"),
        ("CreateGlobalTable", {"GlobalTableName": "one"}, "400 - - - UnsupportedOperationException"),
    ],
)
def test_a_line_tells_tables_and_units(
    filled: FrontEnd, caplog: pytest.LogCaptureFixture, operation: str, body: dict[str, Any], used: str
) -> None:
    caplog.set_level("INFO", "hashrange.access")
    ask(filled, operation, body)
    fields = caplog.messages[-1].split(" ")
    assert " ".join([fields[4], *fields[7:]]) == used


def test_a_cancelled_transaction_used_the_units_of_the_items_that_refused_it(
    filled: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "hashrange.access")
    ask(filled, "PutItem", {"TableName": "orders", "Item": KEY | {"a": {"S": LONG}}})
    put = {"Put": {"TableName": "orders", "Item": KEY, **IS_ABSENT}}
    reply = ask(filled, "TransactWriteItems", {"TransactItems": [put], "ReturnConsumedCapacity": "TOTAL"})
    assert caplog.messages[-1].endswith(" orders 0 10 TransactionCanceledException")
    assert b"ConsumedCapacity" not in reply


def test_a_large_request_is_let_go_only_when_its_tables_are_known(
    filled: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "hashrange.access")
    puts = [{"Put": {"TableName": "orders", "Item": KEY | {"a": {"S": LONG}}}}] * 2
    for elements, used in ((puts, "orders - - ValidationException"), (puts[:1], "orders 0 10")):
        ask(filled, "TransactWriteItems", {"TransactItems": elements, "Filler": LONG * 2})
        assert " ".join(caplog.messages[-1].split(" ")[7:]) == used


def test_nobody_looks_for_tables_where_no_log_is_wanted() -> None:
    def tables(_request: object) -> Any:
        raise AssertionError("asked for tables")

    front = FrontEnd(operations={"GetItem": msgspec.structs.replace(ECHO_OPERATIONS["GetItem"], tables=tables)})
    assert reply(front.ask(front.request())).status == 200
