"""ARCHITECTURE's recipe for a new operation, followed literally: one file, one registry line, its messages.
All else follows from its record.
"""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support import added_operation
from tests.support.samples import finish, table_maker
from tests.unit.server.harness import FrontEnd, Parsed, reply

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ITEM = {"TableName": "orders", "Key": KEY}
TOO_MANY_TIMES = (
    "1 validation error detected: Value '10' at 'times' failed to satisfy constraint: "
    "Member must have value less than or equal to 9"
)


@pytest.fixture
def front() -> Iterator[FrontEnd]:
    """A front end with one item in `orders`, and with the added operation in its registry."""
    store = open_store(None, SystemClock(), None)
    finish(store.catalog.create(table_maker("orders")))
    operations = {**ALL_OPERATIONS, added_operation.OPERATION.name: added_operation.OPERATION}
    front = FrontEnd(operations=operations, real_store=store, settings=Settings(access_log=True))
    assert ask(front, {"TableName": "orders", "Item": KEY}, "PutItem").status == 200
    yield front
    store.close_now()


def ask(front: FrontEnd, body: dict[str, Any], operation: str = "HasItem", region: str = "us-east-1") -> Parsed:
    return reply(front.ask(front.request(json.dumps(body).encode(), operation, region=region)))


def refusal(front: FrontEnd, body: dict[str, Any]) -> tuple[str, str]:
    """Exception and message of a refused request."""
    answer = ask(front, body)
    assert answer.status == 400
    fault = json.loads(answer.body)
    return fault["__type"].partition("#")[2], fault["message"]


def test_it_answers(front: FrontEnd) -> None:
    other = KEY | {"sk": {"S": "c"}}
    assert json.loads(ask(front, ITEM).body) == {"HasItem": True}
    assert json.loads(ask(front, ITEM | {"Key": other, "ConsistentRead": "true", "Unknown": 1}).body) == {
        "HasItem": False
    }


def test_it_tells_its_capacity(front: FrontEnd) -> None:
    answer = json.loads(ask(front, ITEM | {"ReturnConsumedCapacity": "TOTAL"}).body)
    assert answer == {"HasItem": True, "ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 0.5}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"Times": 0}, added_operation.NAME_MISSING),
        (
            {"TableName": "ab", "Times": 0},
            "TableName must be at least 3 characters long and at most 255 characters long",
        ),
        (
            ITEM | {"Times": 0, "ReturnConsumedCapacity": "x"},
            f"1 validation error detected: {added_operation.TIMES_TOO_FEW}",
        ),
        (ITEM | {"Times": 10}, TOO_MANY_TIMES),
    ],
)
def test_its_first_fault_is_told_in_its_words(front: FrontEnd, body: dict[str, Any], message: str) -> None:
    assert refusal(front, body) == ("ValidationException", message)


def test_its_table_is_hinted_at(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert ask(front, ITEM, region="eu-west-1").status == 400
    (message,) = caplog.messages
    assert message.startswith("table orders does not exist in account")


def test_its_line_of_the_access_log_tells_table_and_units(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hashrange.access")
    ask(front, ITEM | {"ConsistentRead": True})
    (message,) = caplog.messages
    fields = message.split(" ")
    assert (fields[3], fields[7:]) == ("DynamoDB_20120810.HasItem", ["orders", "1", "0"])
