"""Are requests with very many indexes, definitions and tags processed in pieces?
Measured in executed Python lines and comparisons, not in time.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from hashrange.errors import ApiError
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.tables.account_quotas import check_capacity
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.asking import run_operation
from tests.support.clocks import VirtualClock
from tests.support.scopes import scope_of
from tests.support.working import lines_between_looks

COUNT = 6_000
TABLES = 600
LINES_MAX = 5_000
"""Python lines allowed between two looks: fewer than any walk over COUNT members without a look takes; about 0.5 ms."""
TABLE = "many"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
HASH: dict[str, Any] = {"AttributeName": "pk", "KeyType": "HASH"}
RANGE: dict[str, Any] = {"AttributeName": "sk", "KeyType": "RANGE"}
ALL = {"ProjectionType": "ALL"}
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}

Members = dict[str, Any]


def definitions(*names: str) -> list[Members]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def names(count: int = COUNT, prefix: str = "p") -> list[str]:
    return [f"{prefix}{number:05}" for number in range(count)]


def indexes(*attributes: str, role: str = "HASH", before: tuple[Members, ...] = (), **more: Any) -> list[Members]:
    """One index for each attribute."""
    return [
        {
            "IndexName": f"by-{number}",
            "KeySchema": [*before, {"AttributeName": attribute, "KeyType": role}],
            "Projection": ALL,
            **more,
        }
        for number, attribute in enumerate(attributes)
    ]


def creation(**more: Any) -> Members:
    return {
        "TableName": "new",
        "KeySchema": [HASH],
        "AttributeDefinitions": definitions("pk"),
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


def local(count: int = COUNT, **more: Any) -> Members:
    """Local indexes, each with its own sort key."""
    return creation(
        KeySchema=[HASH, RANGE],
        AttributeDefinitions=definitions("pk", "sk", *names(count)),
        LocalSecondaryIndexes=indexes(*names(count), role="RANGE", before=(HASH,)),
        **more,
    )


def updates(kind: str, each: list[Members], **more: Any) -> Members:
    return {"TableName": TABLE, "GlobalSecondaryIndexUpdates": [{kind: one} for one in each], **more}


def creations(**more: Any) -> Members:
    return updates("Create", indexes(*names(), **more), AttributeDefinitions=definitions(*names()))


def changes(count: int = COUNT) -> list[Members]:
    return [{"IndexName": name, "ProvisionedThroughput": UNITS} for name in names(count)]


def deletions() -> list[Members]:
    return [{"IndexName": name} for name in names()]


def vector_index(name: str, **more: Any) -> Members:
    return {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "v"},
        "Projection": {"ProjectionType": "ALL"},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
        **more,
    }


def filters(*attributes: str) -> list[Members]:
    return [{"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"} for name in attributes]


PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
REQUESTS: dict[str, tuple[str, Members]] = {
    "global indexes": (
        "CreateTable",
        creation(AttributeDefinitions=definitions("pk", *names()), GlobalSecondaryIndexes=indexes(*names())),
    ),
    "provisioned global indexes": (
        "CreateTable",
        creation(GlobalSecondaryIndexes=indexes(*["pk"] * COUNT, ProvisionedThroughput=UNITS), **PROVISIONED),
    ),
    "local indexes": ("CreateTable", local()),
    "projected attributes": (
        "CreateTable",
        creation(
            GlobalSecondaryIndexes=indexes(
                *["pk"] * COUNT, Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]}
            )
        ),
    ),
    "definitions that nobody uses": (
        "CreateTable",
        creation(AttributeDefinitions=definitions("pk", *names()), GlobalSecondaryIndexes=indexes("pk")),
    ),
    "definitions without indexes": ("CreateTable", creation(AttributeDefinitions=definitions("pk", *names()))),
    "tags of a new table": ("CreateTable", creation(Tags=[{"Key": name, "Value": ""} for name in names()])),
    "created indexes": ("UpdateTable", creations()),
    "created provisioned indexes": ("UpdateTable", creations(ProvisionedThroughput=UNITS) | PROVISIONED),
    "changed indexes": ("UpdateTable", updates("Update", changes())),
    "changed provisioned indexes": ("UpdateTable", updates("Update", changes(), **PROVISIONED)),
    "deleted indexes": ("UpdateTable", updates("Delete", deletions())),
    "definitions of an update": (
        "UpdateTable",
        updates("Create", indexes("p00001"), AttributeDefinitions=definitions(*names())),
    ),
    "vector indexes": ("CreateTable", creation(VectorIndexes=[vector_index(name) for name in names()])),
    "vector indexes on many attributes": (
        "CreateTable",
        creation(VectorIndexes=[vector_index(name, VectorAttribute={"AttributeName": name}) for name in names()]),
    ),
    "a long search schema": (
        "CreateTable",
        creation(
            AttributeDefinitions=definitions("pk", *names()),
            VectorIndexes=[vector_index("vectors", SearchSchema=filters(*names()))],
        ),
    ),
    "created vector indexes": (
        "UpdateTable",
        {"TableName": TABLE, "VectorIndexUpdates": [{"Create": vector_index(name)} for name in names()]},
    ),
    "deleted vector indexes": (
        "UpdateTable",
        {"TableName": TABLE, "VectorIndexUpdates": [{"Delete": {"IndexName": name}} for name in names()]},
    ),
    "an added long search schema": (
        "UpdateTable",
        {
            "TableName": TABLE,
            "AttributeDefinitions": definitions(*names()),
            "VectorIndexUpdates": [{"Create": vector_index("vectors", SearchSchema=filters(*names()))}],
        },
    ),
    "tags": ("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": name, "Value": ""} for name in names()]}),
    "tags taken away": ("UntagResource", {"ResourceArn": ARN, "TagKeys": names()}),
}


def run(operation: str, members: Members) -> Callable[[], object]:
    """A function that runs the operation to its end, on a store with one table."""
    scope = scope_with_table()
    request: Any = msgspec.convert(members, OPERATIONS[operation].request)

    return lambda: perform(scope, operation, request)


def perform(scope: Scope, operation: str, request: Any) -> None:
    """Run the operation to its end, whether it succeeds or is refused."""
    with pytest.raises((ApiError, StopIteration)):
        run_operation(scope, OPERATIONS[operation], request).send(None)


def scope_with_table() -> Scope:
    clock = VirtualClock()
    scope = scope_of(open_store(None, clock, None), clock)
    perform(scope, "CreateTable", msgspec.convert(creation(TableName=TABLE), OPERATIONS["CreateTable"].request))
    clock.advance(1.0)
    return scope


@pytest.mark.parametrize("name", REQUESTS)
def test_very_many_members_give_way(name: str) -> None:
    assert 0 < lines_between_looks(run(*REQUESTS[name])) <= LINES_MAX


class Compared(str):
    """A text that counts its comparisons; comparing or hashing it executes lines of Python."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Compared.compared += 1
        return str.__eq__(self, other)

    def __lt__(self, other: str) -> bool:
        return str.__lt__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


