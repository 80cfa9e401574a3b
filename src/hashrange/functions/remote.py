"""How is a function invoked that is a URL? By a POST of its payload, as Lambda's Invoke and the
emulator in its images answer it.
"""

import asyncio
import base64
import binascii

from hashrange.functions import invocation as outcomes
from hashrange.functions.http_client import ExchangeFailed, RemoteReply, ReplyTooLarge, exchange, read_target
from hashrange.functions.invocation import ConcurrencyExceeded, FunctionError, Invocation
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, INVOCATION_REPLY_BYTES_MAX, LOG_TAIL_BYTES_MAX
from hashrange.messages import functions as messages

_ERROR_HEADER, _LOG_HEADER = b"x-amz-function-error", b"x-amz-log-result"
_HEADERS = {
    "Content-Type": "application/json",
    "X-Amz-Invocation-Type": "RequestResponse",
    "X-Amz-Log-Type": "Tail",
}


class RemoteFunction:
    """A function that runs elsewhere and answers Invoke at a URL. The same `invoke` as `EnvironmentPool`."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        """`url`: http or https, as its declaration was checked to be."""
        self._target = read_target(url)
        self._url, self._timeout_seconds = url, timeout_seconds

    async def invoke(self, payload: bytes, request_id: str, client_context: str | None = None) -> Invocation:
        """Run an invocation: what the function returns, or its error.

        A function that does not answer, or answers with another status than 200, fails with Hashrange.Unreachable.
        Raises ConcurrencyExceeded if the function answers with status 429.
        """
        assert len(payload) <= INVOCATION_PAYLOAD_BYTES_MAX
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await exchange(
                    self._target, "POST", _headers_of(client_context), payload, INVOCATION_REPLY_BYTES_MAX
                )
            if reply.status == 429:
                raise ConcurrencyExceeded(messages.CONCURRENCY_EXCEEDED)
            if reply.status == 200:
                return _read_reply(reply)
            outcome = outcomes.describe_unreachable(messages.REMOTE_STATUS.format(url=self._url, status=reply.status))
        except TimeoutError:
            outcome = outcomes.describe_timeout(request_id, self._timeout_seconds)
        except ReplyTooLarge:
            outcome = outcomes.describe_large_reply()
        except ExchangeFailed as error:
            outcome = outcomes.describe_unreachable(messages.REMOTE_FAILED.format(url=self._url, reason=str(error)))
        return Invocation(outcome.payload, "Unhandled", is_unanswered=outcome.is_timed_out)


def _headers_of(client_context: str | None) -> dict[str, str]:
    if client_context is None:
        return _HEADERS
    return {**_HEADERS, "X-Amz-Client-Context": base64.b64encode(client_context.encode()).decode()}


def _read_reply(reply: RemoteReply) -> Invocation:
    """The invocation of a reply with status 200; its header says whether it is an error."""
    error: FunctionError | None = None
    if _ERROR_HEADER in reply.headers:
        error = "Handled" if reply.headers[_ERROR_HEADER] == b"Handled" else "Unhandled"
    try:
        log_tail = base64.b64decode(reply.headers.get(_LOG_HEADER, b""))[-LOG_TAIL_BYTES_MAX:]
    except binascii.Error:
        log_tail = b""
    return Invocation(reply.body, error, log_tail)
