"""Does a function trigger itself? Then deliveries never end, and an advance of service time, which waits for their end, would not return.

A function that writes to its own table gets what it has written, writes again, and so on: a chain. Its links are invocations with
records that were written after the link before had begun. Records that wait already when the first link begins make no chain,
however many they are. Functions of two tables that write to each other's tables make chains too.

Clients that write all the while look the same, except that a mapping which falls behind them makes few links: each finds records
that are older than the link before. So deliveries are also given up some real time after the first record that was written
while somebody waited.
"""

from collections.abc import Callable

from hashrange.jobs.job import NeverRests
from hashrange.limits import TRIGGER_CHAIN_LINKS_MAX, TRIGGER_CHAIN_SECONDS_MAX
from hashrange.messages.triggers import chain_without_end, deliveries_without_end
from hashrange.store.streams import Streams
from hashrange.tables.streams import Sequence
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import Consumer


class Chains:
    """The chains of all mappings, while somebody waits for the end of deliveries."""

    def __init__(self, streams: Streams, monotonic: Callable[[], float]) -> None:
        self._streams = streams
        self._monotonic = monotonic
        self._awaited: Sequence | None = None
        """The last record that was written before somebody waited; None until a batch is begun for somebody who waits."""
        self._later_since_seconds: float | None = None
        """Since when batches are begun with records written after `_awaited`."""
        self._links: dict[str, tuple[Sequence, int]] = {}
        """By UUID of the mapping: the last record that was written when the last link began, and the number of links before."""
        self._longest: Consumer | None = None
        """A consumer whose chain has become too long."""
        self._last: Consumer | None = None
        """A consumer that still gets such batches TRIGGER_CHAIN_SECONDS_MAX after the first one."""

    def clear(self) -> None:
        """Forget all chains."""
        self._links, self._longest, self._last = {}, None, None
        self._awaited = self._later_since_seconds = None

    def begin(self, consumer: Consumer, batch: Batch) -> None:
        """Note that a batch is brought to its function."""
        if self._awaited is None:
            self._awaited = self._streams.last()
        if batch.sequences and batch.sequences[0] > self._awaited:
            now_seconds = self._monotonic()
            if self._later_since_seconds is None:
                self._later_since_seconds = now_seconds
            elif now_seconds - self._later_since_seconds >= TRIGGER_CHAIN_SECONDS_MAX:
                self._last = consumer
        last, links = self._links.get(consumer.mapping.uuid, (-1, -1))
        if batch.sequences and batch.sequences[0] > last:
            self._links[consumer.mapping.uuid] = (self._streams.last(), links + 1)
            if links + 1 >= TRIGGER_CHAIN_LINKS_MAX:
                self._longest = consumer

    def check(self) -> None:
        """Raise NeverRests if a chain has TRIGGER_CHAIN_LINKS_MAX links, or batches have gone on for TRIGGER_CHAIN_SECONDS_MAX."""
        if self._longest is not None:
            mapping = self._longest.mapping
            raise NeverRests(chain_without_end(mapping.function_arn, self._longest.stream.table_name))
        if self._last is not None:
            raise NeverRests(deliveries_without_end(self._last.stream.table_name))
