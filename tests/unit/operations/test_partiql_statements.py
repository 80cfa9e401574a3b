"""Compiled PartiQL statements are shared between tables and Regions:
their access path must fit the table in use, not an earlier one.
"""

import weakref
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError, ValidationException
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.operations.operation import Scope
from hashrange.operations.partiql.statements import cached_for_last_table
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from hashrange.tables.open_table import OpenTable
from tests.model.world import drive
from tests.support.asking import run_operation
from tests.support.samples import table_maker
from tests.support.scopes import scope_of
from tests.support.working import give_way_always

SELECT = "SELECT * FROM orders WHERE pk = 'a' AND sk = 1"
UPDATE = "UPDATE orders SET n = 1 WHERE pk = 'a' AND sk = 1 RETURNING ALL NEW *"


@pytest.fixture
def scopes() -> Iterator[tuple[Scope, Scope]]:
    """Scopes of two Regions of one store; `orders` has a sort key in the first Region only."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    pair = tuple(scope_of(store, clock, region=region) for region in ("eu-west-1", "us-east-1"))
    make_table(pair[0], {"pk": "S", "sk": "N"})
    make_table(pair[1], {"pk": "S"})
    yield pair[0], pair[1]
    store.close_now()


def make_table(scope: Scope, keys: dict[str, str]) -> None:
    roles = zip(keys, ("HASH", "RANGE"), strict=False)
    ask(scope, "CreateTable", {
        "TableName": "orders", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()],
        "KeySchema": [{"AttributeName": name, "KeyType": role} for name, role in roles],
    })  # fmt: skip
    ask(scope, "DescribeTable", {"TableName": "orders"})


def ask(scope: Scope, operation: str, members: dict[str, Any]) -> Any:
    record = OPERATIONS[operation]
    request: Any = msgspec.convert(members, record.request)
    return drive(run_operation(scope, record, request))


def say(scope: Scope, statement: str, **members: Any) -> Any:
    return ask(scope, "ExecuteStatement", {"Statement": statement, **members})["Items"]


def test_the_same_text_means_what_each_table_makes_of_it(scopes: tuple[Scope, Scope]) -> None:
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    other = {"pk": {"S": "a"}, "sk": {"N": "2"}}
    ask(scopes[0], "PutItem", {"TableName": "orders", "Item": item})
    ask(scopes[1], "PutItem", {"TableName": "orders", "Item": other})
    for _ in range(2):
        assert say(scopes[0], SELECT) == [item]
        assert say(scopes[1], SELECT) == []  # in the second Region, sk is only a filter
    assert say(scopes[0], UPDATE) == [item | {"n": {"N": "1"}}]
    with pytest.raises(ApiError, match="conditional request failed"):
        say(scopes[1], UPDATE)
    assert say(scopes[0], UPDATE) == [item | {"n": {"N": "1"}}]


def test_a_plan_follows_a_table_that_changes(scopes: tuple[Scope, Scope]) -> None:
    scope = scopes[0]
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "g": {"S": "x"}}
    ask(scope, "PutItem", {"TableName": "orders", "Item": item})
    assert say(scope, SELECT) == [item]
    statement = "SELECT * FROM orders.\"by_g\" WHERE g = 'x'"
    with pytest.raises(ValidationException, match="does not have the specified index"):
        say(scope, statement)
    ask(
        scope,
        "UpdateTable",
        {
            "TableName": "orders",
            "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "by_g",
                        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        },
    )
    assert say(scope, statement) == [item]
    ask(scope, "UpdateTable", {
        "TableName": "orders", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by_g"}}],
    })  # fmt: skip
    with pytest.raises(ValidationException, match="does not have the specified index"):
        say(scope, statement)


def test_a_text_is_compiled_once_for_each_types_of_its_parameters() -> None:
    text = "SELECT * FROM t WHERE a = ? AND b = ?"
    one = compile_statement(text, [{"S": "x"}, {"N": "1"}])
    assert compile_statement(text, [{"S": "y"}, {"N": "2"}]) is one
    assert compile_statement(text, [{"S": "y"}, {"S": "2"}]) is not one


def test_values_of_one_request_do_not_reach_the_next() -> None:
    text = "SELECT * FROM t WHERE a = ? AND b = [?, 'k'] AND c = 'l'"
    statement = compile_statement(text, [{"S": "x"}, {"N": "01"}])
    first = statement.values([{"S": "x"}, {"N": "01"}])
    second = statement.values([{"S": "y"}, {"N": "2"}])
    assert list(first.values()) == [{"S": "l"}, {"S": "x"}, {"L": [{"N": "1"}, {"S": "k"}]}]
    assert list(second.values()) == [{"S": "l"}, {"S": "y"}, {"L": [{"N": "2"}, {"S": "k"}]}]


def test_what_a_statement_comes_to_goes_with_it() -> None:
    """The bindings of a statement too long for the cache are freed with it; otherwise they and their tables would
    fill the memory."""
    bound = cached_for_last_table(lambda table, _: table)
    tables = [OpenTable(table_maker(name)(1)) for name in "ab"]
    text = f"SELECT * FROM t WHERE a = '{'x' * 10_000}'"
    statement = compile_statement(text, None)
    assert compile_statement(text, None) is not statement
    for table in (tables[0], tables[1], tables[0]):
        assert bound(table, statement) is table
    gone = weakref.ref(statement)
    del statement
    assert gone() is None


@pytest.mark.parametrize("terms", [140, 700], ids=["good", "too many operators"])
def test_a_batch_of_many_new_texts_gives_others_their_turn(scopes: tuple[Scope, Scope], terms: int) -> None:
    """Parsing 25 long statements in one piece would block the loop for about 0.2 s."""
    blanks = " OR a = 'x'" * terms
    texts = [f"SELECT * FROM orders WHERE pk = '{number}' AND sk = 1 AND (b = 1{blanks})" for number in range(25)]
    record = OPERATIONS["BatchExecuteStatement"]
    request: Any = msgspec.convert({"Statements": [{"Statement": text} for text in texts]}, record.request)
    turns, reply = give_way_always(run_operation(scopes[0], record, request))
    assert turns >= 25
    assert len(reply["Responses"]) == 25
