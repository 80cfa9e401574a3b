"""`hashrange load FILE`: how do items get into a table? Writes those of files, or of a table's export, to any endpoint,
and masks attributes by rules.
"""

from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, FAILED, count
from hashrange.cli.moved_items import (
    FORMATS,
    TOLD_FAULTS_MAX,
    MovedItems,
    add_table,
    given_form,
    rate_of,
    require_table,
)
from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.failures import ToolkitFailure

if TYPE_CHECKING:
    from hashrange.toolkit.moving.load_job import LoadJob
    from hashrange.toolkit.moving.table_load import TableLoad

KINDS = ("S", "N", "B", "BOOL", "JSON")
EXAMPLE = """example:
  hashrange load items.jsonl.gz --table MyTable
  hashrange load ./AWSDynamoDB/01700000000000-0a1b2c3d --table MyTable \\
    --mask rules.toml

FILE is a file in a form of `hashrange scan`, a folder of such files, the folder of a table's export in DynamoDB JSON, \
or - for standard input. An item replaces the one with its key. Records that cannot be loaded are told with their \
place, and the exit code is 1 then.

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Load files into a table; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    target = chosen_target(options)
    job = chosen_load(options, target)
    job.prepare()
    agree(target, f"load {options.file} into the table {options.table}", is_agreed=options.is_agreed)
    progress, told = MovedItems(), 0

    def show(load: "TableLoad") -> None:
        nonlocal told
        while load.faults:
            path, number, reason = load.faults.popleft()
            told += 1
            if told <= TOLD_FAULTS_MAX:
                progress.clear()
                complain(f"{path}:{number}: {reason}")
        progress.show(load.state.loaded_items, load.state.text_bytes, load.state.units)

    try:
        job.run(show)
    except (KeyboardInterrupt, ToolkitFailure):
        progress.clear()
        if job.can_go_on:
            complain(f"{count(job.state.loaded_items, 'item')} loaded so far. The same command with --resume goes on.")
        raise
    finally:
        progress.clear()
    return tell_end(job, options.table)


def tell_end(job: "LoadJob", table: str) -> int:
    """Say what was loaded; returns the exit code."""
    state = job.state
    deleted = f", {count(state.deletions, 'deletion')}" if state.deletions else ""
    complain(f"{count(state.loaded_items, 'item')}{deleted} in the table {table}, {state.units:,.0f} write units.")
    if job.unused_rules:
        complain(f"Note: these rules have met no attribute: {', '.join(job.unused_rules)}.")
    if state.bad_records:
        complain(f"{count(state.bad_records, 'record')} could not be loaded.")
    return FAILED if state.bad_records else DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange load`."""
    parser = command_parser(
        "load", "Write the items of files into a table.", EXAMPLE.format(install=how_to_install("toolkit"))
    )
    parser.add_argument("file", metavar="FILE", help="File or folder to read, or - for standard input.")
    add_table(parser, "Name of the table, which must be there.")
    parser.add_argument("--format", metavar=FORMATS, help="Form of the items. [by FILE, or jsonl]")
    parser.add_argument(
        "--types", metavar="COLUMN=TYPE,…", help=f"Types of CSV's columns: {', '.join(KINDS)}. [S, and the key's own]"
    )
    parser.add_argument("--mask", metavar="FILE", help="Rules by which attributes are masked (docs/toolkit.md).")
    parser.add_argument("--rate-limit", metavar="UNITS", help="Write units that are consumed per second at most.")
    parser.add_argument(
        "--resume", dest="is_resumed", action="store_true", help="Go on with an interrupted load of FILE."
    )
    add_target(parser, is_changing=True)
    return parser


def chosen_load(options: Any, target: Any) -> "LoadJob":
    """The load that the options describe. Raises UsageError, ToolkitFailure."""
    require_table(options)
    if options.is_resumed and options.file == "-":
        raise UsageError("--resume needs a FILE: standard input cannot be read again.")
    # Imported here: the command's help needs none of it.
    from hashrange.toolkit.moving.load_job import LoadJob, LoadOptions

    return LoadJob(
        target,
        LoadOptions(
            path=options.file,
            table=options.table,
            form=given_form(options.format),
            kinds=read_kinds(options.types),
            mask_path=options.mask,
            units_per_second=rate_of(options.rate_limit),
            is_resumed=options.is_resumed,
        ),
    )


def read_kinds(word: str | None) -> dict[str, str]:
    """Column → type. Raises UsageError."""
    found = {}
    for one in word.split(",") if word else ():
        name, _, kind = one.rpartition("=")
        if not name or kind not in KINDS:
            raise UsageError(f'--types has "{one}"; write a column and one of {", ".join(KINDS)}, such as total=N.')
        found[name] = kind
    return found
