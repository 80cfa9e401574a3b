"""What do commands that move items have in common? Their options, and the line that shows how far they are."""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hashrange.cli.folding import columns_of
from hashrange.cli.output import show_progress
from hashrange.cli.parsing import CommandParser, UsageError
from hashrange.clock import real_seconds

if TYPE_CHECKING:
    from hashrange.toolkit.moving.item_forms import FormName

SEGMENTS_USUAL, SEGMENTS_MAX = 4, 1000
FORMATS = "json|jsonl|csv|dynamodb-json"
TOLD_FAULTS_MAX = 20
"""Records that cannot be moved, and are told one by one."""
MEGABYTE = 1_000_000


def add_table(parser: CommandParser, told: str) -> None:
    """Let a command take `--table`."""
    parser.add_argument("--table", metavar="NAME", help=told)


def require_table(options: Any) -> None:
    """Raise UsageError without `--table`."""
    if not options.table:
        raise UsageError("no table is named. Say --table NAME.")


def whole_number_of(word: str | None, flag: str, highest: int | None = None) -> int | None:
    """A whole number from 1 on; None: the option is not given. Raises UsageError."""
    if word is None:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) < 16 and 1 <= int(word) <= (highest or int(word))):
        most = "" if highest is None else f" to {highest:,}"
        raise UsageError(f'{flag} is "{word}"; it must be a whole number from 1{most or " on"}.')
    return int(word)


def rate_of(word: str | None, flag: str = "--rate-limit") -> float | None:
    """Units per second; None: the option is not given. Raises UsageError."""
    if word is None:
        return None
    try:
        rate = float(word)
    except ValueError:
        rate = 0
    if not 0 < rate < float("inf"):
        raise UsageError(f'{flag} is "{word}"; it must be capacity units per second, such as 100.')
    return rate


def json_object(word: str | None, flag: str, example: str) -> dict[str, Any] | None:
    """The JSON object that an option gives; None: it is not given. Raises UsageError."""
    if word is None:
        return None
    try:
        given = json.loads(word)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise UsageError(f"{flag} is no JSON object, such as '{example}'.")
    return given


def given_form(word: str | None) -> "FormName | None":
    """The form that `--format` names; None: it is not given. Raises UsageError."""
    from hashrange.toolkit.moving.item_forms import FORMS

    if word is None:
        return None
    for form in FORMS:
        if form == word:
            return form
    raise UsageError(f'--format is "{word}"; it must be {", ".join(FORMS[:-1])} or {FORMS[-1]}.')


class MovedItems:
    """A line in the terminal with items, megabytes, units and the time that is left; none without a terminal."""

    def __init__(self, now: Callable[[], float] = real_seconds) -> None:
        self._now = now
        self._began: tuple[float, int] | None = None
        """When it was shown first, and how many items were done then."""
        self._columns = 0
        """Columns of the line; 0: there is none."""

    def show(self, items: int, text_bytes: int, units: float, done_items: int = 0, expected_items: int = 0) -> None:
        """Show how far the command is. `done_items`: of those that are expected; 0: nobody knows how many."""
        columns = columns_of(sys.stderr)
        if columns is None:
            return
        self._columns = columns - 1
        parts = [f"{items:,} items", f"{text_bytes / MEGABYTE:,.1f} MB", f"{units:,.0f} units"]
        if expected_items:
            parts.append(f"{min(99, done_items * 100 // expected_items)} %")
            parts += self._time_left(done_items, expected_items)
        show_progress(", ".join(parts)[: self._columns].ljust(self._columns))

    def _time_left(self, done_items: int, expected_items: int) -> list[str]:
        now = self._now()
        if self._began is None:
            self._began = (now, done_items)
        seconds, moved = now - self._began[0], done_items - self._began[1]
        if moved <= 0 or seconds <= 0:
            return []
        return [f"{time_told(max(0, expected_items - done_items) * seconds / moved)} left"]

    def clear(self) -> None:
        """Take the line away."""
        if self._columns:
            show_progress(" " * self._columns)
            self._columns = 0


def time_told(seconds: float) -> str:
    """A length of time for people."""
    if seconds < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
