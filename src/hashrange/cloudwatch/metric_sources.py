"""When do those who count for themselves record what they have counted?
Before every look at metrics, and before every save.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from hashrange.clock import Clock
from hashrange.items.shared_work import SharedWork

T = TypeVar("T")
RecordCounts = Callable[[float], Iterator[None] | None]
"""Called with the service time: records what has been counted since the last call, in the pieces of an iterator,
or at once if it returns None."""


class MetricSources:
    """The sources of one store's metrics. All calls come from one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sources: list[RecordCounts] = []
        self._reading = SharedWork()
        self._readings = 0
        """How many readings have been begun."""
        self._is_in_source = False

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, source: RecordCounts) -> None:
        """Ask this source from now on."""
        self._sources.append(source)

    def read(self) -> None:
        """Let all sources record what they have counted until now; may give way.
        A source that asks for metrics reads no sources.
        """
        if self._is_in_source:
            return
        before = self._readings
        self._reading.finish()  # one that others have begun, and that may not see what has been counted since
        if self._readings == before:
            self._readings += 1
            self._reading.begin(self._pieces)
        self._reading.finish()

    def _pieces(self) -> Iterator[None]:
        now_seconds = self._clock.service_time()
        for source in self._sources:
            pieces = self._within(partial(source, now_seconds))
            while pieces is not None and self._within(partial(next, pieces, self)) is not self:
                yield

    def _within(self, work: Callable[[], T]) -> T:
        self._is_in_source = True
        try:
            return work()
        finally:
            self._is_in_source = False
