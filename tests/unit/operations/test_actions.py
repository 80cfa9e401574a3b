"""Actions: their effect on a table's items, and that all writing operations agree on it."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import (
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    RequestFault,
    ValidationException,
)
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.messages.keys import ITEM_KEY_MISSING, KEY_SCHEMA_MISMATCH
from hashrange.messages.reads import CANNOT_UPDATE_KEY, ITEM_TOO_LARGE, KEY_MUST_BE_SCALAR, UPDATED_ITEM_TOO_LARGE
from hashrange.operations.items.actions import (
    Action,
    plan_action,
    requested_action,
    unconditional_delete,
    unconditional_put,
)
from hashrange.operations.items.write_expressions import legacy_parameters
from hashrange.operations.items.write_item import PUT_RULES, UPDATE_RULES, PutItemRequest, UpdateItemRequest
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.partiql.statement_writes import bind_write, check_write
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.transactions.actions import ConditionCheck, Delete, check_action, step_of
from hashrange.operations.transactions.actions import TransactWriteItem as Element
from hashrange.store.embedded import open_store
from hashrange.tables.change import Planned
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from hashrange.wire.rules import NO_RULES
from tests.support.asking import run_operation
from tests.support.samples import finish, statistics_of, table_maker
from tests.support.scopes import scope_of

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ITEM = KEY | {"n": {"N": "1"}}
INDEXED = OpenTable(
    msgspec.structs.replace(
        table_maker("orders")(1),
        indexes=(Index(1, "by-n", True, KeySchema(("n",), ("N",)), IndexProjection("ALL")),),
        attribute_types={"pk": "S", "sk": "S", "n": "N"},
    )
)
UPDATE = {
    "TableName": "orders",
    "Key": KEY,
    "UpdateExpression": "SET n = :n",
    "ExpressionAttributeValues": {":n": {"N": "2"}},
}
IS_THERE = {"ConditionExpression": "attribute_exists(pk)"}


def row_of(item: Item) -> Row:
    return encode_row(*check_item(item))


def planned(action: Action, old: Item | None = None, table: OpenTable = INDEXED) -> Item | None:
    """The item that results when the action is applied to `old`."""
    new = plan_action(table, action)[1](None if old is None else row_of(old))
    row = new.new if isinstance(new, Planned) else new
    return None if row is None else decode_row(row)


def put(**members: Any) -> Action:
    request = msgspec.convert({"TableName": "orders", "Item": ITEM} | members, PutItemRequest)
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator)
    return requested_action("put", PUT_RULES, request, request.Item, legacy)


def update(**members: Any) -> Action:
    request = msgspec.convert(UPDATE | members, UpdateItemRequest)
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator, request.AttributeUpdates)
    return requested_action("update", UPDATE_RULES, request, request.Key, legacy, update_text=request.UpdateExpression)


def statement(text: str) -> Action:
    return bind_write(INDEXED, check_write(compile_statement(text, None), None), None)


def delete(**members: Any) -> Action:
    request = msgspec.convert({"TableName": "orders", "Key": KEY} | members, Delete)
    return requested_action("delete", NO_RULES, request, request.Key)


def check(**members: Any) -> Action:
    request = msgspec.convert({"TableName": "orders", "Key": KEY} | IS_THERE | members, ConditionCheck)
    return requested_action("check", NO_RULES, request, request.Key)


# --- each kind of action --------------------------------------------------------------------------


def test_a_put_leaves_its_item() -> None:
    for action in (put(), unconditional_put("orders", ITEM, "batch"), put(**IS_THERE)):
        assert (action.kind, action.table_name, action.size_bytes) == ("put", "orders", 9)
        assert planned(action, KEY | {"a": {"S": "x"}}) == ITEM
    assert planned(put()) == ITEM


def test_an_update_changes_the_item_or_makes_one() -> None:
    by_legacy = update(
        UpdateExpression=None, ExpressionAttributeValues=None, AttributeUpdates={"n": {"Value": {"N": "2"}}}
    )
    for action in (update(), by_legacy):
        assert planned(action) == KEY | {"n": {"N": "2"}}
        assert planned(action, ITEM | {"a": {"S": "x"}}) == KEY | {"n": {"N": "2"}, "a": {"S": "x"}}
    only_key = update(UpdateExpression=None, ExpressionAttributeValues=None)
    assert planned(only_key) == KEY
    assert planned(only_key, ITEM) == ITEM


def test_a_delete_leaves_nothing_and_a_check_leaves_everything() -> None:
    for action in (delete(), delete(**IS_THERE), unconditional_delete("orders", KEY, "batch")):
        assert (action.kind, planned(action, ITEM)) == ("delete", None)
    assert planned(check(), ITEM) == ITEM


@pytest.mark.parametrize("make", [put, update, delete, check])
def test_a_false_condition_refuses_and_tells_the_size_of_the_item(make: Any) -> None:
    action = make(ConditionExpression="a = b", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    with pytest.raises(ConditionalCheckFailedException) as refused:
        planned(action, ITEM)
    assert (refused.value.size_bytes, refused.value.members) == (9, {"Item": row_of(ITEM)})
    with pytest.raises(ConditionalCheckFailedException) as refused:
        planned(action)
    assert (refused.value.size_bytes, refused.value.members) == (0, {})


def test_what_statements_do_otherwise() -> None:
    insert = statement("INSERT INTO orders VALUE {'pk': 'p', 'sk': 's', 'n': 1}")
    assert planned(insert) == ITEM
    with pytest.raises(DuplicateItemException) as refused:
        planned(insert, ITEM)
    assert refused.value.size_bytes == 9
    where = "WHERE pk = 'p' AND sk = 's'"
    assert planned(statement(f"DELETE FROM orders {where} AND n = 2")) is None
    with pytest.raises(ConditionalCheckFailedException):
        planned(statement(f"DELETE FROM orders {where} AND n = 2"), ITEM)
    with pytest.raises(ConditionalCheckFailedException):
        planned(statement(f"UPDATE orders SET a = 1 {where}"))
    assert planned(statement(f"EXISTS(SELECT * FROM orders {where} AND n = 1)"), ITEM) == ITEM


def test_the_weight_of_a_statement_counts_in_expressions_alone() -> None:
    """In PartiQL the resulting item counts, which here is far smaller than the operands of the statement."""
    text = "x" * 210_000
    heavy = update(
        UpdateExpression="SET a = if_not_exists(a, :t), b = if_not_exists(a, :t)",
        ExpressionAttributeValues={":t": {"S": text}},
    )
    old = ITEM | {"a": {"S": "y"}}
    with pytest.raises(ValidationException, match=UPDATED_ITEM_TOO_LARGE):
        planned(heavy, old)
    as_statement = msgspec.structs.replace(heavy, dialect="PartiQL")
    assert planned(as_statement, old) == old | {"b": {"S": "y"}}


# --- actions that do not fit a table --------------------------------------------------------------

MISFITS: list[tuple[Any, dict[str, Any], str]] = [
    (put, {"Item": {"pk": {"S": "p"}}}, ITEM_KEY_MISSING.format(name="sk")),
    (put, {"Item": ITEM | {"n": {"S": "x"}}}, "Type mismatch for Index Key n"),
    (put, {"ConditionExpression": "pk.a = n"}, KEY_MUST_BE_SCALAR.format(name="pk")),
    (update, {"Key": {"pk": {"S": "p"}}}, KEY_SCHEMA_MISMATCH),
    (update, {"UpdateExpression": "SET sk = :n"}, CANNOT_UPDATE_KEY.format(name="sk")),
    (update, {"ExpressionAttributeValues": {":n": {"S": "x"}}}, "Type mismatch for Index Key n"),
    (update, {"ConditionExpression": "pk.a = n"}, KEY_MUST_BE_SCALAR.format(name="pk")),
    (delete, {"Key": ITEM}, KEY_SCHEMA_MISMATCH),
    (delete, {"ConditionExpression": "pk.a = n"}, KEY_MUST_BE_SCALAR.format(name="pk")),
    (check, {"Key": ITEM}, KEY_SCHEMA_MISMATCH),
    (check, {"ConditionExpression": "pk.a = n"}, KEY_MUST_BE_SCALAR.format(name="pk")),
]


@pytest.mark.parametrize(("make", "members", "message"), MISFITS)
def test_what_does_not_fit_is_refused_before_the_item_is_known(
    make: Any, members: dict[str, Any], message: str
) -> None:
    action = make(**members)
    with pytest.raises(ValidationException) as refused:
        plan_action(INDEXED, action)
    assert message in str(refused.value.message)
    assert not isinstance(refused.value, RequestFault)
    step = step_of(INDEXED, action)
    with pytest.raises(ValidationException) as reason:
        step.plan(None)
    assert reason.value.message == refused.value.message
    has_key = "Key" not in members and len(members.get("Item", KEY)) > 1
    assert (step.key is not None) is has_key, "items named twice are seen by key even when the rest refuses"


def test_a_batch_tells_a_put_without_its_key_as_a_lookup() -> None:
    for item in ({"pk": {"S": "p"}}, ITEM | {"sk": {"N": "1"}}):
        with pytest.raises(ValidationException, match=KEY_SCHEMA_MISMATCH):
            plan_action(INDEXED, unconditional_put("orders", item, "batch"))


# --- all writing operations -----------------------------------------------------------------------

INSERT = "INSERT INTO orders VALUE {%s}"


def insert(item: Item) -> dict[str, Any]:
    members = ", ".join([f"'{name}': ?" for name in item])
    return {"Statement": INSERT % members, "Parameters": list(item.values())}


WRITERS: dict[str, Any] = {
    "PutItem": lambda item: {"TableName": "orders", "Item": item},
    "BatchWriteItem": lambda item: {"RequestItems": {"orders": [{"PutRequest": {"Item": item}}]}},
    "TransactWriteItems": lambda item: {"TransactItems": [{"Put": {"TableName": "orders", "Item": item}}]},
    "ExecuteStatement": insert,
    "BatchExecuteStatement": lambda item: {"Statements": [insert(item)]},
    "ExecuteTransaction": lambda item: {"TransactStatements": [insert(item)]},
}


@pytest.fixture
def scope() -> Iterator[Scope]:
    """A scope over a store in memory with the table `orders`."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    yield scope_of(store, clock)
    store.close_now()


