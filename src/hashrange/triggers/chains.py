"""Does a function trigger itself? Then deliveries, or asynchronous invocations, never end, and an advance of service
time, which waits for their end, would not return.

A function that writes to its own table gets what it has written, writes again, and so on; so do functions of two tables
that write to each other's tables, and functions that invoke themselves or each other asynchronously.
What is counted is in `chain_links.py`.
"""

from collections.abc import Callable

from hashrange.clock import Clock
from hashrange.jobs.job import NeverRests
from hashrange.messages import triggers as messages
from hashrange.store.streams import Streams
from hashrange.triggers.batches import Batch
from hashrange.triggers.chain_links import ChainLinks
from hashrange.triggers.consumers import Consumer


class DeliveryChains:
    """The chains of all mappings. A link is an invocation with records that were written after
    the link before had begun.
    """

    def __init__(self, streams: Streams, clock: Clock, is_awaited: Callable[[], int]) -> None:
        self._last = streams.last
        self._links: ChainLinks[tuple[str, str, str]] = ChainLinks(clock, is_awaited)
        """By UUID of the mapping, ARN of the function and name of the table."""

    def begin_slice(self) -> None:
        """See `ChainLinks.begin_slice`."""
        self._links.begin_slice()

    def begin(self, consumer: Consumer, batch: Batch) -> None:
        """Note that a batch is brought to its function."""
        if batch.sequences:
            mapping = consumer.mapping
            worker = (mapping.uuid, mapping.function_arn, consumer.stream.table_name)
            self._links.begin(worker, batch.sequences[0], self._last())

    def check(self) -> None:
        """Raise NeverRests if a chain has TRIGGER_CHAIN_LINKS_MAX links, or batches have gone on
        for TRIGGER_CHAIN_SECONDS_MAX.
        """
        endless = self._links.take_endless()
        if endless is None:
            return
        reason, (_, function_arn, table_name) = endless
        if reason == "links":
            raise NeverRests(messages.chain_without_end(function_arn, table_name))
        raise NeverRests(messages.deliveries_without_end(table_name))


class EventChains:
    """The chains of asynchronous invocations.
    A link is an invocation that was queued after the link before had begun.
    """

    def __init__(self, clock: Clock, is_awaited: Callable[[], int]) -> None:
        self._links: ChainLinks[str] = ChainLinks(clock, is_awaited)
        """By ARN of the function."""

    def begin_slice(self) -> None:
        """See `ChainLinks.begin_slice`."""
        self._links.begin_slice()

    def begin(self, function_arn: str, number: int, last: int) -> None:
        """Note that the invocation of this number begins; `last`: number of the one that was queued last."""
        self._links.begin(function_arn, number, last)

    def check(self) -> None:
        """Raise NeverRests if a chain has TRIGGER_CHAIN_LINKS_MAX links, or invocations have gone on
        for TRIGGER_CHAIN_SECONDS_MAX.
        """
        endless = self._links.take_endless()
        if endless is None:
            return
        reason, arn = endless
        if reason == "links":
            raise NeverRests(messages.events_chain_without_end(arn))
        raise NeverRests(messages.events_without_end(arn))
