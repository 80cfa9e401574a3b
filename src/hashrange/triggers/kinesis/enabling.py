"""Does the Kinesis data stream of a new destination exist?
Then the destination becomes ACTIVE, otherwise ENABLE_FAILED.

A data stream that is still being created counts as missing, as for the service. While Kinesis does not answer, the
destination stays ENABLING and Kinesis is asked again, for at most five minutes: until then, it cannot be disabled.
"""

from typing import Literal

import msgspec

from hashrange.limits import KINESIS_ENABLING_SECONDS_MAX
from hashrange.messages import kinesis as messages
from hashrange.store.interface import Catalog
from hashrange.tables.kinesis_destinations import destination_on
from hashrange.tables.streams import Stream
from hashrange.triggers.retries import pause_seconds

READY_STATUSES = ("ACTIVE", "UPDATING")
"""Statuses of data streams that take records."""


class Enabling:
    """A destination whose data stream has not been found yet."""

    def __init__(self, feed: Stream) -> None:
        self.feed = feed
        self.failures = 0
        self.due_seconds = 0.0
        """Service time before which Kinesis is not asked."""
        self.is_busy = False
        """True while Kinesis is being asked."""
        self.begun = 0
        """Number of the pass in which Kinesis was last asked."""
        self.has_waited = False
        """True once Kinesis has not answered a request for this data stream."""

    async def answered(self, catalog: Catalog, status: str | None, now_seconds: float) -> None:
        """Conclude with the status of the data stream; None: there is none."""
        if status in READY_STATUSES:
            await self._conclude(catalog, "ACTIVE", None, now_seconds)
        else:
            await self._conclude(catalog, "ENABLE_FAILED", messages.NO_PERMISSION, now_seconds)

    def unanswered(self) -> None:
        """Note that Kinesis has not answered."""
        self.has_waited = True

    def refused(self, now_seconds: float) -> None:
        """Note that Kinesis has refused to answer, and ask again after a pause."""
        self.has_waited = True
        self.failures += 1
        self.due_seconds = now_seconds + pause_seconds(self.failures)

    async def give_up_late(self, catalog: Catalog, reason: str, now_seconds: float) -> None:
        """Conclude that the destination has failed, if Kinesis has not answered for long."""
        if self.has_waited and now_seconds >= self.feed.created_at_seconds + KINESIS_ENABLING_SECONDS_MAX:
            description = messages.NO_ANSWER.format(reason=reason)
            await self._conclude(catalog, "ENABLE_FAILED", description, now_seconds)

    async def _conclude(
        self, catalog: Catalog, state: Literal["ACTIVE", "ENABLE_FAILED"], description: str | None, now_seconds: float
    ) -> None:
        """Store the destination's new state, unless the destination is gone."""
        feed = self.feed
        while True:
            opened = catalog.find(feed.account, feed.region, feed.table_name)
            destination = None if opened is None else destination_on(opened.schema)
            if opened is None or destination is None or destination.feed_label != feed.label:
                return
            table = opened.schema
            new = msgspec.structs.replace(
                destination, state=state, description=description, changed_at_seconds=now_seconds
            )
            others = table.kinesis_destinations[:-1]
            if await catalog.replace(table, msgspec.structs.replace(table, kinesis_destinations=(*others, new))):
                return

    def rest(self) -> None:
        """Keep nothing for the next request: there is nothing to keep."""
