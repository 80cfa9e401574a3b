"""What does the service know of a request? A call: who asks, for which operation, with which members, and how it hears the end.

Each protocol has a class of its own below this one. The service runs the operation and tells the call what became of it, in this
order: `done` or `refuse`, in the turn in which the operation ended, where the protocol writes the reply; then `tell`, once what the
reply depends on would survive a power cut, where the protocol sends it. `fail` stands for all three when something of ours failed.
"""

from typing import Any

import msgspec

from hashrange.errors import ApiError, Malformed
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class Call(msgspec.Struct, gc=False, eq=False):
    """One request. A struct only because it is made in a third of the time of a class."""

    scope: Scope
    operation: Operation
    request: Any
    """The operation's struct, which has passed its constraints."""
    meter: Meter
    """What the operation has used so far."""
    position: int
    """The commit that the reply depends on; 0 when it depends on none that is not durable."""
    is_explained: bool
    """True once the request has been read leniently: its own form has no fault that can be worded."""

    def done(self, reply: Reply | None) -> None:
        """The operation has succeeded: write this reply, None for an operation that has no output. May give way."""
        raise NotImplementedError

    def refuse(self, error: ApiError) -> None:
        """The operation has refused: write that."""
        raise NotImplementedError

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """What is to be told instead of `error`, when the request itself has a fault that comes earlier in the service's order.

        `Malformed` is never told: the protocol finds the fault, or reads the request more leniently, puts that in `request` and
        returns None, and the operation is run once more.
        """
        raise NotImplementedError

    def tell(self) -> None:
        """Send what was written. May give way."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Our side failed: log the error, and send that there was one. Called in place of the others, or of `tell`."""
        raise NotImplementedError
