"""Which faults does a request to a service beside DynamoDB meet? Those that name its operation,
as a request of DynamoDB does (docs/testing/faults.md).
"""

import asyncio
from functools import partial

from hashrange.aws_services.operation import ServiceApi, ServiceError
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault
from hashrange.messages.aws_forms import RATE_EXCEEDED, SERVICE_FAILED
from hashrange.server.cut_replies import cut_reply
from hashrange.server.incoming import Respond
from hashrange.service.faulted_calls import HALF
from hashrange.wire.http import retry_after_line


class ServiceFaults:
    """The faults of one request, drawn when its operation is about to begin, and once it has succeeded."""

    def __init__(self, drawing: Drawing, api: ServiceApi, operation: str) -> None:
        self._drawing, self._api, self._operation = drawing, api, operation
        self._met: list[Fault] = list(drawing.on_service_request(operation, "before"))

    def refusal(self) -> ServiceError | None:
        """The error with which the request is refused before it is carried out; None if it is not."""
        kinds = {fault.kind for fault in self._met}
        if "throttle" in kinds:
            return ServiceError("ThrottlingException", RATE_EXCEEDED)
        return self._internal_error() if kinds & {"error", "drop"} else None

    @property
    def _extra(self) -> bytes:
        """The header line that says when to retry a throttled request; empty if there is none."""
        asked_ms = [fault.retry_after_ms for fault in self._met if fault.retry_after_ms is not None]
        return retry_after_line(max(asked_ms)) if asked_ms else b""

    def carried_out(self) -> ServiceError | None:
        """Draw the faults that come after the operation, which has succeeded;
        returns the error that takes the place of its reply.
        """
        after = list(self._drawing.on_service_request(self._operation, "after"))
        self._met += after
        return self._internal_error() if any(fault.kind == "error" for fault in after) else None

    def _internal_error(self) -> ServiceError:
        return ServiceError(self._api.internal_error, SERVICE_FAILED)

    @property
    def cut_share(self) -> float | None:
        """The share of the reply that is sent before the connection ends; None: the reply is sent whole."""
        kinds = {fault.kind for fault in self._met}
        if "drop" in kinds:
            return 0.0
        return HALF if "half-reply" in kinds else None

    @property
    def late_seconds(self) -> float:
        """Real time by which the reply is late."""
        return sum(fault.seconds or 0.0 for fault in self._met if fault.kind == "slow")

    def respond_by(self, respond: Respond) -> Respond:
        """What sends the reply with its faults, by `respond`."""
        return partial(self._respond, respond)

    def _respond(
        self, respond: Respond, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b""
    ) -> None:
        send = partial(respond, status, body, content_type, extra + self._extra)
        if self.cut_share is not None:
            send = partial(cut_reply, respond, status, body, self.cut_share)
        if self.late_seconds:
            asyncio.get_running_loop().call_later(self.late_seconds, send)
        else:
            send()
