"""`hashrange tail TABLE`: what changes in a running server's table?
Prints a line per change, from the table's stream.
"""

import contextlib
import json
import select
import sys
import threading
from typing import Any

from hashrange.cli.following import Following, Record, ShardTrimmed, StreamGone
from hashrange.cli.main import DONE, FAILED, refuse
from hashrange.cli.output import OutputError, complain, say, say_unfolded
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.remote import DEFAULT_REGION, RefusedRequest, Remote, add_endpoint, chosen_region, names_of_tables
from hashrange.cli.settings_sources import current_environment
from hashrange.terminal import escape_json
from hashrange.written.names import did_you_mean

EXAMPLE = """example:
  hashrange tail Users --from-start

A line tells when (UTC), what happened, to which item, and what is different. The table needs a \
stream; with the view type
NEW_AND_OLD_IMAGES it tells what was changed into what. A stream keeps changes for 24 hours. Requests are signed with
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, which only a server with a credentials file asks for.
"""
PAUSE_SECONDS = 0.25
"""Pause after a call of `Following.look` without new records, so that an idle stream gets at most four GetRecords per
second and shard; the service allows five."""
NAMES_TOLD_MAX = 10
TRIMMED = (
    "changes of table {table} were missed: they are kept for 24 hours, and this was stopped for longer. Start it again."
)


def run(words: list[str]) -> int:
    """Print changes until interrupted or the stream ends, or with `--once` those it holds; returns the exit code."""
    options = parse(build_parser(), words)
    environment = current_environment()
    reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")  # a terminal may lack characters that items have
    try:
        with Remote(options.endpoint, chosen_region(options.region, environment), environment) as server:
            arn = find_stream_arn(server, options.table)
            if arn is None:
                return FAILED
            following = Following(server, arn, is_from_start=options.is_from_start or options.is_once)
            if not options.is_once:
                begun = f"following table {options.table} at {server.endpoint} in Region {server.region}"
                complain(f"hashrange: {begun}; Ctrl-C ends it.")
            return follow(following, options)
    except StreamGone:
        return refuse(ended(options.table), FAILED)
    except ShardTrimmed:
        return refuse(TRIMMED.format(table=options.table), FAILED)


def build_parser() -> CommandParser:
    """The parser of `hashrange tail`."""
    parser = command_parser("tail", "Print the changes of a running server's table, as they come.", EXAMPLE)
    parser.add_argument("table", metavar="TABLE", help="Name of the table.")
    add_endpoint(parser)
    parser.add_argument(
        "--region",
        metavar="NAME",
        help=f"Region of the table; AWS_REGION and AWS_DEFAULT_REGION are heard too. [{DEFAULT_REGION}]",
    )
    parser.add_argument(
        "--from-start",
        dest="is_from_start",
        action="store_true",
        help="Begin with the oldest change that is still there, not with the next one.",
    )
    parser.add_argument(
        "--once", dest="is_once", action="store_true", help="Print all changes that are still there, and end."
    )
    parser.add_argument(
        "--json",
        dest="is_json",
        action="store_true",
        help="Print each change as GetRecords tells it, as JSON in one line.",
    )
    return parser


def follow(following: Following, options: Any) -> int:
    """Print new records, and pause if there are none, until the stream has ended; returns the exit code.

    With `--once`, return when the records that existed at the start are printed.
    """
    while True:
        has_found = False
        for records in following.look():
            has_found = has_found or bool(records)
            show(records, is_json=options.is_json)
        if options.is_once and following.is_at_end:
            return DONE
        if following.has_ended:
            return DONE if options.is_once else refuse(ended(options.table), FAILED)
        if not has_found:
            pause()


def show(records: list[Record], *, is_json: bool) -> None:
    """Print a line for each record and flush. Raises OutputError."""
    from hashrange.cli.change_lines import change_line

    if records:
        if is_json:
            say_unfolded(*[escape_json(json.dumps(record)) for record in records], is_flushed=True)
        else:
            say(*map(change_line, records), is_flushed=True)


def pause() -> None:
    """Wait PAUSE_SECONDS; where `poll` can watch standard output, raises OutputError once nobody reads it any more."""
    if hasattr(select, "poll"):
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError):  # standard output may have no file descriptor, as in tests
            poll.register(sys.stdout.fileno(), 0)
            events = poll.poll(PAUSE_SECONDS * 1000)
            if any(event & (select.POLLERR | select.POLLHUP) for _, event in events):
                raise OutputError(BrokenPipeError())
            if not events:
                return  # else poll cannot watch this descriptor, and has returned at once
    threading.Event().wait(PAUSE_SECONDS)


def find_stream_arn(server: Remote, table_name: str) -> str | None:
    """ARN of the table's stream; None, after printing why, if there is no table or no stream. Raises RemoteError."""
    try:
        table = server.ask("DescribeTable", TableName=table_name)["Table"]
    except RefusedRequest as refusal:
        if refusal.code not in {"ResourceNotFoundException", "ValidationException"}:
            raise
        refuse(
            f"there is no table {table_name} at {server.endpoint} in Region {server.region}."
            f" {others(server, table_name)}",
            FAILED,
        )
        return None
    arn: str | None = table.get("LatestStreamArn")
    if arn is None or not table.get("StreamSpecification", {}).get("StreamEnabled"):
        refuse(
            f"table {table_name} has no stream, which tells of its changes. Switch one on: aws dynamodb update-table"
            f" --table-name {table_name} --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
            f" --endpoint-url {server.endpoint} --region {server.region}",
            FAILED,
        )
        return None
    return arn


def others(server: Remote, table_name: str) -> str:
    """A sentence that lists the first tables of the Region, for a wrong table name. Raises RemoteError."""
    names = names_of_tables(server.ask)
    if not names:
        return "It has no tables at all; --region names another Region."
    shown = ", ".join(names[:NAMES_TOLD_MAX]) + (", …" if len(names) > NAMES_TOLD_MAX else "")
    near = did_you_mean(table_name, names).lstrip()
    return f"{near}{' ' if near else ''}It has {shown}; --region names another Region."


def ended(table_name: str) -> str:
    """The sentence for a stream that has ended."""
    return f"the stream of table {table_name} has ended: it was switched off, or the table was deleted."
