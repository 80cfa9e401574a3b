"""How is a batch brought to its function, and what follows from the end of that?
Invocations, and messages to destinations, are tasks.

A batch whose function cannot run it now is tried again after a pause, which is no retry; one that was throttled also as
soon as an invocation ends: of another function too, since the limit may be that of all functions;
and as soon as the reserved concurrency of its function changes. Such an extra try leaves the pause as it is.
Records that are given up count as handled once their destination has accepted the message about them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hashrange.clock import Clock
from hashrange.errors import StorageCorruption
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.description import new_uuid
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation
from hashrange.functions.names import without_latest
from hashrange.functions.refusals import FunctionMissing
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, TRIGGER_SENT_BYTES_MAX
from hashrange.messages import triggers as messages
from hashrange.triggers.agenda import Agenda
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.events import encode_event
from hashrange.triggers.failure_message import FailureMessage, describe_failure
from hashrange.triggers.lanes import Lane
from hashrange.triggers.outcomes import conclude_invocation
from hashrange.triggers.passes import Passes
from hashrange.triggers.problem_log import log_discard, log_end, log_failed_attempt, log_refusal
from hashrange.triggers.retries import put_off
from hashrange.triggers.roster import Roster

Invoke = Callable[[str, bytes, str], Coroutine[Any, Any, Invocation]]
"""invoke(ARN of a function, payload, request id). Raises ConcurrencyExceeded, LambdaError, StorageError;
StorageCorruption if what is stored of the function is damaged."""
Deliver = Callable[[str, FailureMessage], Coroutine[Any, Any, bool]]
"""deliver(ARN of a destination, message about records that are given up) returns False if
the message was not accepted."""
Attempt = tuple[ConsumedShard, Lane, int]
"""What a task is about: a lane, and how often `Attempts.concurrency_changed` had been called when the task began."""


class Attempts:
    """What runs for the lanes, at most one thing for each.
    A lane and its consumer are busy until the end has been concluded.
    """

    def __init__(
        self,
        roster: Roster,
        agenda: Agenda,
        clock: Clock,
        invoke: Invoke,
        deliver: Deliver,
        passes: "Passes[Attempt]",
    ) -> None:
        self._roster = roster
        self._agenda = agenda
        self._clock = clock
        self._invoke = invoke
        self._deliver = deliver
        self._passes = passes
        self._concurrency_changes = 0
        """How often `concurrency_changed` was called."""
        self._throttled = ThrottledLanes()
        self._sent_bytes = 0
        """Bytes of the records of all batches with which something runs."""

    def forget(self) -> None:
        """Begin anew: nothing runs for any lane."""
        self._throttled = ThrottledLanes()
        self._sent_bytes = 0

    @property
    def is_full(self) -> bool:
        """True if nothing is to be begun before something has ended, because much memory is used by what runs."""
        return self._sent_bytes >= TRIGGER_SENT_BYTES_MAX

    # --- beginning --------------------------------------------------------------------------------

    def begin(self, shard: ConsumedShard, lane: Lane) -> None:
        """Bring the lane's first batch to the function, or to the destination if it is given up.
        20 µs for 100 records of 1 KB.
        """
        consumer, batch = shard.consumer, lane.batches[0]
        mapping = consumer.mapping
        if batch.discard is not None and mapping.destination_arn is None:
            log_discard(consumer, batch)
            self._handled(shard, lane)
            return
        shard_id = shard.shard.shard_id
        payload = encode_event(batch, lane.window, mapping.tumbling_window_seconds, shard_id, mapping.stream_arn)
        self._throttled.remove(shard, lane)
        if batch.discard is not None:
            assert mapping.destination_arn is not None
            message = describe_failure(mapping, shard_id, batch, payload, self._clock.service_time())
            self._run(shard, lane, self._deliver(mapping.destination_arn, message))
        elif len(payload) > INVOCATION_PAYLOAD_BYTES_MAX:
            batch.discard = "RetryAttemptsExhausted"
            self._roster.save_result(consumer, messages.RECORD_TOO_LARGE)
            self._agenda.mark(shard, lane)
        else:
            batch.request_id = new_uuid()
            self._run(shard, lane, self._invoke(mapping.function_arn, payload, batch.request_id))

    def concurrency_changed(self, function_arn: str) -> None:
        """Let all throttled lanes of a function try again. `function_arn`: without a qualifier."""
        self._concurrency_changes += 1
        for shard, lane in self._throttled.take_all(function_arn):
            self._try_early(shard, lane)

    def _try_early(self, shard: ConsumedShard, lane: Lane) -> None:
        """Give the lane's first batch an extra try, ahead of its pause."""
        batch = lane.batches[0]
        batch.due_unless_early_seconds, batch.due_seconds = batch.due_seconds, 0.0
        self._agenda.mark(shard, lane)

    def _run(self, shard: ConsumedShard, lane: Lane, work: Coroutine[Any, Any, Any]) -> None:
        lane.is_busy = True
        self._sent_bytes += lane.batches[0].size_bytes
        shard.consumer.busy_lanes += 1
        self._passes.begin(work, (shard, lane, self._concurrency_changes))

    # --- concluding -------------------------------------------------------------------------------

    def conclude(self) -> None:
        """Draw the consequences of the end of one task; may give way."""
        task, (shard, lane, concurrency_changes) = self._passes.take_ended()
        lane.is_busy = False
        consumer, batch = shard.consumer, lane.batches[0]
        self._sent_bytes -= batch.size_bytes
        consumer.busy_lanes -= 1
        if consumer.is_retired and not consumer.busy_lanes:
            self._roster.is_outdated = True
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, ConcurrencyExceeded | LambdaError | StorageCorruption | asyncio.CancelledError):
            self._conclude_refusal(shard, lane, batch, error)
            if isinstance(error, ConcurrencyExceeded) and concurrency_changes != self._concurrency_changes:
                self._try_early(shard, lane)
        elif error is not None:
            self._conclude_failure(shard, batch, error)
        elif batch.discard is not None:
            self._conclude_message(shard, lane, batch, is_accepted=task.result())
        else:
            throttled = self._throttled.take(consumer.mapping.function_arn)
            if throttled is not None:  # there may be room for it, because an invocation has ended
                self._try_early(*throttled)
            invocation: Invocation = task.result()
            epoch = self._passes.epoch
            outcome = conclude_invocation(consumer.mapping, lane, invocation, self._clock.service_time())
            if epoch == self._passes.epoch:
                log_end(consumer, invocation, outcome)
            if epoch != self._passes.epoch:
                return  # all was cancelled while one of both gave way, and the batch is delivered again
            if outcome.has_progress:
                self._roster.save_positions(consumer, [shard])
            self._roster.save_result(consumer, outcome.result)
        self._agenda.mark(shard, lane)

    def _conclude_refusal(self, shard: ConsumedShard, lane: Lane, batch: Batch, error: BaseException) -> None:
        """The function could not run the batch."""
        is_throttled = isinstance(error, ConcurrencyExceeded)
        if is_throttled and batch.due_unless_early_seconds is not None:
            batch.due_seconds = batch.due_unless_early_seconds
        else:
            put_off(batch, self._clock.service_time())
        batch.due_unless_early_seconds = None
        log_refusal(shard.consumer, error)
        if is_throttled:
            self._throttled.add(shard, lane)
            if not self._passes.running:
                self._roster.save_result(shard.consumer, messages.FUNCTION_THROTTLED)
        elif isinstance(error, FunctionMissing):
            self._roster.save_result(shard.consumer, messages.FUNCTION_MISSING)
        else:
            self._roster.save_result(shard.consumer, messages.FUNCTION_CALL_FAILED)

    def _conclude_failure(self, shard: ConsumedShard, batch: Batch, error: BaseException) -> None:
        """An error that nobody has foreseen, or of the store, concerns the batch alone, which is tried again."""
        if not isinstance(error, Exception):
            raise error
        put_off(batch, self._clock.service_time())
        log_failed_attempt(shard.consumer, error)
        result = messages.FUNCTION_CALL_FAILED if batch.discard is None else messages.DESTINATION_FAILED
        self._roster.save_result(shard.consumer, result)

    def _conclude_message(self, shard: ConsumedShard, lane: Lane, batch: Batch, *, is_accepted: bool) -> None:
        """The destination has accepted the message about given-up records, or has not."""
        if is_accepted:
            self._handled(shard, lane)
        else:
            put_off(batch, self._clock.service_time())
            self._roster.save_result(shard.consumer, messages.DESTINATION_FAILED)

    def _handled(self, shard: ConsumedShard, lane: Lane) -> None:
        """Go on behind the lane's first batch, which was given up:
        its destination has the message, or there is none.
        """
        lane.batches.popleft()
        self._roster.save_positions(shard.consumer, [shard])
        self._agenda.mark(shard, lane)


