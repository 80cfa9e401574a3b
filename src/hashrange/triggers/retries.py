"""What happens to a batch that failed, and which of its records have become too old?
Parts of it are delivered again, or given up.

Pure functions. A failed batch is retried after a pause by service time, which doubles from 0.5 to 60 s (unconfirmed;
the service does not document its pauses). With BisectBatchOnFunctionError, it is split instead:
where the function said, or else into halves, which are delivered at once. A split is not a retry,
so that halves have as many retries left as the whole batch had. What ReportBatchItemFailures leaves of a batch has one
retry less (unconfirmed). Source: Lambda's developer guide of 2026, *Configuring error handling controls*,
*Configuring partial batch response*; streams.md 8.
"""

from hashrange.limits import RECORD_RETENTION_SECONDS, TRIGGER_PAUSE_SECONDS_MAX, TRIGGER_PAUSE_SECONDS_MIN
from hashrange.tables.streams import Sequence, horizon, sequence_at
from hashrange.triggers.batches import Batch
from hashrange.triggers.mapping import NO_LIMIT, EventSourceMapping


def pause_seconds(failures: int) -> float:
    """Service time between a failure and the next attempt, after this many failures in a row."""
    doublings = min(failures - 1, 32)
    return min(TRIGGER_PAUSE_SECONDS_MIN * float(1 << doublings), TRIGGER_PAUSE_SECONDS_MAX)


def put_off(batch: Batch, now_seconds: float) -> None:
    """Let the batch wait as long as its next pause lasts."""
    batch.pauses += 1
    batch.due_seconds = now_seconds + pause_seconds(batch.pauses)


def batches_after_failure(
    batch: Batch, failed_from: int, mapping: EventSourceMapping, now_seconds: float
) -> list[Batch]:
    """The batches that follow one that failed from the record at place `failed_from` on, in order.

    The one batch of which `discard` is set is to be given up.
    """
    rest = batch.part(failed_from)
    if batch.is_final:
        put_off(rest, now_seconds)
        return [rest]
    if mapping.is_bisecting and failed_from > 0:
        return [rest]
    if mapping.is_bisecting and len(rest.sequences) > 1:
        half = len(rest.sequences) // 2
        return [rest.part(0, half), rest.part(half)]
    if mapping.retry_attempts_max != NO_LIMIT and rest.retries >= mapping.retry_attempts_max:
        rest.discard = "RetryAttemptsExhausted"
        return [rest]
    rest.retries += 1
    put_off(rest, now_seconds)
    return [rest]


def batches_of_age(batch: Batch, mapping: EventSourceMapping, now_seconds: float) -> list[Batch]:
    """What is left of a batch at this time. Records that are older than MaximumRecordAgeInSeconds are in a batch
    of their own, which is to be given up. So are records past the retention of streams if the function has failed
    with them (unconfirmed); otherwise nothing is left of them.
    A final invocation is tried for as long as its records would be kept.
    """
    if batch.is_final:
        assert batch.window_start_seconds is not None
        is_past = batch.window_start_seconds + mapping.tumbling_window_seconds + RECORD_RETENTION_SECONDS < now_seconds
        return [] if is_past else [batch]
    if batch.discard is not None:
        return [batch]
    past = old = _count_below(batch, horizon(now_seconds))
    if batch.invocations:
        past = 0
    if mapping.record_age_seconds_max != NO_LIMIT:
        old = max(past, _count_below(batch, sequence_at(max(0.0, now_seconds - mapping.record_age_seconds_max))))
    if not old:
        return [batch]
    parts = []
    if old > past:
        parts.append(batch.part(past, old))
        parts[0].discard = "RecordAgeExceeded"
    if old < len(batch.sequences):
        parts.append(batch.part(old))
    return parts


def _count_below(batch: Batch, oldest: Sequence) -> int:
    """How many records of the batch have smaller sequence numbers. Nearly always 0, after one comparison."""
    return next((place for place, one in enumerate(batch.sequences) if one >= oldest), len(batch.sequences))
