"""What is a batch? Consecutive records of a lane that are delivered together, and how far their delivery has come.

The JSON of a record is made once, when the record is put into its batch.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from hashrange.tables.streams import Sequence
from hashrange.triggers.mapping import EventSourceMapping

FailureCondition = Literal["RetryAttemptsExhausted", "RecordAgeExceeded"]
"""Why a batch is discarded: it was retried as often as the mapping allows, or its records are older than the mapping,
or the stream's retention, allows."""


class Batch(msgspec.Struct, eq=False):
    """A batch. Times are service time."""

    opened_seconds: float
    """Service time at which the first record was put in."""
    records_max: int
    records: list[bytes] = []
    """JSON of each record as in an event; some are missing if the batch had to let go of them
    (`ConsumedShard.let_go`)."""
    sequences: list[Sequence] = []
    size_bytes: int = 0
    """Bytes of `records`, with a comma for each."""
    is_complete: bool = False
    """True if no further record is put in."""
    due_seconds: float = 0.0
    """The batch is not delivered before this time."""
    due_unless_early_seconds: float | None = None
    """`due_seconds` before the batch was given an extra try, ahead of its pause; None without one."""
    retries: int = 0
    """Retries so far, as MaximumRetryAttempts counts them."""
    pauses: int = 0
    """Failures in a row, each of which makes the next pause longer."""
    invocations: int = 0
    """Invocations so far with the first of these records."""
    repeats: int = 0
    """Further deliveries after a successful one, for tests of applications."""
    request_id: str = ""
    """Request id of the last invocation."""
    error: str | None = None
    """`function_error` of the last invocation; None if it was successful, or there was none."""
    discard: FailureCondition | None = None
    """Why the records are given up: they go to the mapping's destination, and no longer to the function."""
    message_id: str = ""
    """Id of the message to the destination; empty if none was sent. `discarded_seconds` is its time."""
    discarded_seconds: float = 0.0
    window_start_seconds: int | None = None
    """Start of the tumbling window to which all records belong; None without windows."""
    is_final: bool = False
    """True for the final invocation of a tumbling window, which has no records."""

    def add(self, sequence: Sequence, text: bytes) -> None:
        """Put a record in; `text` is its JSON."""
        self.records.append(text)
        self.sequences.append(sequence)
        self.size_bytes += len(text) + 1
        if len(self.sequences) >= self.records_max:
            self.is_complete = True

    def part(self, start: int, end: int | None = None) -> "Batch":
        """A complete batch of the records from place `start` to `end`, with the same history."""
        records = self.records[start:end] if len(self.records) == len(self.sequences) else []
        return msgspec.structs.replace(
            self,
            records=records,
            sequences=self.sequences[start:end],
            size_bytes=sum(map(len, records)) + len(records),
            is_complete=True,
            due_unless_early_seconds=None,
        )


def final_batch(window_start_seconds: int) -> Batch:
    """The final invocation of a tumbling window."""
    return Batch(0.0, 0, is_complete=True, is_final=True, window_start_seconds=window_start_seconds)


Disturb = Callable[[EventSourceMapping, Batch], None]
"""Called when a batch of the mapping is begun. May let it come late, repeat it or make it small, in tests of
applications that must bear it."""
