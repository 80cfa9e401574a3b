"""How does a program run on a database's own thread? `Database.run` gives it an `Inside`, whose calls change no
threads, which takes most of a call's time.
"""

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hashrange.jobs.virtual_time import advance
from hashrange.server.protocols.values import ValuesCall
from hashrange.service.service import Service
from hashrange.service.snapshots import movable_clock
from hashrange.settings import SHARED_ACCOUNT, SHARED_REGION
from hashrange.wire.sigv4 import is_region

if TYPE_CHECKING:
    from hashrange.server.protocols.aws_forms.service_calls import ServiceCalls

TURN_SECONDS = 0.002
"""A program that has called this long gives way to other requests."""


def require_names(operation: object, region: object) -> None:
    """Raise ValueError unless the operation is named by a text, and the Region has a name that clients over HTTP can
    have; a store with another is damaged.
    """
    if not isinstance(operation, str):
        # TRY004: as for a Region
        raise ValueError(f"operation is {ascii(operation)[:80]}; it must be the name of one, such as PutItem.")  # noqa: TRY004
    if not isinstance(region, str) or not is_region(region):
        raise ValueError(f"region is {ascii(region)[:80]}; it must be the name of a Region, such as {SHARED_REGION}.")


class Inside:
    """A database as a program on its own thread sees it. To be used by coroutines on that thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._services: ServiceCalls | None = None
        self._monotonic = service.clock.monotonic
        self._turn_ends_seconds = self._monotonic() + TURN_SECONDS

    async def call(
        self, operation: str, members: Mapping[str, Any], *, service: str = "dynamodb", region: str = SHARED_REGION
    ) -> dict[str, Any]:
        """Do what `Database.call` does, without a change of threads."""
        require_names(operation, region)
        if self._monotonic() >= self._turn_ends_seconds:
            await asyncio.sleep(0)
            self._turn_ends_seconds = self._monotonic() + TURN_SECONDS
        if service != "dynamodb":
            if self._services is None:
                # Imported here: most databases are never asked for these services, and start time counts.
                from hashrange.server.protocols.aws_forms.service_calls import ServiceCalls  # noqa: PLC0415

                self._services = ServiceCalls(self._service)
            return await self._services.call(service, SHARED_ACCOUNT, region, operation, members)
        ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        ValuesCall.start(self._service, SHARED_ACCOUNT, region, operation, members, ended)
        # The call goes on if its caller is cancelled.
        return ended.result() if ended.done() else await asyncio.shield(ended)

    def now(self) -> float:
        """Service time, in seconds since the epoch."""
        return movable_clock(self._service).service_time()

    async def advance(self, seconds: float) -> None:
        """Do what `Database.clock.advance` does, without a change of threads."""
        await advance(movable_clock(self._service), self._service.jobs, checked_advance(seconds))


def checked_advance(seconds: float) -> float:
    """The seconds by which service time is to be moved ahead. Raises TypeError and ValueError."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(
            f"service time is advanced by a number of seconds, such as advance(3600), not by {seconds!r}."
            " The seconds of a timedelta are its total_seconds()."
        )
    try:
        float(seconds)
    except OverflowError:
        seconds = math.inf if seconds > 0 else -math.inf
    if not seconds >= 0:
        raise ValueError(f"service time moves ahead only, not by {seconds} seconds")
    return seconds
