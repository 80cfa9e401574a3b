"""What the tables of a model answer, and that nothing is left of them."""

from itertools import repeat
from typing import Any

import pytest

from hashrange.testing import Database
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.models import running
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.models.lint import find
from hashrange.toolkit.models.running import run_model
from hashrange.toolkit.target import Target
from tests.unit.toolkit.models.documents import NOTES, SHOP, changed, read

ORDERS = "accessPatterns/0"


def tables(database: Database) -> list[str]:
    found: list[str] = database.call("ListTables", {})["TableNames"]
    return found


def test_each_operation_answers(database: Database, target: Target) -> None:
    document = read(NOTES)
    assert list(document_faults(document)) == []
    run = run_model(target, document, is_kept=False, waits=False)
    assert [one.refusal for one in run.patterns] == ["", "", ""]
    search, query, index = run.patterns
    assert [one.vector_bytes > 0 for one in run.patterns] == [True, False, False]
    assert [one.item_count for one in (search, query, index)] == [2, 1, 1]
    assert [one.rule for one in find(document, run)] == ["several-tables"]
    assert tables(database) == []


def test_items_and_units_are_those_of_the_service(database: Database, target: Target) -> None:
    run = run_model(target, read(SHOP), is_kept=True, waits=True)
    try:
        assert (run.item_count, run.write_units) == (3, 5.0)  # both orders have an entry in GSI1
        assert [(one.item_count, one.read_units, one.requests) for one in run.patterns] == [
            (3, 0.5, 1),
            (1, 0.5, 1),
            (1, 0.5, 1),
        ]
        stored = database.call(
            "GetItem", {"TableName": "Shop", "Key": {"PK": {"S": "CUSTOMER#ann"}, "SK": {"S": "PROFILE"}}}
        )
        assert stored["Item"] == {
            "PK": {"S": "CUSTOMER#ann"},
            "SK": {"S": "PROFILE"},
            "kind": {"S": "Customer"},
            "customer": {"S": "ann"},
            "name": {"S": "Ann"},
        }
    finally:
        database.call("DeleteTable", {"TableName": "Shop"})


def test_all_pages_are_read_except_with_a_limit(target: Target) -> None:
    large = changed({"entities/1/attributes/note": {"type": "S"}})
    for number in range(4):
        sample = {"customer": "ann", "created": f"2026-12-0{number}", "status": "open", "shop": "b", "total": 1}
        large["entities"][1]["samples"].append(sample | {"note": "x" * 390_000})
    documents = [read(changed(changes, large)) for changes in ({}, {ORDERS + "/limit": 2})]
    runs = [run_model(target, one, is_kept=False, waits=False) for one in documents]
    whole, limited = [one.patterns[0] for one in runs]
    assert "several-requests" in {one.rule for one in find(documents[0], runs[0])}
    assert "several-requests" not in {one.rule for one in find(documents[1], runs[1])}
    assert (whole.item_count, whole.requests > 1) == (7, True)
    assert (limited.item_count, limited.requests) == (2, 1)


def test_filters_take_each_type(target: Target) -> None:
    filters = [
        {"attribute": "paid", "condition": "=", "values": ["true"]},
        {"attribute": "total", "condition": "between", "values": ["{low}", "25"]},
        {"attribute": "status", "condition": "contains", "values": ["pe"]},
        {"attribute": "count", "condition": "missing"},
    ]
    values = {"customer": "ann", "low": 15}
    made = changed({ORDERS + "/filter": filters, ORDERS + "/sample/values": values})
    assert run_model(target, read(made), is_kept=False, waits=False).patterns[0].item_count == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"entities/1/samples/1/created": "2026-11-01"},
            'sample 2 of the entity Order has the key of an item before it, {"PK":{"S":"CUSTOMER#ann"},"SK":{"S":',
        ),
        ({"tables/0/TableName": "No good"}, "us-east-1 at "),
        ({"tables/0/BillingMode": "PROVISIONED"}, "us-east-1 at "),
    ],
)
def test_what_the_service_refuses_is_told_and_leaves_nothing(
    database: Database, target: Target, changes: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ToolkitFailure) as raised:
        run_model(target, read(changed(changes)), is_kept=True, waits=False)
    assert str(raised.value).startswith(sentence)
    assert tables(database) == []


def test_tables_that_cannot_be_deleted_are_named(
    database: Database, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Target.ask

    def refused(target: Target, service: str, asked: str, /, **members: Any) -> Any:
        if asked == "delete_table" and members["TableName"] == "Notes":
            raise ToolkitFailure("it is in use.")
        return ask(target, service, asked, **members)

    with monkeypatch.context() as patched:
        patched.setattr(Target, "ask", refused)
        with pytest.raises(ToolkitFailure, match=r"have to be deleted by hand: Notes \(it is in use\)\.$"):
            run_model(target, read(NOTES), is_kept=False, waits=False)
    assert tables(database) == ["Notes"]
    database.call("DeleteTable", {"TableName": "Notes"})


def test_a_table_that_is_there_stays_as_it_is(database: Database, target: Target) -> None:
    members = {"TableName": "Authors", "BillingMode": "PAY_PER_REQUEST"}
    key = {"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
           "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}]}  # fmt: skip
    database.call("CreateTable", members | key)
    with pytest.raises(ToolkitFailure, match="ResourceInUseException"):
        run_model(target, read(NOTES), is_kept=False, waits=False)
    assert tables(database) == ["Authors"]
    database.call("DeleteTable", {"TableName": "Authors"})


def test_patterns_are_run_again_where_items_are_seen_later(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Target.ask
    asked: list[str] = []

    def late(target: Target, service: str, operation: str, /, **members: Any) -> Any:
        if operation == "get_item":
            asked.append(operation)
            if len(asked) < 3:
                return {}
        return ask(target, service, operation, **members)

    monkeypatch.setattr(Target, "ask", late)
    monkeypatch.setattr(running, "pauses", lambda: repeat(None))
    assert run_model(target, read(SHOP), is_kept=False, waits=True).patterns[1].item_count == 1
    asked.clear()
    assert run_model(target, read(SHOP), is_kept=False, waits=False).patterns[1].item_count == 0
