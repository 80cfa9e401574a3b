"""`hashrange check DIR`: is a data folder sound, or a folder of copies? Exit code 1 when it is not."""

import sys

from hashrange.cli.main import DONE, FAILED, count
from hashrange.cli.output import say, show_progress
from hashrange.cli.parsing import CommandParser, command_parser, parse

EXAMPLE = """example:
  hashrange check ./hashrange-data

Reads every row, and changes nothing. A row is an item, or its entry in an index. Stop the server first: \
a folder has one user at a time.
Of a folder that `hashrange backup` has written to, every file is compared with its digest.
"""


def run(words: list[str]) -> int:
    """Verify one data folder, and print its faults, or the numbers of its tables and rows; returns the exit code."""
    data_dir: str = parse(build_parser(), words).data_dir
    from hashrange.store.repository.folder import is_repository

    if is_repository(data_dir):
        return check_copies(data_dir)
    from hashrange.store.embedded.check import check_store

    report = check_store(data_dir, show_rows if sys.stderr.isatty() else None)
    for fault in report.faults:
        say(fault)
    if report.faults:
        faults = count(len(report.faults), "fault")
        say(f"{data_dir} is damaged: {faults}. Restore it from a copy, or salvage what reads.")
        return FAILED
    tables, rows = count(report.table_count, "table"), count(report.row_count, "row")
    say(f"{data_dir} is sound: {tables}, {rows}.")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange check`."""
    parser = command_parser("check", "Verify that a data folder is sound.", EXAMPLE)
    parser.add_argument(
        "data_dir", metavar="DIR", help="The folder given to `hashrange serve --data-dir`, or to `hashrange backup`."
    )
    return parser


def check_copies(target: str) -> int:
    """Verify a repository, and print its faults, or the numbers of its copies and files; returns the exit code."""
    from hashrange.store.repository.verification import check_repository

    report = check_repository(target, show_bytes if sys.stderr.isatty() else lambda _: None)
    for fault in report.faults:
        say(fault)
    if report.faults:
        say(f"{target} is damaged: {count(len(report.faults), 'fault')}. Copies that are not named can be restored.")
        return FAILED
    copies, files = count(report.copy_count, "copy", "copies"), count(report.file_count, "file")
    say(f"{target} is sound: {copies}, {files} in {report.size_bytes / 1e6:,.1f} MB.")
    return DONE


def show_bytes(read_bytes: int) -> None:
    """Show how many bytes have been compared with their digests, in a line that the next call overwrites."""
    show_progress(f"{read_bytes / 1e6:,.0f} MB")


def show_rows(row_count: int) -> None:
    """Show how many rows have been found sound, in a line that the next call overwrites."""
    show_progress(f"{row_count:,} rows")
