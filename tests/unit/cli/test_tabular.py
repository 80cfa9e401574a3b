"""Records as a table, JSON and CSV: what is printed is read by people, jq and spreadsheets."""

import csv
import io
import json

import pytest

from hashrange.cli.parsing import UsageError
from hashrange.cli.tabular import require_form, show_records, table_lines

NAMES = ("name", "items", "keys")
ROWS = [
    {"name": "Orders", "items": 12, "keys": ["pk", "sk"]},
    {"name": 'a "b", c', "items": 3, "keys": None},
]


def test_a_table_has_a_column_for_each_name_and_numbers_to_the_right() -> None:
    assert list(table_lines(NAMES, ROWS, None)) == [
        "name      items  keys",
        'Orders       12  ["pk", "sk"]',
        'a "b", c      3',
    ]


@pytest.mark.parametrize("columns", [20, 24, 28])
def test_a_table_fits_the_terminal(columns: int) -> None:
    lines = list(table_lines(NAMES, ROWS, columns))
    assert all(len(line) <= columns for line in lines)


def test_what_does_not_fit_goes_on_in_further_lines() -> None:
    rows = [
        {"state": "kept", "change": "its key is pk, and a_very_long_word"},
        {"state": "done", "change": "宽宽宽宽宽宽宽"},
    ]
    assert list(table_lines(["state", "change"], rows, 20)) == [
        "state  change",
        "kept   its key is",
        "       pk, and",
        "       a_very_long_w",
        "       ord",
        "done   宽宽宽宽宽宽",
        "       宽",
    ]


def test_no_text_commands_the_terminal() -> None:
    assert list(table_lines(["a"], [{"a": "\x1b[2J"}], None))[1] == r"\x1b[2J"


def test_an_empty_table_shows_its_columns() -> None:
    assert list(table_lines(["a", "b"], [], 40)) == ["a  b"]


def test_json_is_one_array(capsys: pytest.CaptureFixture[str]) -> None:
    show_records(NAMES, ROWS, "json")
    assert json.loads(capsys.readouterr().out) == ROWS


def test_csv_is_what_readers_of_csv_read(capsys: pytest.CaptureFixture[str]) -> None:
    show_records(NAMES, ROWS, "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [list(NAMES), ["Orders", "12", '["pk", "sk"]'], ['a "b", c', "3", ""]]


def test_another_form_is_refused() -> None:
    with pytest.raises(UsageError, match='--output is "yaml"; it must be table, json or csv'):
        require_form("yaml")