# --- throttled lanes ------------------------------------------------------------------------------


class ThrottledLanes:
    """Lanes whose function could not run their batch, because too many invocations ran.

    When an invocation ends, one of the same function tries again if there is one, otherwise the one that waits longest.
    After a change of a function's reserved concurrency, all its lanes do.
    """

    def __init__(self) -> None:
        self._by_function: dict[str, dict[Lane, ConsumedShard]] = {}
        """By ARN of the function, without a qualifier."""

    def add(self, shard: ConsumedShard, lane: Lane) -> None:
        """Add a lane behind all others."""
        self._by_function.setdefault(without_latest(shard.consumer.mapping.function_arn), {})[lane] = shard

    def remove(self, shard: ConsumedShard, lane: Lane) -> None:
        """Remove a lane, if it is there, because it is tried again."""
        function_arn = without_latest(shard.consumer.mapping.function_arn)
        lanes = self._by_function.get(function_arn)
        if lanes is not None and lanes.pop(lane, None) is not None and not lanes:
            del self._by_function[function_arn]

    def take(self, function_arn: str) -> tuple[ConsumedShard, Lane] | None:
        """The lane to be tried after an invocation of this function; None if none is throttled."""
        if not self._by_function:
            return None
        lanes = self._by_function.get(without_latest(function_arn)) or next(iter(self._by_function.values()))
        lane, shard = next(iter(lanes.items()))
        self.remove(shard, lane)
        return shard, lane

    def take_all(self, function_arn: str) -> list[tuple[ConsumedShard, Lane]]:
        """All lanes of this function. `function_arn`: without a qualifier."""
        return [(shard, lane) for lane, shard in self._by_function.pop(function_arn, {}).items()]
