"""Expressions of white space only: a syntax error that shows the text as it was sent;
only the empty text counts as empty.

Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4).
"""

from typing import Any

import pytest

from tests.conformance.item_tables import ENVELOPE, DataTable, fresh_key, text
from tests.conformance.tables import validation

BLANKS = [" ", "   ", "\t", "\r\n", " \t \n"]
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "ProjectionExpression": ("GetItem", {"Key": {"pk": text("a")}}),
    "KeyConditionExpression": ("Query", {}),
    "FilterExpression": ("Scan", {}),
}


def syntax(member: str, blank: str) -> str:
    return f'Invalid {member}: Syntax error; token: "<EOF>", near: "{blank}"'


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_writes_of_single_items_report_it_in_the_envelope(table: DataTable, operation: str, blank: str) -> None:
    own = {"Item" if operation == "PutItem" else "Key": fresh_key()}
    for member in (
        ("ConditionExpression", "UpdateExpression") if operation == "UpdateItem" else ("ConditionExpression",)
    ):
        assert table.refusal(operation, **own, **{member: blank}) == ENVELOPE + syntax(member, blank)
        empty = f"{ENVELOPE}Invalid {member}: The expression can not be empty;"
        assert table.refusal(operation, **own, **{member: ""}) == empty


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("member", READS)
def test_reads_report_it_bare(table: DataTable, member: str, blank: str) -> None:
    operation, others = READS[member]
    assert table.refusal(operation, **others, **{member: blank}) == syntax(member, blank)
    batch = {"RequestItems": {table.name: {"Keys": [fresh_key()], "ProjectionExpression": blank}}}
    assert validation(table.raw, "BatchGetItem", batch) == syntax("ProjectionExpression", blank)


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("action", ["Put", "Update", "Delete", "ConditionCheck", "Get"])
def test_transactions_report_it_bare(table: DataTable, action: str, blank: str) -> None:
    operation = "TransactGetItems" if action == "Get" else "TransactWriteItems"
    member = {"Update": "UpdateExpression", "Get": "ProjectionExpression"}.get(action, "ConditionExpression")
    own = {"TableName": table.name, "Item" if action == "Put" else "Key": fresh_key(), member: blank}
    assert validation(table.raw, operation, {"TransactItems": [{action: own}]}) == syntax(member, blank)
