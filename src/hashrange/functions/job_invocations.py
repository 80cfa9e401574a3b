"""How do jobs invoke functions? As clients do, except that an event which has timed out at a URL is not sent
there again while the same one waits.

Somebody who moves service time over many retries would wait a whole time-out of real time for each.
So the first one that begins while somebody waits is waited for, and the retries of the same event count as timed out at
once. When somebody waits the next time, the event is sent again. Functions whose code runs here are invoked each time:
a handler may well succeed the second time.
"""

import hashlib
from collections.abc import Awaitable, Callable

from hashrange.functions.description import FunctionDescription
from hashrange.functions.invocation import Invocation, describe_timeout_before

InvokeFunction = Callable[[str | FunctionDescription, bytes, str, str | None], Awaitable[Invocation]]
"""Called with function (its ARN or description), payload, request id and client context; see `Functions.invoke`."""


class JobInvocations:
    """Invocations by the jobs of one server."""

    def __init__(self, invoke: InvokeFunction) -> None:
        self._invoke = invoke
        self.is_awaited: Callable[[], int] = lambda: 0
        """Above 0 while somebody waits until jobs rest, and another number each time. Set by whoever runs the jobs."""
        self._timed_out: set[tuple[int, str, bytes]] = set()
        """(number of the wait, ARN, digest of the payload) of events that have timed out at URLs; of one wait only."""

    async def invoke(
        self, function: str | FunctionDescription, payload: bytes, request_id: str, client_context: str | None = None
    ) -> Invocation:
        """See `Functions.invoke`."""
        wait = self.is_awaited()
        if not wait:
            return await self._invoke(function, payload, request_id, client_context)
        if self._timed_out and self._event(wait, function, payload) in self._timed_out:
            outcome = describe_timeout_before(request_id)
            return Invocation(outcome.payload, "Unhandled")
        invocation = await self._invoke(function, payload, request_id, client_context)
        if invocation.is_unanswered:
            self._timed_out = {one for one in self._timed_out if one[0] == wait}
            self._timed_out.add(self._event(wait, function, payload))
        return invocation

    def _event(self, wait: int, function: str | FunctionDescription, payload: bytes) -> tuple[int, str, bytes]:
        arn = function if isinstance(function, str) else function.arn
        return wait, arn, hashlib.blake2b(payload, digest_size=16).digest()
