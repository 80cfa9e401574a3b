"""How are requests spread so that they consume at most so many capacity units per second? By waiting until those are
paid that the requests before have consumed, as their replies tell.
"""

import threading
from collections.abc import Callable

from hashrange.clock import real_seconds
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.moving.raw_client import wait


class UnitPacer:
    """A rate of capacity units, which several threads share."""

    def __init__(self, units_per_second: float, now: Callable[[], float] = real_seconds) -> None:
        self.units_per_second = units_per_second
        self._now = now
        self._paid_at = now()
        """When what has been consumed is paid."""
        self._lock = threading.Lock()

    def take(self, units: float) -> None:
        """Count units that a request for some items has consumed. Raises ToolkitFailure if there are none."""
        if not units:
            raise ToolkitFailure(
                "the endpoint does not tell what a request consumes, so --rate-limit cannot be kept. Leave it out."
            )
        with self._lock:
            self._paid_at = max(self._paid_at, self._now()) + units / self.units_per_second

    @property
    def seconds_to_wait(self) -> float:
        """Seconds until the next request may be sent; 0: now."""
        return max(0.0, self._paid_at - self._now())

    def wait(self, stop: threading.Event) -> None:
        """Wait until the next request may be sent. Raises Stopped."""
        while (seconds := self.seconds_to_wait) > 0:
            wait(stop, seconds)
