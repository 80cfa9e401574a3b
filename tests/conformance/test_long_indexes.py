"""A list index with more digits than any number has is out of range in every operation with
statements or expressions.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, make_table, text
from tests.conformance.partiql import refused, statement
from tests.support.raw_client import RawClient

DIGITS = "9" * 4_301
"""Python converts at most 4,300 digits to a number."""
OUT_OF_RANGE = "List index is not within the allowable range; index: ["
WRITES = [f"UPDATE {{t}} SET a[{DIGITS}] = 1 WHERE pk = 'a'", f"DELETE FROM {{t}} WHERE pk = 'a' AND a[{DIGITS}] = 1"]
READS = [f"SELECT a[{DIGITS}] FROM {{t}}", f"SELECT * FROM {{t}} WHERE pk = 'a' AND a[{DIGITS}] = 1"]


@pytest.fixture(scope="module")
def table(raw: RawClient) -> Iterator[DataTable]:
    made = make_table(raw, "S")
    made.put({"pk": text("a"), "a": {"L": [text("x")]}})
    yield made


@pytest.mark.parametrize("asked", WRITES + READS)
def test_a_statement_is_refused(table: DataTable, asked: str) -> None:
    assert OUT_OF_RANGE + "999" in (refused(table, asked) or "")


@pytest.mark.parametrize("asked", WRITES + READS[:1])
def test_a_batch_goes_on_without_it(table: DataTable, asked: str) -> None:
    other = "SELECT * FROM {t} WHERE pk = 'a'" if asked.startswith("SELECT") else "INSERT INTO {t} VALUE {'pk': 'b'}"
    request = {"Statements": [statement(table, asked), statement(table, other)]}
    first, second = table.raw("BatchExecuteStatement", request).json()["Responses"]
    assert OUT_OF_RANGE in first["Error"]["Message"]
    assert "Error" not in second
    table.raw("DeleteItem", {"TableName": table.name, "Key": {"pk": text("b")}})


@pytest.mark.parametrize("asked", WRITES + READS[:1])
def test_a_transaction_is_refused(table: DataTable, asked: str) -> None:
    reply = table.raw("ExecuteTransaction", {"TransactStatements": [statement(table, asked)]})
    assert reply.status == 400
    assert OUT_OF_RANGE in str(reply.json())


def test_an_index_with_zeros_in_front_is_that_number(table: DataTable) -> None:
    asked: dict[str, Any] = statement(table, f"SELECT a[{'0' * 5_000}] FROM {{t}} WHERE pk = 'a'")
    reply = table.raw("ExecuteStatement", asked)
    assert reply.json() == {"Items": [{"a[0]": text("x")}]}
