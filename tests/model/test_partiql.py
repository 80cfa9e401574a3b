"""Random statements and the equivalent requests with expressions, on twin tables:
both must always give the same result.

Compared are: items, pages and their LastEvaluatedKey, capacity for table and indexes, refusals, and in the end every
row and index entry. `HASHRANGE_TEST_PARTIQL_STEPS` sets how many steps a walk has.
"""

import asyncio
import os
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from tests.model.statements import Said, Speaker
from tests.model.world import drive
from tests.support.asking import run_operation
from tests.support.scopes import scope_of
from tests.support.stores import as_distributed

STEPS = int(os.environ.get("HASHRANGE_TEST_PARTIQL_STEPS", "300"))
ORDINARY, SAID = "ordinary", "said"
DUPLICATE = "Duplicate primary key exists in table"
CONDITION_FAILED = "The conditional request failed"


class Twins:
    """Two equal tables over one store."""

    def __init__(self, kind: str, seed: int) -> None:
        self.embedded = open_store(None, SystemClock(), None)
        self.suspending = as_distributed(self.embedded, seed) if kind == "suspending" else None
        store: Any = self.suspending or self.embedded
        self.scope = scope_of(store, SystemClock())
        for name in (ORDINARY, SAID):
            self.ask("CreateTable", table_request(name))

    def ask(self, operation: str, members: dict[str, Any]) -> Any:
        record = OPERATIONS[operation]
        request: Any = msgspec.convert(members, record.request)
        return by_value(drive(run_operation(self.scope, record, request)))

    def outcome(self, operation: str, members: dict[str, Any]) -> Any:
        """The reply, or the refusal's message."""
        try:
            return self.ask(operation, members)
        except ApiError as refusal:
            return f"{refusal.message}"

    def propagate(self) -> None:
        """Write all pending entries of the global index."""
        if self.suspending is not None:
            asyncio.run(self.suspending.propagate())


def by_value(reply: Any) -> Any:
    """The reply with number sets listed by value: a Query lists them so, a statement in another order."""
    if isinstance(reply, list):
        return [by_value(one) for one in reply]
    if not isinstance(reply, dict):
        return reply
    if reply.keys() == {"NS"} and isinstance(reply["NS"], list):
        return {"NS": sorted(reply["NS"], key=Decimal)}
    return {name: by_value(member) for name, member in reply.items()}


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
    """Compare both forms of one request, on all pages."""
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
        if any("L" in parameter or "M" in parameter for parameter in said.parameters):
            assert twins.outcome("ExecuteStatement", request) == "NextToken does not match request"
            return


def items_of(said: Said, reply: dict[str, Any]) -> list[Any]:
    """The items that a statement must return where the call returns this reply."""
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


# --- several at once ------------------------------------------------------------------------------

ACTIONS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}
CODES = {CONDITION_FAILED: "ConditionalCheckFailed", DUPLICATE: "DuplicateItem"}


def without_returning(said: Said) -> Said:
    """The same write, without a ReturnValues member."""
    members = {name: member for name, member in said.members.items() if name != "ReturnValues"}
    return said._replace(members=members, statement=said.statement.partition(" RETURNING ")[0])


def group(speaker: Speaker, operations: set[str], size: int) -> list[Said]:
    """This many requests of these operations, each for another item."""
    found: dict[str, Said] = {}
    while len(found) < size:
        said = speaker.make()
        if said.operation in operations:
            key = said.members["Item" if said.operation == "PutItem" else "Key"]
            found.setdefault(f"{key['pk']} {key['sk']}", without_returning(said))
    return list(found.values())


def statement_of(said: Said) -> dict[str, Any]:
    request: dict[str, Any] = {"Statement": said.statement.replace("{t}", SAID)}
    return request | ({"Parameters": said.parameters} if said.parameters else {})


def reasons_of(twins: Twins, operation: str, members: dict[str, Any]) -> Any:
    """The reply, the reasons of a cancelled transaction, or a refusal's message."""
    try:
        return twins.ask(operation, members)
    except ApiError as refusal:
        return refusal.members.get("CancellationReasons", refusal.message)


def check_transaction(twins: Twins, group: list[Said]) -> None:
    """Compare both forms of the same writes, each in one transaction."""
    actions = [{ACTIONS[said.operation]: {"TableName": ORDINARY, **said.members}} for said in group]
    figures = {"ReturnConsumedCapacity": "INDEXES"}
    expected = reasons_of(twins, "TransactWriteItems", {"TransactItems": actions, **figures})
    heard = reasons_of(
        twins, "ExecuteTransaction", {"TransactStatements": [statement_of(said) for said in group], **figures}
    )
    if isinstance(expected, list):
        for said, reason in zip(group, expected, strict=True):
            if said.operation == "PutItem" and reason["Code"] == "ConditionalCheckFailed":
                reason |= {"Code": "DuplicateItem", "Message": DUPLICATE}
            if said.operation == "DeleteItem" and "ConditionExpression" in said.members and reason["Code"] == "None":
                found = twins.ask("GetItem", {"TableName": ORDINARY, "Key": said.members["Key"]})
                reason |= {} if "Item" in found else {"Code": "ConditionalCheckFailed", "Message": CONDITION_FAILED}
        assert heard == expected, group
    elif isinstance(expected, dict):
        assert [figure | {"TableName": ORDINARY} for figure in heard["ConsumedCapacity"]] == expected[
            "ConsumedCapacity"
        ]
        assert heard["Responses"] == []
    else:
        assert isinstance(heard, str), (group, expected, heard)


def check_batch(twins: Twins, group: list[Said]) -> None:
    """Compare a batch of statements with the calls one by one."""
    replies = twins.ask("BatchExecuteStatement", {
        "Statements": [statement_of(said) | said.more for said in group], "ReturnConsumedCapacity": "INDEXES",
    })  # fmt: skip
    capacities = iter(replies["ConsumedCapacity"])
    for said, reply in zip(group, replies["Responses"], strict=True):
        members = {"TableName": ORDINARY, **said.members, "ReturnConsumedCapacity": "INDEXES"}
        expected = twins.outcome(said.operation, members)
        if isinstance(expected, str):
            assert_same_refusal(said, expected, reply["Error"]["Message"])
            assert reply["Error"]["Code"] == CODES.get(reply["Error"]["Message"], "ValidationError")
            continue
        assert reply == {"TableName": SAID} | {name: expected[name] for name in ("Item",) if name in expected}
        assert next(capacities) | {"TableName": ORDINARY} == expected["ConsumedCapacity"]


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


@pytest.mark.parametrize("kind", ["embedded", "suspending"])
@pytest.mark.parametrize("seed", range(10, 13))
def test_transactions_and_batches_mean_what_the_ordinary_ones_mean(kind: str, seed: int) -> None:
    twins = Twins(kind, seed)
    speaker = Speaker(seed)
    writes = set(ACTIONS)
    try:
        for _ in range(STEPS // 10):
            check_transaction(twins, group(speaker, writes, speaker.chance.choice([1, 1, 2, 3])))
            check_batch(twins, group(speaker, writes, speaker.chance.randint(1, 4)))
            check_batch(twins, group(speaker, {"GetItem"}, speaker.chance.randint(1, 4)))
        for index in (None, "local"):
            assert everything(twins, SAID, index) == everything(twins, ORDINARY, index)
        assert everything(twins, SAID, None)
    finally:
        twins.embedded.close_now()