def ask(scope: Scope, name: str, members: dict[str, Any]) -> Any:
    return finish(run_operation(scope, OPERATIONS[name], members))


def refusal(scope: Scope, name: str, item: Item) -> tuple[str, str]:
    """Error code and message of a refused write, wherever the operation's reply has them."""
    try:
        reply = ask(scope, name, WRITERS[name](item))
    except ApiError as error:
        reasons: Any = error.members.get("CancellationReasons")
        if reasons is None:
            return "ValidationError" if error.code == "ValidationException" else error.code, error.message or ""
        return reasons[0]["Code"], reasons[0]["Message"]
    told = reply["Responses"][0]["Error"]
    return told["Code"], told["Message"]


@pytest.mark.parametrize("name", WRITERS)
def test_all_writers_store_the_same_row(scope: Scope, name: str) -> None:
    item: Item = KEY | {
        "n": {"N": "01.50"},
        "set": {"SS": ["b", "a"]},
        "map": {"M": {"z": {"L": []}, "a": {"NULL": True}}},
    }
    ask(scope, name, WRITERS[name](item))
    table = scope.tables["orders"]
    row = finish(scope.store.get(table.source_id, table.lookup_key(KEY), consistent=True))
    assert row == row_of(item)


@pytest.mark.parametrize("name", WRITERS)
def test_all_writers_refuse_the_same(scope: Scope, name: str) -> None:
    assert refusal(scope, name, ITEM | {"text": {"S": "x" * 409_600}}) == ("ValidationError", ITEM_TOO_LARGE)
    missing = KEY_SCHEMA_MISMATCH if name == "BatchWriteItem" else ITEM_KEY_MISSING.format(name="sk")
    assert refusal(scope, name, {"pk": {"S": "p"}, "n": {"N": "1"}}) == ("ValidationError", missing)
    table = scope.tables["orders"]
    assert statistics_of(scope.store, table.source_id).item_count == 0  # type: ignore[arg-type]


