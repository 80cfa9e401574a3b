"""`clock/advance`, `clock/freeze`, `clock/resume`: move service time ahead, with the jobs' work that
becomes due, or let it stand still.

Wall time and monotonic time do not change, so signatures and time-outs are not affected. None of these moves time back.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.jobs.job import NeverRests
from hashrange.jobs.virtual_time import TooFarAhead, advance
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving, at_once
from hashrange.service.snapshots import movable_clock


class AdvanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: how far to advance service time."""

    seconds: Annotated[float, Meta(ge=0)]
    """Seconds to advance; 0 does not move service time, but waits for work that is due."""


async def advance_clock(serving: Serving, request: AdvanceRequest) -> dict[str, object]:
    """Advance service time, and wait until the jobs' work that became due is done and durable.

    Returns the service time in seconds since the epoch. Raises Refused if it would be too far ahead of wall time,
    or if a function triggers itself; also StorageError, and the error of a failed job.
    """
    service = serving.service
    clock = movable_clock(service)
    try:
        await advance(clock, service.jobs, request.seconds)
    except TooFarAhead as error:
        raise Refused(400, str(error)) from None
    except NeverRests as error:
        raise Refused(409, str(error)) from None
    return {"service_time": clock.service_time()}


async def freeze_clock(serving: Serving, request: Nothing) -> dict[str, object]:
    """Let service time stand still, except for `advance`; returns the service time."""
    clock = movable_clock(serving.service)
    clock.freeze()
    return {"service_time": clock.service_time()}


async def resume_clock(serving: Serving, request: Nothing) -> dict[str, object]:
    """Let service time run again, from where it stands; returns the service time."""
    clock = movable_clock(serving.service)
    clock.resume()
    return {"service_time": clock.service_time()}


ENDPOINTS = (
    Operation("POST clock/advance", AdvanceRequest, advance_clock, AdminWire('{"seconds": 3600}')),
    Operation("POST clock/freeze", Nothing, freeze_clock, AdminWire(), is_eventual=at_once),
    Operation("POST clock/resume", Nothing, resume_clock, AdminWire(), is_eventual=at_once),
)
