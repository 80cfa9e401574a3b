"""What is seen of the changes that go to Kinesis? Those who follow a delivery are told of every request that has
ended, and of every change passed over.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hashrange.tables.streams import Stream


class DeliveryObservation(NamedTuple):
    """What became of changes of one feed."""

    feed: Stream
    oldest_age_seconds: float | None = None
    """Service time since the oldest change that Kinesis had not accepted before; None: not looked at."""
    accepted_units: Sequence[int] = ()
    """Change data capture units of each change that Kinesis has accepted."""
    throttled: int = 0
    """Changes that Kinesis has throttled; they are sent again."""
    passed_over: int = 0
    """Changes that are never sent again, because their records are too long."""


ObserveDelivery = Callable[[DeliveryObservation], None]
"""Takes an observation, on the thread of the event loop."""
