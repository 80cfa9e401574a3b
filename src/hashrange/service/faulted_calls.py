"""Which faults does a call meet as a whole? An error instead of its reply, a late reply, half a reply,
or none at all (docs/testing/faults.md).

Faults that come before a call are drawn when it begins.
Those that come after it are drawn when its reply is sent, unless it was refused.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from hashrange.aws_services.operation import ServiceError
from hashrange.errors import ApiError
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault, Moment
from hashrange.operations.naming import bare_name
from hashrange.service.call import Call

HALF = 0.5
LATE_BYTES_MAX = 256 * 1024 * 1024
"""Most bytes of late replies; if there are more, those that have been late for longest are sent before their time."""


class FaultedCalls:
    """The calls that have met faults as a whole, or may yet, and whose replies have not been sent."""

    def __init__(self, on_error: Callable[[Call, Sequence[str]], None]) -> None:
        """`on_error`: called if an error replaces the reply of a call that has been carried out, with the names of its
        tables.
        """
        self.replies: dict[Call, list[Fault]] = {}
        """Call → the faults that its reply meets; the list may be empty. Almost every server has no such call."""
        self._after: dict[Call, tuple[Drawing, Sequence[str]]] = {}
        """Calls for which faults are drawn once they have been carried out, each with what draws them, and names of the
        tables in the request; all are in `replies` too."""
        self._on_error = on_error
        self._late: dict[object, tuple[asyncio.TimerHandle, Callable[[], None], int]] = {}
        """Of each late reply its timer, what sends it, and its length in bytes; the oldest first. No key leads to the
        call, whose request keeps the key: nothing would end such a cycle.
        """
        self._late_bytes = 0
        self._is_ending = False

    def mark(self, call: Call, fault: Fault) -> None:
        """Let the reply of a call meet a fault."""
        self.replies.setdefault(call, []).append(fault)

    def begin(self, call: Call, drawing: Drawing) -> ApiError | None:
        """Draw the faults that come before a call; returns an error if it is not to be carried out, or None."""
        if call.kind == "own":
            return None
        tables = [bare_name(name) for name in call.operation.tables(call.request)]
        met = list(_drawn(drawing, call, tables, "before"))
        for fault in met:
            if fault.kind not in ("error", "no-room"):
                self.mark(call, fault)
        if drawing.has_request_faults("after", with_key=False):
            self.replies.setdefault(call, [])
            self._after[call] = drawing, tables
        kinds = {fault.kind for fault in met}
        if "throttle" in kinds:
            return _rate_exceeded(met)
        return _error_of(call, met) if kinds & {"error", "drop", "no-room"} else None

    def refused(self, call: Call) -> None:
        """Note that a call is refused, so that no fault comes after it."""
        self._after.pop(call, None)

    def forget(self, call: Call) -> None:
        """Forget a call whose reply will not be sent."""
        self.replies.pop(call, None)
        self._after.pop(call, None)

    def send(self, call: Call) -> None:
        """Send the reply of a call, with the faults that it has met, and those that come after it."""
        faults = self.replies.pop(call, None)
        if faults is None:
            call.send()
            return
        after = self._after.pop(call, None)
        if after is not None:
            drawing, tables = after
            met = list(_drawn(drawing, call, tables, "after"))
            faults += met
            if any(fault.kind == "error" for fault in met):
                self._on_error(call, tables)
        kinds = {fault.kind for fault in faults}
        if "error" in kinds:
            call.replace_reply(_error_of(call, faults))
        send: Callable[[], None] = call.send
        if "drop" in kinds:
            send = lambda: call.cut_reply(0.0)  # noqa: E731 - three ways to send
        elif "half-reply" in kinds:
            send = lambda: call.cut_reply(HALF)  # noqa: E731
        late_seconds = sum(fault.seconds or 0.0 for fault in faults if fault.kind == "slow")
        if late_seconds and not self._is_ending:
            self._send_late(call, send, late_seconds)
        else:
            send()

    def _send_late(self, call: Call, send: Callable[[], None], late_seconds: float) -> None:
        """Send the reply after these seconds, or let it go as soon as its client leaves."""
        key = object()
        come = partial(self._come, key)
        size_bytes = call.hold_reply(come)
        if size_bytes is None:
            send()
            return
        self._late[key] = asyncio.get_running_loop().call_later(late_seconds, come), send, size_bytes
        self._late_bytes += size_bytes
        while self._late_bytes > LATE_BYTES_MAX:
            self._come(next(iter(self._late)))

    def _come(self, key: object) -> None:
        """Send a late reply, unless it has been sent; a client that has left gets none of it."""
        if key in self._late:
            timer, send, size_bytes = self._late.pop(key)
            timer.cancel()
            self._late_bytes -= size_bytes
            send()

    def end(self, run_next: Callable[[Callable[[], object]], None]) -> None:
        """The server ends: no reply is late any more, and those that are late are sent, each by `run_next`."""
        self._is_ending = True
        for key in self._late:
            run_next(partial(self._come, key))


def _drawn(drawing: Drawing, call: Call, tables: Sequence[str], when: Moment) -> Iterator[Fault]:
    """Draw the faults that a call meets at this moment."""
    if call.kind == "service":
        return drawing.on_service_request(call.operation.name, when)
    return drawing.on_request(call.operation.name, tables, when)


def _error_of(call: Call, met: Sequence[Fault]) -> ApiError:
    """The error that a call gets instead of its reply."""
    if any(fault.kind == "no-room" or fault.code is not None for fault in met):  # these name operations of S3 only
        # Imported here: few plans let S3 fail, and start time counts.
        from hashrange.faults.s3_failures import failure_of_faults  # noqa: PLC0415

        failure = failure_of_faults(met)
        assert failure is not None
        return failure
    return call.internal_error()


def _rate_exceeded(met: Sequence[Fault]) -> ServiceError:
    """The error of a throttled request to a service beside DynamoDB, with the time after which to retry it."""
    # Imported here: most servers throttle nothing on purpose, and start time counts.
    from hashrange.messages.aws_forms import RATE_EXCEEDED  # noqa: PLC0415

    error = ServiceError("ThrottlingException", RATE_EXCEEDED)
    error.retry_after_ms = max(
        [fault.retry_after_ms for fault in met if fault.retry_after_ms is not None], default=None
    )
    return error
