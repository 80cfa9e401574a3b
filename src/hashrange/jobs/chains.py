"""Does work make more work of its own kind without end? Then deliveries, or asynchronous invocations, never end, and an
advance of service time, which waits for their end, would not return. So links are counted while somebody waits.

A function that writes to its own table gets what it has written, writes again, and so on; so do functions of two tables
that write to each other's tables, and functions that invoke themselves or each other asynchronously.

Each piece of work has a number, and what is made later has a greater one. A *link* is a piece of work that was made
after the link before had begun. Work that waits already when the first link begins makes no chain, however much it is.

Others that make work all the while look the same, except that whoever falls behind them makes few links:
each piece of work is older than the link before. So work also counts as endless some real time after the first piece
that was made while somebody waited.

A chain may pass through several jobs, each of which rests between two links.
So it ends only when service time is moved, or when nobody waits, or somebody else.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from hashrange.clock import Clock
from hashrange.jobs.job import NeverRests
from hashrange.limits import TRIGGER_CHAIN_LINKS_MAX, TRIGGER_CHAIN_SECONDS_MAX

Doer = TypeVar("Doer", bound=tuple[str, ...])
IsAwaited = Callable[[], int]
"""Above 0 while somebody waits for the end of the work, and another number each time."""


class ChainLinks(Generic[Doer]):
    """The chains of one kind of work, by who does it."""

    def __init__(self, clock: Clock, is_awaited: IsAwaited, chain_text: str, time_text: str) -> None:
        """The texts say why work counts as endless: a chain has many links, or work has gone on for long."""
        self._monotonic = clock.monotonic
        self._is_awaited = is_awaited
        self._chain_text, self._time_text = chain_text, time_text
        self._awaited: int | None = None
        """Number of the last piece of work that was made before somebody waited;
        None until one begins for somebody who waits."""
        self._later_since_seconds: float | None = None
        """Since when work begins that was made later than `_awaited`."""
        self._links: dict[Doer, tuple[int, int]] = {}
        """By doer: the last number when the last link began, and the number of links before."""
        self._endless: tuple[str, Doer] | None = None
        self._wait = 0
        """What `is_awaited` returned when the last slice began."""
        self._has_time_moved = False
        clock.on_advance(self._note_advance)

    def _note_advance(self) -> None:
        self._has_time_moved = True

    def _clear(self) -> None:
        """Forget all chains."""
        self._links = {}
        self._awaited = self._later_since_seconds = self._endless = None

    def begin_slice(self) -> None:
        """A slice of the job begins: forget all chains unless the same one waits as before,
        and service time has not been moved.
        """
        wait = self._is_awaited()
        if self._has_time_moved or wait != self._wait or not wait:
            self._has_time_moved, self._wait = False, wait
            self._clear()

    @property
    def are_counted(self) -> bool:
        """True while somebody waits: otherwise, `begin` does nothing."""
        return self._is_awaited() > 0

    def begin(self, doer: Doer, number: int, last: int, /) -> None:
        """Note that a piece of work begins, if somebody waits.
        `last`: number of the last piece of work that has been made.
        """
        if not self._is_awaited():
            return
        if self._awaited is None:
            self._awaited = last
        if number > self._awaited:
            now_seconds = self._monotonic()
            if self._later_since_seconds is None:
                self._later_since_seconds = now_seconds
            elif now_seconds - self._later_since_seconds >= TRIGGER_CHAIN_SECONDS_MAX:
                self._endless = self._endless or (self._time_text, doer)
        last_of_link, links = self._links.get(doer, (-1, -1))
        if number > last_of_link:
            self._links[doer] = (last, links + 1)
            if links + 1 >= TRIGGER_CHAIN_LINKS_MAX:
                self._endless = (self._chain_text, doer)

    def check(self) -> None:
        """Raise NeverRests if a chain has TRIGGER_CHAIN_LINKS_MAX links, or work has gone on
        for TRIGGER_CHAIN_SECONDS_MAX. All chains begin anew then.
        """
        if self._endless is not None:
            text, doer = self._endless
            self._clear()
            raise NeverRests(text.format(*doer, links=TRIGGER_CHAIN_LINKS_MAX, seconds=TRIGGER_CHAIN_SECONDS_MAX))
