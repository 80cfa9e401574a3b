"""`hashrange inspect DIR`: what does a data folder hold? Tables with statistics, or the item at a key."""

import json

import msgspec

from hashrange.cli.main import DONE, FAILED, WRONG_USE, count, refuse
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.errors import ApiError, Malformed
from hashrange.tables.schema import KeySchema
from hashrange.terminal import escape_json

EXAMPLE = """example:
  hashrange inspect ./hashrange-data --table Users --key '{"pk": {"S": "user-1"}}'

Changes nothing. Stop the server first: a folder has one user at a time.
"""


def run(words: list[str]) -> int:
    """Show all tables of a data folder, those of one name, or their items at one key; returns the exit code."""
    options = parse(build_parser(), words)
    if options.key is None:
        return show_tables(options.data_dir, options.table)
    if options.table is None:
        return refuse("--key needs --table: a key belongs to a table.", WRONG_USE)
    try:
        key = msgspec.json.decode(options.key, type=dict[str, dict[str, str]])
    except msgspec.MsgspecError as error:
        return refuse(f'--key is no key: {error}. Write it as on the wire: {{"pk": {{"S": "user-1"}}}}.', WRONG_USE)
    return show_item(options.data_dir, options.table, key)


def build_parser() -> CommandParser:
    """The parser of `hashrange inspect`."""
    parser = command_parser("inspect", "Show a data folder's tables, or the item at a key.", EXAMPLE)
    parser.add_argument("data_dir", metavar="DIR", help="The folder given to `hashrange serve --data-dir`.")
    parser.add_argument("--table", metavar="NAME", default=None, help="Only this table.")
    parser.add_argument(
        "--key", metavar="JSON", default=None, help="The primary key of one item, in DynamoDB's JSON; needs --table."
    )
    return parser


def show_tables(data_dir: str, only: str | None) -> int:
    """Print account, Region, key and statistics of each table, or of those named `only`; returns the exit code."""
    from hashrange.store.embedded.inspect import inspect_store

    overview = inspect_store(data_dir)
    tables = [(table, statistics) for table, statistics in overview.tables if only in {None, table.name}]
    if only is not None and not tables:
        return refuse(f"{data_dir} has no table {only}; without --table, all are listed.", FAILED)
    tables_text = count(len(overview.tables), "table")
    size = f"{overview.disk_size_bytes / 1e6:,.1f} MB on disk"
    say(f"{data_dir}: format {overview.format_version}, {tables_text}, {size}")
    if not tables:
        return DONE
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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if i > 3 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())
    return DONE


def key_text(keys: KeySchema) -> str:
    """Names and types of the key attributes: `pk S, sk N`."""
    names = keys.partition_names + keys.sort_names
    return ", ".join(f"{name} {kind}" for name, kind in zip(names, keys.partition_types + keys.sort_types, strict=True))


def show_item(data_dir: str, table_name: str, key: dict[str, dict[str, str]]) -> int:
    """Print the item at `key`, in DynamoDB's JSON, of every table named `table_name`; returns the exit code.

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
            say(f"{place}:", *map(escape_json, json.dumps(item, indent=2, ensure_ascii=False).split("\n")))
    return DONE if any(item is not None for _, item in found) else FAILED
