"""What follows from the end of an invocation?
The batch has been handled, or parts of it are delivered again or given up, as the function's reply says.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.functions.invocation import Invocation
from hashrange.items.steps import spend_decoding, walk
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.messages import triggers as messages
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import sequence_text
from hashrange.triggers.batches import Batch
from hashrange.triggers.lanes import EVENT_BYTES, Lane
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.retries import batches_after_failure
from hashrange.triggers.windows import EMPTY_STATE, TumblingWindow
from hashrange.wire.piecewise import decode_in_pieces, free


class BatchResponse(NamedTuple):
    """What a reply says."""

    failed_from: int | None
    """Place in the batch of the first record that is not handled; None: all are."""
    state: bytes | None = None
    """JSON of the state of a tumbling window; None if there is none, or the batch failed as a whole."""
    reported: int = 0
    """How many records of the batch the reply names as failed."""
    fault: str = ""
    """Why the reply cannot be used, so that the whole batch has failed."""


class Unhandled(NamedTuple):
    """What the reply to a batch has left unhandled. The function itself has succeeded."""

    response: BatchResponse
    batch_records: int
    rest: Sequence[Batch]
    """The batches that are delivered again or given up, with the records that the reply names, and what follows the
    first of them."""
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
            return Conclusion(has_progress=False, result=messages.OK)
        lane.batches.popleft()
        lane.window = _window_after(batch, response.state)
        return Conclusion(has_progress=True, result=messages.OK)
    lane.batches.popleft()
    rest = batches_after_failure(batch, response.failed_from, mapping, now_seconds)
    lane.batches.extendleft(reversed(rest))
    if response.failed_from and response.state is not None:
        lane.window = _window_after(batch, response.state)
    unhandled = None
    if not invocation.function_error:
        unhandled = Unhandled(response, len(batch.sequences), rest, max(0.0, rest[0].due_seconds - now_seconds))
    return Conclusion(response.failed_from > 0, messages.FUNCTION_CALL_FAILED, unhandled)


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
        return all_failed(messages.STATE_TOO_LONG)
    return response


def _window_after(batch: Batch, state: bytes | None) -> TumblingWindow | None:
    """The lane's window after a batch has been handled; None after a final invocation, or without windows."""
    if batch.is_final or batch.window_start_seconds is None or state is None:
        return None
    return TumblingWindow(batch.window_start_seconds, state)


# --- the function's reply -------------------------------------------------------------------------

# With ReportBatchItemFailures, a reply names the sequence numbers of failed records:
#
#     {"batchItemFailures": [{"itemIdentifier": "<SequenceNumber>"}]}
#
# The lowest one counts: records before it are handled, it and all after it are not.
# A reply with another identifier, or of another form, means that the whole batch failed. With tumbling windows a reply
# must have a `state`; null stands for an empty one. Source: Lambda's developer guide of 2026, *Configuring partial
# batch response with DynamoDB* and *Implementing stateful DynamoDB stream processing*; service behaviour
# (streams.md 8).
# Unconfirmed: replies that are no object, except null and an empty list.


def all_failed(fault: str) -> BatchResponse:
    """The whole batch has failed: the function, or its reply, for this reason."""
    return BatchResponse(0, fault=fault)


class _Members(msgspec.Struct, frozen=True, gc=False):
    """The members of a reply that matter."""

    batchItemFailures: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - the service's name
    state: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Members | None).decode


def read_response(
    payload: bytes, sequences: Sequence[SequenceNumber], *, reports_failures: bool, has_state: bool
) -> BatchResponse:
    """What the payload of a successful invocation means for a batch with these sequence numbers.

    `reports_failures`: the mapping has ReportBatchItemFailures; `has_state`: it has tumbling windows.
    Without either, the payload is not read.
    """
    if not reports_failures and not has_state:
        return BatchResponse(None)
    spend_decoding(len(payload))
    try:
        members = _decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if payload and not has_state and payload.strip() in (b"", b"[]"):
            return BatchResponse(None)
        return all_failed(messages.NO_FAILURES_FORM if reports_failures else messages.NO_STATE)
    members = members or _Members()
    state = None
    if has_state:
        if members.state is msgspec.UNSET:
            return all_failed(messages.NO_STATE)
        state = bytes(members.state)
        state = EMPTY_STATE if state == b"null" else state
    if not reports_failures:
        return BatchResponse(None, state)
    try:
        identifiers = _identifiers_in(bytes(members.batchItemFailures))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        identifiers = None
    if identifiers is None:
        return all_failed(messages.NO_FAILURES_FORM)
    if not identifiers:
        return BatchResponse(None, state)
    return _response_of(identifiers, sequences, state)


def _identifiers_in(text: bytes) -> list[str] | None:
    """The `itemIdentifier` of each failure in a list, or in null; None for another form. Gives way.
    Raises MsgspecError, ValueError or RecursionError for what is no JSON.
    """
    failures = decode_in_pieces(text, msgspec.json.decode)
    if failures is None:
        return []
    if not isinstance(failures, list):
        return None
    is_form = all(map(_is_failure, walk(failures)))
    identifiers = [one["itemIdentifier"] for one in walk(failures)] if is_form else None
    free(failures)
    return identifiers


def _is_failure(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("itemIdentifier"), str)


def _response_of(identifiers: Sequence[str], sequences: Sequence[SequenceNumber], state: bytes | None) -> BatchResponse:
    """What a reply means that names records."""
    places = {sequence_text(sequence): place for place, sequence in enumerate(sequences)}
    named = set()
    for identifier in walk(identifiers):
        place = places.get(identifier)
        if place is None:
            return all_failed(messages.UNKNOWN_IDENTIFIER)
        named.add(place)
    failed_from = min(named)
    return BatchResponse(failed_from, state if failed_from else None, len(named))
