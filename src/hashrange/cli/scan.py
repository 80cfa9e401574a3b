"""`hashrange scan`: which items does a table hold? Reads all, in parallel, into a file or to standard output."""

import sys
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, count
from hashrange.cli.moved_items import (
    FORMATS,
    SEGMENTS_MAX,
    SEGMENTS_USUAL,
    MovedItems,
    add_table,
    given_form,
    json_object,
    rate_of,
    require_table,
    whole_number_of,
)
from hashrange.cli.output import complain, say_data
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.target_options import add_target, chosen_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.failures import ToolkitFailure

if TYPE_CHECKING:
    from hashrange.toolkit.moving.scan_job import ScanJob
    from hashrange.toolkit.moving.table_scan import ScanState

EXAMPLE = """example:
  hashrange scan --table MyTable --segments 10 --output results.json
  hashrange scan --table MyTable --filter "status = :s" \\
    --values '{{":s":{{"S":"active"}}}}'

Without --output, items go to standard output, a line for each. The form is that of --format, or of the file's name: \
.json is one array, .jsonl has a line for each item, .csv a header with all attributes. A name that ends \
in .gz or .zst is compressed. docs/toolkit.md says what becomes of types.

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Scan a table; returns the exit code. Raises UsageError, ToolkitFailure, OutputError."""
    options = parse(build_parser(), words)
    job = chosen_scan(options)
    if replaced := job.aliased.replaced:
        kind = "is a reserved word" if len(replaced) == 1 else "are reserved words"
        complain(f"Note: {', '.join(replaced)} {kind} of DynamoDB; {', '.join(replaced.values())} is sent instead.")
    progress = MovedItems()

    is_shown = options.output is not None or not sys.stdout.isatty()

    def show(state: "ScanState") -> None:
        if is_shown:
            progress.show(state.written_items, state.text_bytes, state.units, state.scanned_items, job.expected_items)

    try:
        job.run(say_data, show)
    except (KeyboardInterrupt, ToolkitFailure):
        progress.clear()
        if job.can_go_on:
            complain(
                f"{count(job.state.written_items, 'item')} written so far. The same command with --resume goes on."
            )
        raise
    finally:
        progress.clear()
    if options.output is not None:
        complain(f"{count(job.state.written_items, 'item')} of {options.table} in {options.output}.")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange scan`."""
    parser = command_parser(
        "scan",
        "Read all items of a table, in parallel segments, into a file or to standard output.",
        EXAMPLE.format(install=how_to_install("toolkit")),
    )
    add_table(parser, "Name of the table.")
    parser.add_argument(
        "--output", metavar="FILE", help="File to write; an older one is overwritten. [standard output]"
    )
    parser.add_argument("--format", metavar=FORMATS, help="Form of the items. [by FILE, or jsonl]")
    parser.add_argument("--segments", metavar="N", help=f"Segments that are read at once. [{SEGMENTS_USUAL}]")
    parser.add_argument(
        "--filter", metavar="EXPRESSION", help="Filter expression: items that do not match are left out."
    )
    parser.add_argument("--values", metavar="JSON", help="Values of its placeholders, in DynamoDB JSON.")
    parser.add_argument("--names", metavar="JSON", help="Names of placeholders of both expressions.")
    parser.add_argument("--projection", metavar="EXPRESSION", help="Attributes that are read. [all]")
    parser.add_argument("--index", metavar="NAME", help="Read this index. [the table]")
    parser.add_argument("--consistent", dest="is_consistent", action="store_true", help="Read strongly consistently.")
    parser.add_argument("--rate-limit", metavar="UNITS", help="Read units that are consumed per second at most.")
    parser.add_argument("--limit", metavar="N", help="End after this many items.")
    parser.add_argument(
        "--resume", dest="is_resumed", action="store_true", help="Go on with an interrupted scan into FILE."
    )
    add_target(parser)
    return parser


def chosen_scan(options: Any) -> "ScanJob":
    """The scan that the options describe. Raises UsageError, ToolkitFailure."""
    require_table(options)
    if options.is_resumed and options.output is None:
        raise UsageError("--resume needs --output FILE, the file of the interrupted scan.")
    # Imported here: the command's help needs none of it.
    from hashrange.toolkit.moving.load_files import form_of_name
    from hashrange.toolkit.moving.scan_job import ScanJob, ScanOptions

    names = json_object(options.names, "--names", '{"#n": "name"}') or {}
    if not all(isinstance(name, str) for name in names.values()):
        raise UsageError("""--names is no JSON object of strings, such as '{"#n": "name"}'.""")
    return ScanJob(
        chosen_target(options),
        ScanOptions(
            table=options.table,
            form=given_form(options.format) or form_of_name(options.output or "") or "jsonl",
            segments=whole_number_of(options.segments, "--segments", SEGMENTS_MAX),
            output=options.output,
            filter=options.filter,
            projection=options.projection,
            names=names,
            values=json_object(options.values, "--values", '{":s": {"S": "active"}}') or {},
            index_name=options.index,
            is_consistent=options.is_consistent,
            limit=whole_number_of(options.limit, "--limit"),
            units_per_second=rate_of(options.rate_limit),
            is_resumed=options.is_resumed,
        ),
    )
