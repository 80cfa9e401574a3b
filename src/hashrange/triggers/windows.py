"""Which tumbling window does a record belong to, and what does its event say of it?
Windows follow each other from the epoch on.

All invocations for the records of a window pass on a state: what the function returns is in the next event.
At the end of the window comes a final invocation without records, whose state is dropped.
A state of more than 1 MB ends the window early: the next event says that the invocation is final and that the window
ended early; then the same window begins again without a state. Source: Lambda's developer guide of 2026,
*Implementing stateful DynamoDB stream processing*. Unconfirmed: that an early end is also final.
"""

import datetime as dt
from typing import NamedTuple

import msgspec

from hashrange.limits import TUMBLING_STATE_BYTES_MAX
from hashrange.tables.streams import Sequence, sequence_seconds

EMPTY_STATE = b"{}"


class TumblingWindow(NamedTuple):
    """A window of which at least one batch has been handled."""

    start_seconds: int
    """Service time at which the window begins, in seconds since the epoch."""
    state: bytes = EMPTY_STATE
    """JSON that the function returned last."""

    @property
    def is_too_large(self) -> bool:
        """True if the state ends the window early."""
        return len(self.state) > TUMBLING_STATE_BYTES_MAX


def window_start(sequence: Sequence, length_seconds: int) -> int:
    """Start of the window that a record belongs to, in seconds since the epoch."""
    return int(sequence_seconds(sequence)) // length_seconds * length_seconds


def window_members(
    window: TumblingWindow, length_seconds: int, shard_id: str, stream_arn: str, *, is_final: bool
) -> bytes:
    """The members of an event that follow its records, as JSON that begins with a comma."""
    return b'"window":{"start":"%b","end":"%b"},"state":%b,"shardId":%b,"eventSourceARN":%b' % (
        _time_text(window.start_seconds),
        _time_text(window.start_seconds + length_seconds),
        window.state,
        msgspec.json.encode(shard_id),
        msgspec.json.encode(stream_arn),
    ) + b',"isFinalInvokeForWindow":%b,"isWindowTerminatedEarly":%b' % (
        b"true" if is_final else b"false",
        b"true" if is_final and window.is_too_large else b"false",
    )


def _time_text(seconds: int) -> bytes:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
