"""May anything be sent to the endpoint now? While it does not answer, one request after a pause
finds out; all others wait.
"""

import logging
import math

from hashrange.functions.handler_errors import logged_text
from hashrange.messages import kinesis as messages
from hashrange.triggers.retries import pause_seconds

_log = logging.getLogger("hashrange.kinesis")


class EndpointPause:
    """Whether the endpoint answers. Times are service time."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.failures = 0
        """Requests in a row that were not answered."""
        self.due_seconds = -math.inf
        """Service time before which nothing is sent."""
        self.reason = ""
        """Why the last of them was not answered."""

    @property
    def is_down(self) -> bool:
        """True if the last request was not answered."""
        return self.failures > 0

    def answered(self) -> None:
        """Note that a request was answered, whatever the answer was."""
        if self.is_down:
            _log.warning(messages.LOG_RESUMED, self._endpoint)
        self.failures, self.due_seconds = 0, -math.inf

    def unanswered(self, reason: str, now_seconds: float) -> None:
        """Note that a request was not answered, and let the next pause begin, in which nothing is sent."""
        if not self.is_down:
            _log.warning(messages.LOG_PAUSED, self._endpoint, logged_text(reason))
        self.reason = reason
        if now_seconds >= self.due_seconds:  # of requests that were under way together, one counts
            self.failures += 1
            self.due_seconds = now_seconds + pause_seconds(self.failures)
