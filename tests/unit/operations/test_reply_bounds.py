"""Replies whose JSON is far longer than the items' sizes: a page ends early, a transaction is refused,
a batch leaves keys unprocessed.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.clock import SystemClock
from hashrange.errors import ValidationException
from hashrange.items import packing
from hashrange.items.row_layout import ROW_HEADER_BYTES, row_json_bytes, rows_json_bytes
from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.limits import GET_RECORDS_MAX_BYTES, REPLY_JSON_MAX_BYTES
from hashrange.operations.items import query, scan
from hashrange.operations.items.read_page import read_page
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql import batch_execute_statement, execute_statement, execute_transaction, select_reads
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.tables import create_table
from hashrange.operations.transactions import commit, transact_get_items, transact_write_items
from hashrange.settings import Settings
from hashrange.store import transaction_steps
from hashrange.store.embedded import open_store
from tests.support.asking import run_operation
from tests.support.samples import finish

ITEMS = 12
NUMBERS = {"L": [{"N": "1E-130"}] * 100}
BOUND = 54_000
"""Limit of JSON in a reply: each item has 14,000 characters of JSON, so the fourth one reaches it."""
FILLING = 4
DEFAULTS: dict[str, Any] = read_page.__kwdefaults__ or {}


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scope]:
    """A scope over a store in memory with ITEMS items of much JSON in one partition of `orders`, which has a local
    index."""
    for module in (select_reads, commit, transaction_steps, batch_execute_statement):
        monkeypatch.setattr(module, "REPLY_JSON_MAX_BYTES", BOUND)
    monkeypatch.setitem(DEFAULTS, "limit_json_bytes", BOUND)
    clock = SystemClock()
    store = open_store(None, clock, None)
    scope = Scope("000000000000", "us-east-1", store, clock, Settings())
    keys = [("pk", "HASH"), ("sk", "RANGE")]
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in keys]
    index = {
        "IndexName": "local",
        "KeySchema": [schema[0], {"AttributeName": "place", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    asked = {
        "TableName": "orders",
        "KeySchema": schema,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "place")],
        "LocalSecondaryIndexes": [index],
        "BillingMode": "PAY_PER_REQUEST",
    }
    finish(run_operation(scope, create_table.OPERATION, asked))
    for place in range(ITEMS):
        item = key(place) | {"place": {"S": f"{place:02}"}, "v": NUMBERS}
        finish(run_operation(scope, OPERATIONS["PutItem"], {"TableName": "orders", "Item": item}))
    yield scope
    store.close_now()


def key(place: int) -> dict[str, Any]:
    return {"pk": {"S": "a"}, "sk": {"S": f"{place:02}"}}


def ask(scope: Scope, operation: Operation[JsonWire], body: dict[str, Any]) -> Any:
    return finish(run_operation(scope, operation, body))


OF_PARTITION = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}
PAGES: dict[str, tuple[Operation[JsonWire], dict[str, Any]]] = {
    "Scan": (scan.OPERATION, {}),
    "Scan with a projection": (scan.OPERATION, {"ProjectionExpression": "sk"}),
    "Query": (query.OPERATION, OF_PARTITION),
    "Query in reverse": (query.OPERATION, OF_PARTITION | {"ScanIndexForward": False}),
    "Query that fetches items": (query.OPERATION, OF_PARTITION | {"IndexName": "local", "Select": "ALL_ATTRIBUTES"}),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_ends_with_the_item_that_reaches_the_bound(scope: Scope, name: str) -> None:
    operation, members = PAGES[name]
    found: list[str] = []
    counts = []
    start: dict[str, Any] = {}
    while True:
        asked = {"TableName": "orders", "ReturnConsumedCapacity": "TOTAL"} | members | start
        reply = ask(scope, operation, asked)
        found += [item["sk"]["S"] for item in reply["Items"]]
        counts.append((reply["Count"], reply["ScannedCount"]))
        if "LastEvaluatedKey" not in reply:
            break
        assert reply["LastEvaluatedKey"]["sk"]["S"] == found[-1]
        start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}
    places = [f"{place:02}" for place in range(ITEMS)]
    assert found == (places[::-1] if "reverse" in name else places)
    assert counts[: ITEMS // FILLING] == [(FILLING, FILLING)] * (ITEMS // FILLING)


def test_a_page_that_ends_early_is_charged_for_what_it_read(scope: Scope) -> None:
    asked = {"TableName": "orders", "ReturnConsumedCapacity": "TOTAL"} | OF_PARTITION
    capacity = [ask(scope, query.OPERATION, asked | {"Limit": limit})["ConsumedCapacity"] for limit in (FILLING, 9)]
    assert capacity[0] == capacity[1]


def test_a_page_has_one_item_at_least(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFAULTS, "limit_json_bytes", 1)
    reply = ask(scope, scan.OPERATION, {"TableName": "orders"})
    assert (reply["Count"], reply["LastEvaluatedKey"]) == (1, key(0))


@pytest.mark.parametrize("where", ["", " WHERE pk='a'", " WHERE pk IN ['none', 'a']"])
def test_a_select_goes_on_behind_the_bound(scope: Scope, where: str) -> None:
    asked: dict[str, Any] = {"Statement": "SELECT sk FROM orders" + where}
    pages: list[list[str]] = []
    token: dict[str, Any] = {}
    while not pages or token:
        reply = ask(scope, execute_statement.OPERATION, asked | token)
        pages.append([item["sk"]["S"] for item in reply["Items"]])
        token = {"NextToken": reply["NextToken"]} if "NextToken" in reply else {}
    assert [len(page) for page in pages][: ITEMS // FILLING] == [FILLING] * (ITEMS // FILLING)
    assert [place for page in pages for place in page] == [f"{place:02}" for place in range(ITEMS)]


def test_spans_of_one_page_share_the_bound(scope: Scope) -> None:
    keys = ", ".join([f"'{place:02}'" for place in range(ITEMS)])
    statement = f"SELECT sk FROM orders WHERE pk='a' AND sk IN [{keys}]"
    reply = ask(scope, execute_statement.OPERATION, {"Statement": statement})
    assert len(reply["Items"]) == FILLING
    following = ask(scope, execute_statement.OPERATION, {"Statement": statement, "NextToken": reply["NextToken"]})
    assert following["Items"][0]["sk"] == {"S": f"{FILLING:02}"}


def transaction_read(count: int) -> list[tuple[Operation[JsonWire], dict[str, Any]]]:
    gets = [{"Get": {"TableName": "orders", "Key": key(place)}} for place in range(count)]
    texts = [f"SELECT * FROM orders WHERE pk='a' AND sk='{place:02}'" for place in range(count)]
    return [
        (transact_get_items.OPERATION, {"TransactItems": gets}),
        (execute_transaction.OPERATION, {"TransactStatements": [{"Statement": text} for text in texts]}),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_a_transaction_that_reads_more_is_refused(scope: Scope, which: int) -> None:
    operation, body = transaction_read(FILLING - 1)[which]
    assert len(ask(scope, operation, body)["Responses"]) == FILLING - 1
    for count in (FILLING, ITEMS):
        operation, body = transaction_read(count)[which]
        with pytest.raises(ValidationException, match="exceeding the 4MB limit"):
            ask(scope, operation, body)


def test_a_transaction_whose_refusals_tell_more_is_refused(scope: Scope) -> None:
    checks = [
        {
            "ConditionCheck": {
                "TableName": "orders",
                "Key": key(place),
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }
        for place in range(ITEMS)
    ]
    with pytest.raises(ValidationException, match="exceeding the 4MB limit"):
        ask(scope, transact_write_items.OPERATION, {"TransactItems": checks})


def test_a_batch_of_statements_tells_what_did_not_fit(scope: Scope) -> None:
    texts = [f"SELECT * FROM orders WHERE pk='a' AND sk='{place:02}'" for place in range(ITEMS)]
    reply = ask(scope, batch_execute_statement.OPERATION, {"Statements": [{"Statement": text} for text in texts]})
    assert ["Item" in one for one in reply["Responses"]] == [place < FILLING for place in range(ITEMS)]
    assert {one["Error"]["Code"] for one in reply["Responses"][FILLING:]} == {"ThrottlingError"}


def test_a_statement_that_did_not_fit_has_done_nothing(scope: Scope) -> None:
    texts = [
        f"DELETE FROM orders WHERE pk='a' AND sk='{place:02}'" + (" RETURNING ALL OLD *" if place < ITEMS - 1 else "")
        for place in range(ITEMS)
    ]
    reply = ask(scope, batch_execute_statement.OPERATION, {"Statements": [{"Statement": text} for text in texts]})
    assert ["Error" in one for one in reply["Responses"]] == [FILLING <= place < ITEMS - 1 for place in range(ITEMS)]
    left = ask(scope, scan.OPERATION, {"TableName": "orders", "Select": "COUNT", "Limit": 1})
    assert left["Count"] == 1
    found = [place for place in range(ITEMS) if read(scope, place)]
    assert found == list(range(FILLING, ITEMS - 1))


def test_items_of_failed_conditions_count_too(scope: Scope) -> None:
    texts = [f"DELETE FROM orders WHERE pk='a' AND sk='{place:02}' AND x = 1" for place in range(ITEMS)]
    shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    statements = [{"Statement": text} | shown for text in texts]
    reply = ask(scope, batch_execute_statement.OPERATION, {"Statements": statements})
    assert ["Item" in one["Error"] for one in reply["Responses"]] == [place < FILLING for place in range(ITEMS)]
    assert {one["Error"]["Code"] for one in reply["Responses"][FILLING:]} == {"ThrottlingError"}


def read(scope: Scope, place: int) -> Any:
    body = {"TransactItems": [{"Get": {"TableName": "orders", "Key": key(place)}}]}
    return ask(scope, transact_get_items.OPERATION, body)["Responses"][0]


def test_records_of_a_page_are_short_because_what_is_stored_is() -> None:
    """GetRecords limits a page by stored bytes: expanded by the longest substitution per byte, a page still fits the
    limit of JSON."""
    longest = max(map(len, packing.SUBSTITUTIONS.values()))
    assert longest * GET_RECORDS_MAX_BYTES <= REPLY_JSON_MAX_BYTES


@pytest.mark.parametrize(
    "value",
    [
        {"L": [{"S": ""}] * 100_000},
        {"L": [{"NULL": True}] * 100_000},
        {"L": [{"BOOL": False}] * 100_000},
        {"S": "\x01" * 300_000},
        {"L": [{"N": "1E-130"}] * 27_000},
        {"M": {f"{number:x}": {"L": []} for number in range(50_000)}},
        {"S": "a"},
    ],
)
def test_the_length_of_json_is_counted(value: dict[str, Any]) -> None:
    item, size_bytes = check_item({"p": {"S": ""}, "v": value})
    row = encode_row(item, size_bytes)
    short = encode_row({"p": {"S": ""}}, 1)
    assert (
        0
        <= rows_json_bytes([short, row, short]) - row_json_bytes(row) - 2 * row_json_bytes(short)
        <= 3 * ROW_HEADER_BYTES
    )
