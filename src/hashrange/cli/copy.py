"""`hashrange copy`: how do a table's items get into another table, at any endpoint? All that are there, and with
`--follow` the changes that come later.
"""

from typing import TYPE_CHECKING

from hashrange.cli.main import DONE, FAILED, count
from hashrange.cli.moved_items import (
    SEGMENTS_MAX,
    SEGMENTS_USUAL,
    TOLD_FAULTS_MAX,
    MovedItems,
    add_table,
    rate_of,
    require_table,
    whole_number_of,
)
from hashrange.cli.output import complain
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.messages.installing import how_to_install
from hashrange.toolkit.failures import ToolkitFailure

if TYPE_CHECKING:
    from hashrange.toolkit.moving.copy_job import CopyJob
    from hashrange.toolkit.moving.table_copy import TableCopy

SHOWN_ITEM_BYTES = 200
EXAMPLE = """example:
  hashrange copy --table Orders --to-table OrdersCopy
  hashrange copy --table Orders --profile staging \\
    --to-endpoint http://127.0.0.1:8000 --follow

The copy must be a table with the same key; `hashrange design --from` makes one. What else is in it stays. While the \
source is written, an item is copied as it is when its page is read: the copy is not of one moment. With --follow, the \
source's stream is copied after that, until Ctrl-C ends it; after each change of an item, the copy has it as the \
source had it then.

Needs the extra toolkit: {install}
"""


def run(words: list[str]) -> int:
    """Copy a table; returns the exit code. Raises UsageError, ToolkitFailure."""
    options = parse(build_parser(), words)
    require_table(options)
    source, target = chosen_target(options), chosen_target(options, "to_")
    # Imported here: the command's help needs none of it.
    from hashrange.toolkit.moving.copy_job import CopyJob, CopyOptions

    to_table = options.to_table or options.table
    job = CopyJob(
        source,
        target,
        CopyOptions(
            table=options.table,
            to_table=to_table,
            segments=whole_number_of(options.segments, "--segments", SEGMENTS_MAX),
            is_consistent=options.is_consistent,
            units_per_second=rate_of(options.rate_limit),
            is_following=options.is_following,
            is_resumed=options.is_resumed,
            progress_path=options.progress or f"{options.table}.copy-progress",
        ),
    )
    job.prepare()
    agree(target, f"copy {options.table} of {source.place} into the table {to_table}", is_agreed=options.is_agreed)
    return copied(job, to_table)


class ToldCopy:
    """Tells how a copy goes on."""

    def __init__(self, job: "CopyJob", to_table: str) -> None:
        self.progress = MovedItems()
        self.is_followed = False
        """True once all items are copied, and changes follow."""
        self._job, self._state, self._to_table = job, job.state, to_table
        self._told_faults = 0

    def show(self, copy: "TableCopy") -> None:
        """Tell items that the target refuses, and show how far the copy is."""
        while copy.faults:
            item, reason = copy.faults.popleft()
            self._told_faults += 1
            if self._told_faults <= TOLD_FAULTS_MAX:
                self.progress.clear()
                complain(f"{item[:SHOWN_ITEM_BYTES].decode(errors='replace')}: {reason}")
        state = self._state
        units = state.read_units + state.write_units
        expected = 0 if self.is_followed else self._job.expected_items
        self.progress.show(state.copied_items + state.changes, state.text_bytes, units, state.scanned_items, expected)

    def follow(self) -> None:
        """Tell that all items are copied."""
        self.is_followed = True
        self.progress.clear()
        items = count(self._state.copied_items, "item")
        complain(f"{items} in the table {self._to_table}. Following changes; Ctrl-C ends it.")

    def end(self) -> None:
        """Tell what was copied before the command was interrupted, or failed."""
        self.progress.clear()
        state = self._state
        changes = f" and {count(state.changes, 'change')}" if self.is_followed else ""
        way_out = " The same command with --resume goes on." if self._job.can_go_on else ""
        complain(f"{count(state.copied_items, 'item')}{changes} copied so far.{way_out}")


def copied(job: "CopyJob", to_table: str) -> int:
    """Copy, and say how it went; returns the exit code. Raises ToolkitFailure."""
    told, state = ToldCopy(job, to_table), job.state
    try:
        job.run(told.show, told.follow)
        told.progress.clear()
        units = f"{state.read_units:,.1f} read units, {state.write_units:,.0f} write units"
        complain(f"{count(state.copied_items, 'item')} in the table {to_table}, {units}.")
    except KeyboardInterrupt:
        told.end()
        if not told.is_followed:
            raise
    except ToolkitFailure:
        told.end()
        raise
    if state.bad_items:
        complain(f"{count(state.bad_items, 'item')} could not be copied.")
    return FAILED if state.bad_items else DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange copy`."""
    parser = command_parser(
        "copy", "Copy the items of a table into another one.", EXAMPLE.format(install=how_to_install("toolkit"))
    )
    add_table(parser, "Name of the table that is copied.")
    parser.add_argument("--to-table", metavar="NAME", help="Name of the copy, which must be there. [the same name]")
    parser.add_argument("--segments", metavar="N", help=f"Segments that are copied at once. [{SEGMENTS_USUAL}]")
    parser.add_argument("--consistent", dest="is_consistent", action="store_true", help="Read strongly consistently.")
    parser.add_argument("--rate-limit", metavar="UNITS", help="Read units that are consumed per second at most.")
    parser.add_argument(
        "--follow", dest="is_following", action="store_true", help="Copy later changes too, from the source's stream."
    )
    parser.add_argument("--resume", dest="is_resumed", action="store_true", help="Go on with an interrupted copy.")
    parser.add_argument(
        "--progress", metavar="FILE", help="File that keeps how far the copy is. [TABLE.copy-progress, here]"
    )
    add_target(parser, is_changing=True)
    add_target(parser, prefix="to-", told="the tables of the copy")
    return parser