@pytest.mark.parametrize("name", ["global indexes", "local indexes", "created indexes"])
def test_an_attribute_is_not_looked_for_in_a_list(name: str) -> None:
    """A search in a list would compare each of thousands of names with all names before it."""
    operation, members = REQUESTS[name]
    request: Any = msgspec.convert(members, OPERATIONS[operation].request)
    del request.AttributeDefinitions[1000:]
    for definition in request.AttributeDefinitions:
        msgspec.structs.force_setattr(definition, "AttributeName", Compared(definition.AttributeName))
    Compared.compared = 0
    perform(scope_with_table(), operation, request)
    assert Compared.compared <= 20_000


def test_tags_taken_away_are_not_hashed_at_once() -> None:
    request: Any = msgspec.convert({"ResourceArn": ARN, "TagKeys": []}, OPERATIONS["UntagResource"].request)
    request.TagKeys.extend(map(Compared, names()))
    scope = scope_with_table()
    assert 0 < lines_between_looks(lambda: perform(scope, "UntagResource", request)) <= LINES_MAX


@pytest.mark.parametrize("count", [0, COUNT], ids=["definitions", "keys"])
def test_what_a_refusal_lists_is_sorted_in_pieces(count: int) -> None:
    """Sorting all names at once would need three times as many comparisons as this test allows."""
    texts = names()
    random.Random(1).shuffle(texts)
    members = creation(
        AttributeDefinitions=definitions("pk", "unused", *texts), GlobalSecondaryIndexes=indexes("pk", *texts[:count])
    )
    request: Any = msgspec.convert(members, OPERATIONS["CreateTable"].request)
    elements = [element for index in request.GlobalSecondaryIndexes for element in index.KeySchema]
    for element in request.AttributeDefinitions if not count else elements:
        msgspec.structs.force_setattr(element, "AttributeName", Compared(element.AttributeName))
    scope = scope_with_table()
    assert 0 < lines_between_looks(lambda: perform(scope, "CreateTable", request)) <= 5 * COUNT


def test_very_many_tables_and_streams_are_listed_in_pieces() -> None:
    clock = VirtualClock()
    scope = scope_of(open_store(None, clock, None), clock)
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    for number in range(TABLES):
        members = creation(TableName=f"{TABLE}-{number}", StreamSpecification=stream)
        perform(scope, "CreateTable", msgspec.convert(members, OPERATIONS["CreateTable"].request))
    clock.advance(1.0)
    for name, lines_max in (("ListTables", 2 * TABLES), ("ListStreams", 8 * TABLES)):
        request: Any = OPERATIONS[name].request()
        assert 0 < lines_between_looks(partial(perform, scope, name, request)) <= lines_max


def test_quotas_and_watches_of_very_many_tables_are_looked_at_in_pieces() -> None:
    clock = VirtualClock()
    scope = scope_of(open_store(None, clock, None), clock, Settings(data_dir=None, throughput="enforced"))
    for number in range(TABLES // 4):
        members = creation(TableName=f"{TABLE}-{number}")
        perform(scope, "CreateTable", msgspec.convert(members, OPERATIONS["CreateTable"].request))
        clock.advance(1.0)
        watched = {"TableName": f"{TABLE}-{number}", "ContributorInsightsAction": "ENABLE"}
        operation = OPERATIONS["UpdateContributorInsights"]
        perform(scope, operation.name, msgspec.convert(watched, operation.request))
    clock.advance(1.0)
    (table,) = [table.schema for name, table in scope.tables.items() if name == f"{TABLE}-0"]
    assert 0 < lines_between_looks(partial(check_capacity, scope, table, table)) <= 2 * TABLES
    request: Any = OPERATIONS["ListContributorInsights"].request()
    assert 0 < lines_between_looks(partial(perform, scope, "ListContributorInsights", request)) <= 3 * TABLES
