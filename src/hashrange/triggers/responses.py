"""What does a function's reply mean for its batch? That all records are handled, or from which record on they are not.

With ReportBatchItemFailures, a reply names the sequence numbers of failed records:

    {"batchItemFailures": [{"itemIdentifier": "<SequenceNumber>"}]}

The lowest one counts: records before it are handled, it and all after it are not.
A reply with another identifier, or of another form, means that the whole batch failed. With tumbling windows a reply
must have a `state`; null stands for an empty one. Source: Lambda's developer guide of 2026, *Configuring partial batch
response with DynamoDB* and *Implementing stateful DynamoDB stream processing*; service behaviour (streams.md 8).
Unconfirmed: replies that are no object, except null and an empty list.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hashrange.items.steps import spend_decoding, walk
from hashrange.messages.triggers import NO_FAILURES_FORM, NO_STATE, UNKNOWN_IDENTIFIER
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import sequence_text

EMPTY_STATE = b"{}"


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


def all_failed(fault: str) -> BatchResponse:
    """The whole batch has failed: the function, or its reply, for this reason."""
    return BatchResponse(0, fault=fault)


class _Members(msgspec.Struct, frozen=True, gc=False):
    """The members of a reply that matter."""

    batchItemFailures: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - the service's name
    state: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Failure(msgspec.Struct, frozen=True, gc=False):
    """A record that is not handled."""

    itemIdentifier: str  # noqa: N815 - the service's name


_decode = msgspec.json.Decoder(_Members | None).decode
_decode_failures = msgspec.json.Decoder(list[_Failure] | None).decode


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
        is_empty_list = not has_state and payload.strip() in (b"", b"[]") and bool(payload)
        return BatchResponse(None) if is_empty_list else all_failed(NO_FAILURES_FORM if reports_failures else NO_STATE)
    members = members or _Members()
    state = None
    if has_state:
        if members.state is msgspec.UNSET:
            return all_failed(NO_STATE)
        state = bytes(members.state)
        state = EMPTY_STATE if state == b"null" else state
    if not reports_failures:
        return BatchResponse(None, state)
    try:
        failures = _decode_failures(members.batchItemFailures)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return all_failed(NO_FAILURES_FORM)
    if not failures:
        return BatchResponse(None, state)
    return _response_of(failures, sequences, state)


def _response_of(
    failures: Sequence[_Failure], sequences: Sequence[SequenceNumber], state: bytes | None
) -> BatchResponse:
    """What a reply means that names records."""
    places = {sequence_text(sequence): place for place, sequence in enumerate(sequences)}
    named = set()
    for failure in walk(failures):
        place = places.get(failure.itemIdentifier)
        if place is None:
            return all_failed(UNKNOWN_IDENTIFIER)
        named.add(place)
    failed_from = min(named)
    return BatchResponse(failed_from, state if failed_from else None, len(named))
