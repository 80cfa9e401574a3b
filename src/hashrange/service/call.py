"""How does the service represent a request? As a call: scope, operation, members, and the methods that get the outcome.

Each protocol has its own subclass. The service runs the operation and then calls, in this order: `done` or `refuse`, in
the turn in which the operation ended, where the protocol writes the reply; then `send`, once everything that the reply
depends on would survive a power cut, where the protocol sends it. `fail` replaces all three after an internal error.
"""

from typing import Any

import msgspec

from hashrange.errors import ApiError, Malformed
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class Call(msgspec.Struct, gc=False, eq=False):
    """One request to the service. A struct, because it is made in a third of the time of a class."""

    scope: Scope
    operation: Operation
    request: Any
    """The operation's request struct, which has passed its constraints."""
    meter: Meter
    """Capacity that the operation has consumed so far."""
    position: int
    """Number of the commit that the reply waits for; 0 if everything that the reply depends on is durable."""
    is_explained: bool
    """True once the slow path has read the request leniently and found no fault in its form that it can word."""

    @property
    def is_abandoned(self) -> bool:
        """True if the client has left, so that a read need not go on."""
        return False

    def done(self, reply: Reply | None) -> None:
        """Write the reply of an operation that succeeded; None if it has no output. May give way."""
        raise NotImplementedError

    def refuse(self, error: ApiError) -> None:
        """Write the error of an operation that refused."""
        raise NotImplementedError

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """The error to report: a fault of the request that precedes `error` in the service's order, else `error`.

        `Malformed` is never reported: the protocol finds the fault, or reads the request more leniently, puts that in
        `request` and returns None; then the operation runs once more.
        """
        raise NotImplementedError

    def send(self) -> None:
        """Send the written reply. May give way."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Log an internal error, and report that there was one. Replaces the other methods, or `send`."""
        raise NotImplementedError
