"""What connects the streams of a server with its functions?
The mappings, and the job that delivers their records to functions.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from hashrange.clock import Clock
from hashrange.functions.functions import Functions
from hashrange.functions.handler_errors import logged_text
from hashrange.functions.http_client import Unanswered
from hashrange.jobs.chains import IsAwaited
from hashrange.limits import DESTINATION_SECONDS_MAX
from hashrange.messages.triggers import NOT_IN_TIME, STILL_SILENT, destination_unknown, message_refused
from hashrange.store.interface import WholeStore
from hashrange.triggers.batches import Disturb
from hashrange.triggers.delivery import Delivery
from hashrange.triggers.destinations import DeliveryFailed, Destination
from hashrange.triggers.failure_message import FailureMessage
from hashrange.triggers.mappings import Mappings
from hashrange.triggers.problem_log import name_function, name_table

_log = logging.getLogger("hashrange.triggers")


class Triggers:
    """The triggers of one server."""

    def __init__(
        self,
        store: WholeStore,
        clock: Clock,
        functions: Functions,
        destinations: Mapping[str, Destination],
        state_delay_seconds: float = 0.0,
        disturb: Disturb | None = None,
        wake: Callable[[], None] = lambda: None,
        is_awaited: IsAwaited = lambda: 0,
    ) -> None:
        """`destinations`: by ARN; `state_delay_seconds`: how long mappings are Creating, Updating and so on.
        `wake` is called when the job has work; `is_awaited`: see `IsAwaited`.

        Whoever has this object lets `job.wake` be called after commits with stream records (`Streams.follow`).
        """
        self.store = store
        self.clock = clock
        self.functions = functions
        self.destinations = destinations
        self._unanswered = Unanswered(clock, DESTINATION_SECONDS_MAX)
        """The ARNs of destinations that have timed out lately."""
        self._generation = store.documents.generation
        """Generation of the documents that `_unanswered` is about."""
        self.mappings = Mappings(store.documents, store.streams, clock, state_delay_seconds)
        self.job = Delivery(
            self.mappings, store, clock, functions.for_jobs.invoke, self._deliver, disturb, wake, is_awaited
        )
        functions.concurrency_followers.append(lambda key: self.job.concurrency_changed(key.arn))

    async def _deliver(self, arn: str, message: FailureMessage) -> bool:
        """Send a message to a destination; False if it was not accepted in DESTINATION_SECONDS_MAX of real time. Also
        False, and nothing is sent, if another message to this destination timed out less than
        DESTINATION_SECONDS_MAX ago.

        A message to a destination that the server does not know is dropped:
        nothing that happens later could deliver it.
        """
        destination = self.destinations.get(arn)
        if destination is None:
            _log.warning("%s", destination_unknown(arn, message.batch_size, *_names(message)))
            return True
        if self._generation != self.store.documents.generation:
            self._generation = self.store.documents.generation
            self._unanswered.forget()
        silent_seconds = self._unanswered.seconds_without_answer(arn)
        if silent_seconds is not None:
            _log.warning("%s", _refused(arn, message, STILL_SILENT.format(seconds=silent_seconds)))
            return False
        try:
            async with asyncio.timeout(DESTINATION_SECONDS_MAX):
                await destination(message)
        except TimeoutError as error:
            self._unanswered.timed_out(arn)
            _log.warning("%s", _refused(arn, message, str(error) or NOT_IN_TIME))
            return False
        except DeliveryFailed as error:
            self._unanswered.answered(arn)
            _log.warning("%s", _refused(arn, message, str(error)))
            return False
        self._unanswered.answered(arn)
        return True


def _names(message: FailureMessage) -> tuple[str, str]:
    """The names of the function and the table."""
    return name_function(message.function_arn), name_table(message.stream_arn)


def _refused(arn: str, message: FailureMessage, reason: str) -> str:
    return logged_text(message_refused(arn, *_names(message), reason))
