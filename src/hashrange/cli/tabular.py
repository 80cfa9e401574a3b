"""How do commands of the toolkit print records? As a table that fits the terminal, as JSON, or as CSV: `--output`."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.cli.folding import columns_of, columns_taken, fold
from hashrange.cli.output import say_unfolded
from hashrange.cli.parsing import CommandParser, UsageError
from hashrange.terminal import escape_controls, escape_json

FORMS = ("table", "json", "csv")
GAP = "  "
CELL_COLUMNS_MIN = 4
"""Columns that a cell keeps however narrow the terminal is."""


class Amount(float):
    """A number that tables and CSV show with two decimals."""

    def __str__(self) -> str:
        return f"{float(self):.2f}"


OutputRow = dict[str, Any]
"""Name of a column → value: text, a number, a boolean, None, or lists and dicts of these."""


def add_form(parser: CommandParser) -> None:
    """Let a command take `--output`."""
    parser.add_argument("--output", metavar="|".join(FORMS), default=FORMS[0], help=f"Form of the output. [{FORMS[0]}]")


def require_form(form: str) -> None:
    """Raise UsageError unless `--output` is one of the forms."""
    if form not in FORMS:
        raise UsageError(f'--output is "{form}"; it must be {", ".join(FORMS[:-1])} or {FORMS[-1]}.')


def show_records(names: Sequence[str], records: Sequence[OutputRow], form: str) -> None:
    """Print records with these columns on standard output, in one of FORMS."""
    if form == "json":
        show_json([{name: record.get(name) for name in names} for record in records])
    elif form == "csv":
        say_unfolded(*map(_csv_line, [names, *([_cell(record.get(name)) for name in names] for record in records)]))
    else:
        say_unfolded(*table_lines(names, records, columns_of(sys.stdout)))


def show_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    say_unfolded(*map(escape_json, json.dumps(value, indent=2).split("\n")))


def table_lines(names: Sequence[str], records: Sequence[OutputRow], columns: int | None) -> Iterator[str]:
    """The lines of a table of at most `columns` columns; None: of any width. What does not fit into a cell goes on in
    further lines.
    """
    rows = [[escape_controls(_cell(record.get(name))) for name in names] for record in records]
    widths = [max(map(columns_taken, cells)) for cells in zip(names, *rows, strict=True)]
    if columns is not None:
        while sum(widths) + len(GAP) * (len(widths) - 1) > columns and max(widths) > CELL_COLUMNS_MIN:
            widths[widths.index(max(widths))] -= 1
    values = [[record.get(name) for record in records if record.get(name) is not None] for name in names]
    are_numbers = [bool(column) and all(isinstance(one, int | float) for one in column) for column in values]
    for row in [list(names), *rows]:
        cells = [_cell_lines(*one) for one in zip(row, widths, strict=True)]
        for number in range(max(map(len, cells))):
            parts = [lines[number] if number < len(lines) else "" for lines in cells]
            yield GAP.join(_padded(*one) for one in zip(parts, widths, are_numbers, strict=True)).rstrip()


def _cell(value: Any) -> str:
    """A value as text of a table or of CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _cell_lines(text: str, width: int) -> list[str]:
    """The lines of a cell: folded at blanks, and within words that are wider than the column."""
    found = []
    for line in fold(text, width, 0):
        begin = 0
        while begin < len(line):
            ends = range(min(begin + width, len(line)), begin, -1)
            end = next((one for one in ends if columns_taken(line[begin:one]) <= width), begin + 1)
            found.append(line[begin:end])
            begin = end
    return found or [""]


def _padded(text: str, width: int, is_number: bool) -> str:
    """A part of a cell, of exactly `width` columns."""
    blanks = " " * (width - columns_taken(text))
    return blanks + text if is_number else text + blanks


def _csv_line(cells: Sequence[str]) -> str:
    """A line of RFC 4180. A cell keeps its line ends as escapes, because output is one line for each record."""
    shown = [escape_controls(cell) for cell in cells]
    return ",".join(f'"{one.replace(chr(34), chr(34) * 2)}"' if set(one) & set(',";') else one for one in shown)
