"""`hashrange inspect DIR`: what does a data folder hold? Tables with statistics, or the item at a key."""

import json
from collections.abc import Sequence
from typing import Any

from hashrange.cli.main import DONE, FAILED, WRONG_USE, count, refuse
from hashrange.cli.output import say, say_unfolded
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.errors import ApiError, Malformed
from hashrange.tables.schema import KeySchema
from hashrange.terminal import escape_json
from hashrange.toolkit.plain_items import PlainValueWrong, plain_item, typed_value
from hashrange.written.names import did_you_mean
from hashrange.written.values import place_of_json_fault

EXAMPLE = """example:
  hashrange inspect ./hashrange-data --table Users --key '{"pk": "user-1"}'

Keys and items are plain JSON. What JSON lacks is an object with one member: {"$set": [1, 2]}, {"$binary": "base64"},
{"$number": "1.00000000000000000001"}. DynamoDB's JSON is understood too: {"pk": {"S": "user-1"}}.

Changes nothing. Stop the server first: a folder has one user at a time. A row is an item, or its entry in an index.
"""
KEY_EXAMPLE = 'Write it as {"pk": "user-1"}, or in DynamoDB\'s JSON as {"pk": {"S": "user-1"}}.'


def run(words: list[str]) -> int:
    """Show all tables of a data folder, those of one name, or their items at one key; returns the exit code."""
    options = parse(build_parser(), words)
    if options.key is None:
        return show_tables(options.data_dir, options.table)
    if options.table is None:
        return refuse("--key needs --table: a key belongs to a table.", WRONG_USE)
    try:
        key = key_in(options.key)
    except PlainValueWrong as error:
        return refuse(f"--key is no key: {error} {KEY_EXAMPLE}", WRONG_USE)
    return show_item(options.data_dir, options.table, key, is_typed=options.is_typed)


def build_parser() -> CommandParser:
    """The parser of `hashrange inspect`."""
    parser = command_parser("inspect", "Show a data folder's tables, or the item at a key.", EXAMPLE)
    parser.add_argument("data_dir", metavar="DIR", help="The folder given to `hashrange serve --data-dir`.")
    parser.add_argument("--table", metavar="NAME", help="Only this table.")
    parser.add_argument("--key", metavar="JSON", help="Show the item with this primary key; needs --table.")
    parser.add_argument(
        "--dynamodb-json",
        dest="is_typed",
        action="store_true",
        help="Show the item in DynamoDB's JSON, with the types of its values.",
    )
    return parser


def show_tables(data_dir: str, only: str | None) -> int:
    """Print account, Region, key and statistics of each table, or of those named `only`; returns the exit code."""
    from hashrange.cli import inspect_backups, inspect_transfers
    from hashrange.store.embedded.inspect import inspect_store

    overview = inspect_store(data_dir, *inspect_backups.PREFIXES, *inspect_transfers.PREFIXES)
    tables = [(table, statistics) for table, statistics in overview.tables if only in {None, table.name}]
    if only is not None and not tables:
        near = did_you_mean(only, [table.name for table, _ in overview.tables])
        return refuse(f"{data_dir} has no table {only}.{near} Without --table, all are listed.", FAILED)
    tables_text = count(len(overview.tables), "table")
    size = f"{overview.disk_size_bytes / 1e6:,.1f} MB on disk"
    rows_text = count(overview.row_count, "row")
    say(f"{data_dir}: format {overview.format_version}, {tables_text}, {rows_text}, {size}")
    rows = [("table", "account", "Region", "key", "items", "bytes")]
    rows += [
        (
            table.name,
            table.schema.account,
            table.schema.region,
            key_text(table.keys),
            f"{statistics.item_count:,}",
            f"{statistics.size_bytes:,}",
        )
        for table, statistics in tables
    ]
    if tables:
        say_columns(rows, 4)
    for rows_of_kind, words in (
        *inspect_backups.listed(overview, only),
        *inspect_transfers.listed_transfers(overview, only),
    ):
        say("")
        say_columns(rows_of_kind, words)
    return DONE


def say_columns(rows: Sequence[tuple[str, ...]], words: int) -> None:
    """Print a table whose first row is its head; behind the first `words` columns, cells are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if i >= words else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def key_text(keys: KeySchema) -> str:
    """Names and types of the key attributes: `pk S, sk N`."""
    return ", ".join(f"{name} {kind}" for name, kind in keys.attributes)


def key_in(text: str) -> dict[str, dict[str, str]]:
    """The key that is written as plain JSON, or in DynamoDB's: no value of a key is a map. Raises PlainValueWrong."""
    try:
        members = json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_number)
    except RecursionError:
        raise PlainValueWrong("it is nested too deeply.") from None
    except ValueError:
        raise PlainValueWrong(f"it is no JSON{place_of_json_fault(text)}.") from None
    if not isinstance(members, dict):
        raise PlainValueWrong("it is no JSON object.")
    key = {name: value if is_typed_value(value) else typed_value(value) for name, value in members.items()}
    wrong = next((name for name, value in key.items() if not value.keys() <= {"S", "N", "B"}), None)
    if wrong is not None:
        raise PlainValueWrong(f"the value of {wrong} is neither text nor a number nor binary.")
    return key


def _number(digits: str) -> dict[str, str]:
    """A number with all its digits, as `typed_value` takes it."""
    return {"$number": digits}


def is_typed_value(value: Any) -> bool:
    """True for a key's value in DynamoDB's JSON."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, content),) = value.items()
    return kind in {"S", "N", "B"} and isinstance(content, str)


def show_item(data_dir: str, table_name: str, key: dict[str, dict[str, str]], *, is_typed: bool) -> int:
    """Print the item at `key` of every table named `table_name`, as plain JSON or DynamoDB's; returns the exit code.

    The code is FAILED if no table has such an item, WRONG_USE if `key` does not fit one of the tables.
    """
    from hashrange.store.embedded.inspect import inspect_row

    try:
        found = inspect_row(data_dir, table_name, key)
    except ApiError as error:
        return refuse(f"--key does not fit: {error.message}", WRONG_USE)
    except Malformed:
        return refuse("--key does not fit: its values are text behind S or N, or Base64 behind B.", WRONG_USE)
    for table, item in found:
        place = f"{table.name} (account {table.schema.account}, Region {table.schema.region})"
        if item is None:
            say(f"{place}: no item at this key")
        else:
            say(f"{place}:")
            shown = item if is_typed else plain_item(item)
            say_unfolded(*map(escape_json, json.dumps(shown, indent=2, ensure_ascii=False).split("\n")))
    return DONE if any(item is not None for _, item in found) else FAILED
