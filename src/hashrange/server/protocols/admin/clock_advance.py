"""`POST clock/advance`: service time is moved ahead, and what became due is done before the reply.

Wall time and monotonic time stay: signatures and time-outs go on as before. Service time never goes back before the server ends.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.clock import MovableClock, VirtualClock
from hashrange.jobs.virtual_time import advance
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import Endpoint, Refused, Serving, until_durable

AHEAD_YEARS_MAX = 100
"""Of service time before wall time, in sum: what tells years in four digits, and milliseconds in thirteen, goes on to do so."""
AHEAD_SECONDS_MAX = AHEAD_YEARS_MAX * 365.25 * 86_400


class AdvanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far."""

    seconds: Annotated[float, Meta(ge=0)]
    """0 moves nothing, and waits for what is due."""


async def advance_clock(serving: Serving, request: AdvanceRequest) -> dict[str, object]:
    """The service time after it, in seconds since the epoch."""
    service = serving.service
    clock = service.clock
    assert isinstance(clock, MovableClock | VirtualClock), "a server with the admin API has a clock that can be moved"
    if clock.service_time() + request.seconds > clock.wall_time() + AHEAD_SECONDS_MAX:
        raise Refused(400, sentences.TOO_FAR_AHEAD.format(years=AHEAD_YEARS_MAX))
    await advance(clock, service.jobs, request.seconds)
    await until_durable(service.store)
    return {"service_time": clock.service_time()}


ENDPOINT = Endpoint("POST", "clock/advance", AdvanceRequest, advance_clock, example='{"seconds": 3600}')
