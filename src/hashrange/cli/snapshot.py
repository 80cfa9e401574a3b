"""`hashrange snapshot FILE`: what does a running server hold?
Its whole content goes into a file, with which servers can begin.
"""

from base64 import b64decode
from typing import Any

from hashrange.cli.main import DONE, FAILED, count, refuse
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.remote import DEFAULT_REGION, Remote, add_endpoint
from hashrange.cli.settings_sources import current_environment
from hashrange.store.snapshot_file import SnapshotWriter, StoredRow, replaced_file
from hashrange.tables.source_id import is_row_of_source

EXAMPLE = """example:
  hashrange snapshot shop.snapshot
  hashrange serve --in-memory --snapshot shop.snapshot  # begins with it

The file holds all tables, items, streams and tokens of all accounts and Regions, as of one moment; \
it replaces a file of the
same name. The server goes on meanwhile. It needs its admin API (--admin). A row is an item, or its entry in an index.
"""


def run(words: list[str]) -> int:
    """Write the snapshot; returns the exit code. Raises RemoteError."""
    options = parse(build_parser(), words)
    try:
        with Remote(options.endpoint, DEFAULT_REGION, current_environment()) as server, server.snapshot() as taken:
            rows, size_bytes = write_file(server, taken, options.file)
    except OSError as error:
        return refuse(f"{options.file} cannot be written: {error.strerror or error}.", FAILED)
    say(f"{options.file}: {count(rows, 'row')} in {size_bytes:,} bytes.")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange snapshot`."""
    parser = command_parser("snapshot", "Write the whole content of a running server to a file.", EXAMPLE)
    parser.add_argument("file", metavar="FILE", help="The file to write.")
    add_endpoint(parser)
    return parser


def write_file(server: Remote, taken: Any, path: str) -> tuple[int, int]:
    """Write all that the snapshot `taken` holds to a file; return the number of items and index entries,
    and the file's size in bytes.

    Raises RemoteError and OSError; then a former file is unchanged.
    """
    rows_written = 0
    with replaced_file(path) as file:
        writer = SnapshotWriter(file, taken["service_time"])
        after: dict[str, str] = {}
        while pairs := server.operate("POST", f"snapshots/{taken['snapshot']}/rows", **after)["rows"]:
            rows: list[StoredRow] = [(b64decode(key), b64decode(value)) for key, value in pairs]
            writer.write(rows)
            rows_written += sum(is_row_of_source(key) for key, _ in rows)
            after = {"after": pairs[-1][0]}
        writer.finish()
        size_bytes = file.tell()
    return rows_written, size_bytes
