"""What follows from the end of an invocation?
The batch has been handled, or parts of it are delivered again or given up.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hashrange.functions.invocation import Invocation
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.messages.triggers import FUNCTION_CALL_FAILED, OK, STATE_TOO_LONG
from hashrange.triggers.batches import Batch
from hashrange.triggers.lanes import EVENT_BYTES, Lane
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.responses import BatchResponse, all_failed, read_response
from hashrange.triggers.retries import batches_after_failure
from hashrange.triggers.windows import TumblingWindow


class Unhandled(NamedTuple):
    """What the reply to a batch has left unhandled. The function itself has succeeded."""

    reported: int
    """Records that the reply names."""
    fault: str
    """Why the reply cannot be used; empty if it can."""
    records: int
    """Records that are delivered again or given up: those named, and what follows the first of them."""
    batch_records: int
    is_given_up: bool
    is_split: bool
    pause_seconds: float
    """Service time until they are delivered again."""


class Conclusion(NamedTuple):
    """What an invocation has changed."""

    has_progress: bool
    """True if records have been handled, or a window has ended, so that there is a new checkpoint."""
    result: str
    """LastProcessingResult."""
    unhandled: Unhandled | None = None
    """What is left of the batch because of the reply; None if all is handled, or the function failed."""


def conclude_invocation(
    mapping: EventSourceMapping, lane: Lane, invocation: Invocation, now_seconds: float
) -> Conclusion:
    """Change the lane's batches and window as the function's reply to its first batch requires."""
    batch = lane.batches[0]
    batch.invocations += 1
    batch.error = invocation.function_error
    response = _response(mapping, batch, invocation)
    if response.failed_from is None:
        if batch.repeats:
            batch.repeats -= 1
            return Conclusion(has_progress=False, result=OK)
        lane.batches.popleft()
        lane.window = _window_after(batch, response.state)
        return Conclusion(has_progress=True, result=OK)
    lane.batches.popleft()
    rest = batches_after_failure(batch, response.failed_from, mapping, now_seconds)
    lane.batches.extendleft(reversed(rest))
    if response.failed_from and response.state is not None:
        lane.window = _window_after(batch, response.state)
    unhandled = None if invocation.function_error else _unhandled(batch, response, rest, now_seconds)
    return Conclusion(response.failed_from > 0, FUNCTION_CALL_FAILED, unhandled)


def _unhandled(batch: Batch, response: BatchResponse, rest: Sequence[Batch], now_seconds: float) -> Unhandled:
    return Unhandled(
        response.reported,
        response.fault,
        records=sum(len(one.records) for one in rest),
        batch_records=len(batch.records),
        is_given_up=any(one.discard is not None for one in rest),
        is_split=len(rest) > 1,
        pause_seconds=max(0.0, rest[0].due_seconds - now_seconds),
    )


def _response(mapping: EventSourceMapping, batch: Batch, invocation: Invocation) -> BatchResponse:
    if invocation.function_error is not None:
        return all_failed("")
    if batch.is_final:
        return BatchResponse(None)
    response = read_response(
        invocation.payload,
        batch.sequences,
        reports_failures=mapping.reports_item_failures,
        has_state=batch.window_start_seconds is not None,
    )
    if response.state is not None and len(response.state) > INVOCATION_PAYLOAD_BYTES_MAX - EVENT_BYTES:
        return all_failed(STATE_TOO_LONG)
    return response


def _window_after(batch: Batch, state: bytes | None) -> TumblingWindow | None:
    """The lane's window after a batch has been handled; None after a final invocation, or without windows."""
    if batch.is_final or batch.window_start_seconds is None or state is None:
        return None
    return TumblingWindow(batch.window_start_seconds, state)
