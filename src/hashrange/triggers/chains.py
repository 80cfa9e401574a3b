"""Does a function trigger itself? Then deliveries never end, and an advance of service time, which waits for their end, would not return.

A function that writes to its own table gets what it has written, writes again, and so on: a chain. Its links are invocations with
records that were written after the link before had begun. Records that wait already when the first link begins make no chain,
however many they are. Functions of two tables that write to each other's tables make chains too.
"""

from hashrange.jobs.job import NeverRests
from hashrange.limits import TRIGGER_CHAIN_LINKS_MAX
from hashrange.messages.triggers import chain_without_end
from hashrange.store.streams import Streams
from hashrange.tables.streams import Sequence
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import Consumer


class Chains:
    """The chains of all mappings, while somebody waits for the end of deliveries."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._links: dict[str, tuple[Sequence, int]] = {}
        """By UUID of the mapping: the last record that was written when the last link began, and the number of links before."""
        self._longest: Consumer | None = None
        """A consumer whose chain has become too long."""

    def clear(self) -> None:
        """Forget all chains."""
        self._links, self._longest = {}, None

    def begin(self, consumer: Consumer, batch: Batch) -> None:
        """Note that a batch is brought to its function."""
        last, links = self._links.get(consumer.mapping.uuid, (-1, -1))
        if batch.sequences and batch.sequences[0] > last:
            self._links[consumer.mapping.uuid] = (self._streams.last(), links + 1)
            if links + 1 >= TRIGGER_CHAIN_LINKS_MAX:
                self._longest = consumer

    def check(self) -> None:
        """Raise NeverRests if a chain has TRIGGER_CHAIN_LINKS_MAX links."""
        if self._longest is not None:
            mapping = self._longest.mapping
            raise NeverRests(chain_without_end(mapping.function_arn, self._longest.stream.table_name))
