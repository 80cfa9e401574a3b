"""Which faults does a call meet as a whole? An error instead of its reply, a late reply, half a reply, or none at all (docs/testing/faults.md)."""

from collections.abc import Callable

from hashrange.errors import ApiError, InternalServerError
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.operations.naming import bare_name
from hashrange.service.call import Call
from hashrange.service.workers import Workers

HALF = 0.5
Later = Callable[[float, Callable[[], None]], object]
"""later(seconds, callback): calls `callback` after these seconds of real time."""


class FaultedCalls:
    """The calls that have met faults as a whole, and whose replies have not been sent."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.replies: dict[Call, list[Fault]] = {}
        """Calls whose replies meet faults; empty in almost every server."""

    def running_operation(self) -> str | None:
        """Name of the operation of the call that runs now; None outside of calls."""
        running = self._workers.running
        return running.operation.name if isinstance(running, Call) else None

    def running_meter(self) -> object:
        """The meter of the call that runs now. No other call has the same one, and it takes little memory while somebody keeps it."""
        running = self._workers.running
        return running.meter if isinstance(running, Call) else None

    def mark(self, fault: Fault) -> None:
        """Let the reply of the call that runs now meet a fault."""
        running = self._workers.running
        if isinstance(running, Call):
            self.replies.setdefault(running, []).append(fault)

    def begin(self, call: Call, drawing: Drawing) -> ApiError | None:
        """Draw the faults of a call that begins; returns an error if the call is not to be carried out, or None."""
        self._forget_left()
        operation = call.operation
        error: ApiError | None = None
        names = [bare_name(name) for name in operation.tables(call.request)]
        for fault in drawing.on_request(operation.name, names):
            if fault.when == "before" and fault.kind in {"error", "drop"}:
                error = InternalServerError(INTERNAL_ERROR)
            if fault.kind != "error" or fault.when == "after":
                self.replies.setdefault(call, []).append(fault)
        return error

    def _forget_left(self) -> None:
        """Forget calls whose clients have left: their replies may never be sent."""
        for call in [call for call in self.replies if call.has_left]:
            del self.replies[call]

    def send(self, call: Call, later: Later) -> None:
        """Send the reply of a call, with the faults that it has met."""
        faults = self.replies.pop(call, None)
        if faults is None:
            call.send()
            return
        kinds = {fault.kind for fault in faults}
        if "error" in kinds:
            call.replace_reply(InternalServerError(INTERNAL_ERROR))
        send: Callable[[], None] = call.send
        if "drop" in kinds:
            send = lambda: call.cut_reply(0.0)  # noqa: E731 - three ways to send
        elif "half-reply" in kinds:
            send = lambda: call.cut_reply(HALF)  # noqa: E731
        late_seconds = sum(fault.seconds or 0.0 for fault in faults if fault.kind == "slow")
        if late_seconds:
            later(late_seconds, send)
        else:
            send()
