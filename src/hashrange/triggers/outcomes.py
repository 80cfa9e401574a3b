"""What follows from the end of an invocation? The batch has been handled, or parts of it are delivered again or given up."""

from typing import NamedTuple

from hashrange.functions.invocation import Invocation
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.messages.triggers import FUNCTION_CALL_FAILED, OK
from hashrange.triggers.batches import Batch
from hashrange.triggers.lanes import EVENT_BYTES, Lane
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.responses import ALL_FAILED, BatchResponse, read_response
from hashrange.triggers.retries import batches_after_failure
from hashrange.triggers.windows import TumblingWindow


class Conclusion(NamedTuple):
    """What an invocation has changed."""

    has_progress: bool
    """True if records have been handled, or a window has ended, so that there is a new checkpoint."""
    result: str
    """LastProcessingResult."""


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
    lane.batches.extendleft(reversed(batches_after_failure(batch, response.failed_from, mapping, now_seconds)))
    if response.failed_from and response.state is not None:
        lane.window = _window_after(batch, response.state)
    return Conclusion(has_progress=response.failed_from > 0, result=FUNCTION_CALL_FAILED)


def _response(mapping: EventSourceMapping, batch: Batch, invocation: Invocation) -> BatchResponse:
    if invocation.function_error is not None:
        return ALL_FAILED
    if batch.is_final:
        return BatchResponse(None)
    response = read_response(
        invocation.payload,
        batch.sequences,
        reports_failures=mapping.reports_item_failures,
        has_state=batch.window_start_seconds is not None,
    )
    if response.state is not None and len(response.state) > INVOCATION_PAYLOAD_BYTES_MAX - EVENT_BYTES:
        return ALL_FAILED  # the state that the function returned is too large to be put into the next event
    return response


def _window_after(batch: Batch, state: bytes | None) -> TumblingWindow | None:
    """The lane's window after a batch has been handled; None after a final invocation, or without windows."""
    if batch.is_final or batch.window_start_seconds is None or state is None:
        return None
    return TumblingWindow(batch.window_start_seconds, state)
