"""How far is a long application of an init folder? A line of the log every few seconds,
and none for what takes less.
"""

import logging

from hashrange.clock import Clock
from hashrange.init.files import InitFile

REPORT_SECONDS = 5.0

_log = logging.getLogger("hashrange.init")


class Progress:
    """Reports how many items of the present file have been put."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._due_seconds = self._monotonic() + REPORT_SECONDS
        self._name = ""
        self._items = 0

    def begin(self, file: InitFile) -> None:
        """From now on, items of this file are put."""
        self._name, self._items = file.name, 0

    def put(self, items: int) -> None:
        """Count items that have been put; report, if the last report was long ago."""
        self._items += items
        now_seconds = self._monotonic()
        if now_seconds >= self._due_seconds:
            self._due_seconds = now_seconds + REPORT_SECONDS
            _log.info("%s: %s so far", self._name, counted(self._items, "item"))


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural if needed: `1 table`, `12,000 items`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
