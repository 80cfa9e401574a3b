"""What does an invocation of a function return? Its payload, or an error in Lambda's form, with the end of its log.

Handlers' own errors are worded by the programs in `runtimes`; this file words those of which the handler cannot know.
Source of types and words: Lambda's developer guide, *Troubleshoot invocation issues* and *Lambda log formats*,
of 2026; reports of users up to 2026. The time-out's older form, `<time> <request id> Task timed out after 3.00 seconds`
without a type, is only in the log.
"""

import signal
from typing import Literal, NamedTuple

import msgspec

from hashrange.errors import HashrangeError
from hashrange.limits import INVOCATION_REPLY_BYTES_MAX
from hashrange.messages import functions as messages

FunctionError = Literal["Handled", "Unhandled"]
"""Value of X-Amz-Function-Error. Runtimes of today only give `Unhandled`; a function that is a URL may give either."""


class ConcurrencyExceeded(HashrangeError):
    """The function's concurrency is used up; the client gets TooManyRequestsException."""


class Invocation(NamedTuple):
    """What an invocation returns."""

    payload: bytes
    """JSON that the handler returned, or that describes its error; any bytes if a Python handler returned bytes."""
    function_error: FunctionError | None = None
    log_tail: bytes = b""
    """The last 4 KB of the log."""
    is_unanswered: bool = False
    """True if the function is a URL, which did not answer in time."""


class InvocationOutcome(NamedTuple):
    """How an environment answered, or failed to."""

    payload: bytes
    error_type: str = ""
    """Empty if the handler returned a result."""
    is_timed_out: bool = False
    is_over: bool = False
    """True if the environment failed, and not the handler alone: the REPORT has a status."""


def _failure(error_type: str, message: str, *, is_timed_out: bool = False) -> InvocationOutcome:
    payload = msgspec.json.encode({"errorType": error_type, "errorMessage": message})
    return InvocationOutcome(payload, error_type, is_timed_out, is_over=True)


def describe_timeout(request_id: str, timeout_seconds: float) -> InvocationOutcome:
    """The handler did not return in time."""
    message = messages.of_request(request_id, messages.TIMED_OUT.format(timeout_seconds=timeout_seconds))
    return _failure("Sandbox.Timedout", message, is_timed_out=True)


def describe_timeout_before(request_id: str) -> InvocationOutcome:
    """The function was not invoked, because it has just not returned in time with the same event."""
    message = messages.of_request(request_id, messages.TIMED_OUT_BEFORE)
    return _failure("Sandbox.Timedout", message, is_timed_out=True)


def describe_out_of_memory(request_id: str) -> InvocationOutcome:
    """The handler used more memory than the function has."""
    return _failure("Runtime.OutOfMemory", messages.of_request(request_id, messages.KILLED))


def describe_large_reply() -> InvocationOutcome:
    """The handler returned more than a reply may hold."""
    message = messages.REPLY_TOO_LARGE.format(most_bytes=INVOCATION_REPLY_BYTES_MAX)
    return _failure("Function.ResponseSizeTooLarge", message)


def describe_missing_program(request_id: str, message: str) -> InvocationOutcome:
    """The program of the runtime could not be started; the type is Lambda's for an image without its program."""
    return _failure("Runtime.InvalidEntrypoint", messages.of_request(request_id, message))


def describe_unreachable(message: str) -> InvocationOutcome:
    """A function that is a URL did not answer; the type is ours."""
    return _failure("Hashrange.Unreachable", message)


_SIGNALS = {
    "SIGABRT": "aborted",
    "SIGBUS": "bus error",
    "SIGFPE": "floating point exception",
    "SIGHUP": "hangup",
    "SIGILL": "illegal instruction",
    "SIGINT": "interrupt",
    "SIGKILL": "killed",
    "SIGPIPE": "broken pipe",
    "SIGQUIT": "quit",
    "SIGSEGV": "segmentation fault",
    "SIGTERM": "terminated",
    "SIGTRAP": "trace/breakpoint trap",
    "SIGXCPU": "CPU time limit exceeded",
}
"""Names of signals in the service's words, which are those of Go."""


def describe_exit(request_id: str, status: int | None) -> InvocationOutcome:
    """The process ended during an invocation, or closed its connection.
    `status`: below 0 a signal; None if it still ran.
    """
    if not status:
        message = messages.NO_REASON
    elif status > 0:
        message = messages.EXITED.format(reason=f"exit status {status}")
    else:
        message = messages.EXITED.format(reason=f"signal: {_signal_words(-status)}")
    return _failure("Runtime.ExitError", messages.of_request(request_id, message))


def _signal_words(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return _SIGNALS.get(name, f"signal {number}")