def test_no_row_is_longer_than_rows_may_be(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a row's length is ours: transactions report it as a ValidationException without cancellation
    reasons, like an item's size."""
    monkeypatch.setattr("hashrange.items.rows.PACKED_BYTES_MIN", 10)
    monkeypatch.setattr("hashrange.items.rows.ROW_MAX_BYTES", 10)
    for name in WRITERS:
        assert refusal(scope, name, ITEM) == ("ValidationError", ITEM_TOO_LARGE)
    for name in ("TransactWriteItems", "ExecuteTransaction"):
        with pytest.raises(ValidationException, match=ITEM_TOO_LARGE):
            ask(scope, name, WRITERS[name](ITEM))


# --- the meter ------------------------------------------------------------------------------------

LARGE = ITEM | {"text": {"S": "x" * 3000}}
REFUSED: dict[str, dict[str, Any]] = {
    "PutItem": {"TableName": "orders", "Item": ITEM, "ConditionExpression": "n = sk"},
    "UpdateItem": UPDATE | {"ConditionExpression": "n = sk"},
    "DeleteItem": {"TableName": "orders", "Key": KEY, "ConditionExpression": "n = sk"},
    "ExecuteStatement": {"Statement": "UPDATE orders SET n = 2 WHERE pk = 'p' AND sk = 's' AND n = 5"},
    "BatchExecuteStatement": {
        "Statements": [{"Statement": "INSERT INTO orders VALUE {'pk': 'p', 'sk': 's'}"}],
        "ReturnConsumedCapacity": "TOTAL",
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_failed_condition_costs_a_write_of_the_item_that_is_there(scope: Scope, name: str) -> None:
    ask(scope, "PutItem", {"TableName": "orders", "Item": LARGE})
    operation = OPERATIONS[name]
    meter = Meter()
    request: Any = msgspec.convert(REFUSED[name], operation.request)
    try:
        finish(operation.start(scope, request, meter))
    except ApiError as error:
        assert error.code == "ConditionalCheckFailedException"
    (usage,) = meter
    assert (usage.name, usage.table_units, usage.index_units) == ("orders", 3.0, ())
    assert usage.is_write
    assert not usage.took_effect
    if name == "BatchExecuteStatement":
        assert ask(scope, name, REFUSED[name])["ConsumedCapacity"] == []


@pytest.mark.parametrize("name", WRITERS)
def test_every_write_is_metered_whether_asked_for_or_not(scope: Scope, name: str) -> None:
    operation = OPERATIONS[name]
    meter = Meter()
    reply = finish(operation.start(scope, msgspec.convert(WRITERS[name](LARGE), operation.request), meter))
    assert reply is not None
    assert "ConsumedCapacity" not in reply
    (usage,) = meter
    factor = 2 if "Transact" in name else 1
    assert (usage.name, usage.table_units, usage.is_write, usage.took_effect) == ("orders", 3.0 * factor, True, True)


def test_a_replay_is_metered_as_a_read(scope: Scope) -> None:
    operation = OPERATIONS["TransactWriteItems"]
    request: Any = msgspec.convert(
        WRITERS["TransactWriteItems"](ITEM) | {"ClientRequestToken": "token"}, operation.request
    )
    meter = Meter()
    for _ in range(2):
        finish(operation.start(scope, request, meter))
    assert [(usage.table_units, usage.is_write) for usage in meter] == [(2.0, True), (2.0, False)]


def test_check_action_wants_exactly_one() -> None:
    with pytest.raises(ValidationException):
        check_action(msgspec.convert({}, Element))
