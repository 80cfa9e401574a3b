"""Does every statement keep to its kind of write? Rows that conditional batches own are never written otherwise."""

import re

import pytest

from hashrange.store.cassandra import cql
from tests.support.source_trees import ROOT

WRITES = [text for text in cql.STATEMENTS if not text.startswith("SELECT")]
HEADS = [text for text in WRITES if " IF " in text]
OWNED = ("slots", "catalog", "transactions", "layout")
"""Tables whose rows belong to conditional batches."""


def table_of(text: str) -> str:
    """The table that a statement writes."""
    found = re.match(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)", text)
    assert found is not None, text
    return found[1]


def test_all_cql_is_in_one_file() -> None:
    words = re.compile(
        r"(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|CREATE KEYSPACE)\b[^\n]*\b(?:FROM|SET|VALUES|IF NOT)\b"
    )
    folder = ROOT / "src" / "hashrange" / "store" / "cassandra"
    assert [file.name for file in folder.glob("*.py") if words.search(file.read_text())] == ["cql.py"]


@pytest.mark.parametrize("text", WRITES)
def test_a_write_is_conditional_or_has_a_timestamp_of_its_own(text: str) -> None:
    if table_of(text) == "index_entries":
        assert "USING TIMESTAMP ?" in text
    else:
        assert table_of(text) in OWNED
        assert "TIMESTAMP" not in text
        assert text in HEADS or text in (*cql.SLOT_WRITES, cql.PUT_TABLE, cql.DELETE_TABLE)


def test_each_batch_advances_what_it_is_conditional_on() -> None:
    for text in (cql.ADVANCE_SLOT, cql.BEGIN_SLOT):
        assert "SET version = ?, batch_id = ?" in text
        assert re.search(r"IF version = (\?|null)$", text)
    for text in (cql.ADVANCE_CATALOG, cql.BEGIN_CATALOG):
        assert "SET revision = ?" in text
        assert re.search(r"IF revision = (\?|null)$", text)


def test_what_is_written_in_batches_is_named_in_full() -> None:
    assert {text for text in WRITES if table_of(text) == "slots"} == set(cql.SLOT_WRITES)
