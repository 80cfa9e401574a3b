"""What is an on-failure destination to those who discard batches? What takes a message, or says why it does not."""

from typing import Protocol

from hashrange.errors import HashrangeError
from hashrange.triggers.failure_message import FailureMessage


class DeliveryFailed(HashrangeError):
    """A message was not delivered, or it is not known to be; the caller tries again.
    The message is for the operator.
    """


class PlaceUnusable(HashrangeError):
    """Messages cannot be delivered to a place; the message says why, and how to solve the problem."""


class Destination(Protocol):
    """Where the messages of one ARN go."""

    async def deliver(self, message: FailureMessage) -> None:
        """Deliver a message; on return it is where it belongs, whatever happens to this process. Raises DeliveryFailed.

        Has no time-out. If it is cancelled, or raises, the message may have been delivered all the same.
        """
        ...
