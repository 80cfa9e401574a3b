"""Which endpoints have timed out lately, so that it is no use to wait for them again now?
Tries at such an endpoint fail at once.

Tries follow each other by service time. An advance over many of them would otherwise wait a whole time-out of real time
for each; so it waits once. An endpoint is tried again once as much real time as its time-out has passed.
"""

from hashrange.clock import Clock


class Unanswered:
    """The endpoints that have timed out lately."""

    def __init__(self, clock: Clock, timeout_seconds: float) -> None:
        """`timeout_seconds`: real time in which an endpoint has to answer."""
        self._monotonic = clock.monotonic
        self._timeout_seconds = timeout_seconds
        self._timed_out: dict[str, float] = {}
        """Monotonic time of the last time-out, by endpoint."""

    def timed_out(self, endpoint: str) -> None:
        """Note that an endpoint has not answered a try within the time-out."""
        self._timed_out[endpoint] = self._monotonic()

    def answered(self, endpoint: str) -> None:
        """Note that an endpoint has answered, whatever the answer was."""
        self._timed_out.pop(endpoint, None)

    def forget(self) -> None:
        """Let every endpoint be tried."""
        self._timed_out.clear()

    def seconds_without_answer(self, endpoint: str) -> float | None:
        """For how long an endpoint that is not to be tried now has not answered,
        its time-out included; None: try it.
        """
        timed_out = self._timed_out.get(endpoint)
        if timed_out is None:
            return None
        past_seconds = self._monotonic() - timed_out
        return past_seconds + self._timeout_seconds if past_seconds < self._timeout_seconds else None
