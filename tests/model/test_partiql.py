"""Random statements and the expression calls that mean the same, on twin tables: both must always tell the same.

What is compared: items, pages and their continue keys, capacity for table and indexes, refusals, and in the end every row and index
entry. `HASHRANGE_PARTIQL_STEPS` sets how many steps a walk has.
"""

import asyncio
import os
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.store.suspending import SuspendingStore
from tests.model.statements import Said, Speaker
from tests.model.world import drive

STEPS = int(os.environ.get("HASHRANGE_PARTIQL_STEPS", "300"))
ORDINARY, SAID = "ordinary", "said"
DUPLICATE = "Duplicate primary key exists in table"
CONDITION_FAILED = "The conditional request failed"


class Twins:
    """Two tables of the same form over one store."""

    def __init__(self, kind: str, seed: int) -> None:
        self.embedded = open_store(None, SystemClock(), None)
        self.suspending = SuspendingStore(self.embedded, seed) if kind == "suspending" else None
        store: Any = self.suspending or self.embedded
        self.scope = Scope("000000000000", "us-east-1", store, SystemClock(), Settings(port=0, data_dir=None))
        for name in (ORDINARY, SAID):
            self.ask("CreateTable", table_request(name))

    def ask(self, operation: str, members: dict[str, Any]) -> Any:
        record = OPERATIONS[operation]
        request: Any = msgspec.convert(members, record.request)
        return msgspec.json.decode(drive(record.run(self.scope, request)))

    def outcome(self, operation: str, members: dict[str, Any]) -> Any:
        """The reply, or the refusal's words."""
        try:
            return self.ask(operation, members)
        except ApiError as refusal:
            return f"{refusal.message}"

    def propagate(self) -> None:
        """Let all writes come into the global index."""
        if self.suspending is not None:
            asyncio.run(self.suspending.propagate())


def table_request(name: str) -> dict[str, Any]:
    def keys(hash_name: str, range_name: str) -> list[dict[str, str]]:
        return [{"AttributeName": hash_name, "KeyType": "HASH"}, {"AttributeName": range_name, "KeyType": "RANGE"}]

    types = {"pk": "S", "sk": "N", "g": "S", "h": "N"}
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": kind} for each, kind in types.items()],
        "KeySchema": keys("pk", "sk"),
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {"IndexName": "global", "KeySchema": keys("g", "h"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "local", "KeySchema": keys("pk", "h"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
    }


def check(twins: Twins, said: Said) -> None:
    """Both forms of one request, all pages of it."""
    figures = {"ReturnConsumedCapacity": "INDEXES"}
    members = {"TableName": ORDINARY, **said.members, **figures}
    statement = said.statement.replace("{t}", SAID)
    request = {"Statement": statement, **said.more, **figures}
    if said.parameters:
        request["Parameters"] = said.parameters
    while True:
        expected = twins.outcome(said.operation, members)
        heard = twins.outcome("ExecuteStatement", request)
        if isinstance(expected, str):
            assert_same_refusal(said, expected, heard)
            return
        assert isinstance(heard, dict), (statement, said.parameters, heard, expected)
        assert heard["Items"] == items_of(said, expected), (statement, said.parameters)
        assert heard["ConsumedCapacity"] | {"TableName": ORDINARY} == expected["ConsumedCapacity"], statement
        assert heard.get("LastEvaluatedKey") == expected.get("LastEvaluatedKey"), statement
        if "LastEvaluatedKey" not in expected:
            return
        members["ExclusiveStartKey"] = expected["LastEvaluatedKey"]
        request["NextToken"] = heard["NextToken"]


def items_of(said: Said, reply: dict[str, Any]) -> list[Any]:
    """What a statement must give for a call's reply."""
    if said.operation in ("Query", "Scan"):
        return list(reply["Items"])
    member = reply.get("Item" if said.operation == "GetItem" else "Attributes")
    return [] if member is None else [member]


def assert_same_refusal(said: Said, expected: str, heard: Any) -> None:
    if said.operation == "PutItem" and expected == CONDITION_FAILED:
        expected = DUPLICATE
    assert isinstance(heard, str), (said.statement, said.parameters, expected, heard)
    for prefix in ("Invalid UpdateExpression: ", "Invalid ConditionExpression: ", "Invalid FilterExpression: "):
        expected = expected.removeprefix(prefix)
    assert heard == expected, (said.statement, said.parameters)


def everything(twins: Twins, table: str, index: str | None) -> list[Any]:
    source = {} if index is None else {"IndexName": index}
    reply = twins.ask("Scan", {"TableName": table, **source, "ConsistentRead": index != "global"})
    return list(reply["Items"])


@pytest.mark.parametrize("kind", ["embedded", "suspending"])
@pytest.mark.parametrize("seed", range(4))
def test_statements_mean_what_expressions_mean(kind: str, seed: int) -> None:
    twins = Twins(kind, seed)
    speaker = Speaker(seed)
    try:
        for _ in range(STEPS):
            said = speaker.make()
            if said.operation in ("Query", "Scan", "GetItem"):
                twins.propagate()
            check(twins, said)
        twins.propagate()
        for index in (None, "global", "local"):
            assert everything(twins, SAID, index) == everything(twins, ORDINARY, index)
        assert everything(twins, SAID, None)
    finally:
        twins.embedded.close_now()
