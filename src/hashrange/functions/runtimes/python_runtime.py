"""How does a Python handler run in a process of its own? This file is that process's program;
it imports nothing of Hashrange.

It runs under any Python from 3.8 on. `functions/environment.py` starts it and `functions/connection.py` describes the
messages. What it returns, logs and calls errors is what Lambda's runtime for Python does. Source: the public
aws-lambda-python-runtime-interface-client, 2026.

Every cold start waits for the imports of this file. So it uses `_socket` and a number,
without the enumerations of `socket` and `signal`, and imports nothing for annotations:
40 ms of CPU until the handler's module is loaded, instead of 49.
"""

from __future__ import annotations

import _socket
import _thread
import importlib
import json
import logging
import os
import select
import sys
import time
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

HANGUP = getattr(select, "POLLRDHUP", 0)
SIGKILL = 9
LOG_FORMAT = "[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s\n"
ESCAPES_TEXT = os.environ.get("AWS_EXECUTION_ENV", "").rpartition(".")[2] in {"8", "9", "10", "11"}
"""True for Python 3.8 to 3.11: these runtimes of Lambda escape all but ASCII in replies, later ones do not."""
ERROR_BYTES_MAX = 256 * 1024
CO_COROUTINE = 0x80
"""Flag of the code of `async def` functions, as in the module `inspect`, whose import takes milliseconds."""
OWN_PID = os.getpid()


class HandlerFault(Exception):
    """An error that the runtime itself words."""

    def __init__(self, error_type: str, message: str, trace: list[str] | None = None) -> None:
        super().__init__(message)
        self.error = make_error(error_type, message, trace)


class Identity:
    """The Cognito identity of a caller; there is none."""

    cognito_identity_id = None
    cognito_identity_pool_id = None


class ClientMembers:
    """An object with given attributes: a client context and what is in it."""

    def __init__(self, names: tuple[str, ...], values: Mapping[str, Any]) -> None:
        for name in names:
            setattr(self, name, values.get(name))


class Context:
    """The handler's second argument."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        variables = os.environ
        self.aws_request_id = head["requestId"]
        self.invoked_function_arn = head["arn"]
        self.function_name = variables.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = variables.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = variables.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = variables.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = variables.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self.identity = Identity()
        self.client_context = make_client_context(head.get("clientContext"))
        self.tenant_id = None
        self._deadline_seconds = time.monotonic() + head["timeoutMs"] / 1000

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the time-out; never negative."""
        return max(0, int((self._deadline_seconds - time.monotonic()) * 1000))

    def log(self, message: object) -> None:
        """Write a text to the log."""
        sys.stdout.write(str(message))


def make_client_context(text: str | None) -> Any:
    """The client context from its JSON, or None."""
    if not text:
        return None
    context: Any = ClientMembers(("custom", "env", "client"), json.loads(text))
    if context.client is not None:
        names = ("installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name")
        context.client = ClientMembers(names, context.client)
    return context


# --- messages -----------------------------------------------------------------------------------


def receive_frame(connection: _socket.socket) -> bytes:
    """The next frame; ends the process when the server has closed the connection."""
    size_bytes = int.from_bytes(receive_bytes(connection, 4), "big")
    return receive_bytes(connection, size_bytes)


def receive_bytes(connection: _socket.socket, count: int) -> bytes:
    """Exactly this many bytes."""
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(connection: _socket.socket, head: Mapping[str, str | int], body: bytes = b"") -> None:
    """Send a message, unless this is a process that the handler forked."""
    if os.getpid() != OWN_PID:
        os._exit(0)
    encoded = json.dumps(head).encode()
    connection.sendall(len(encoded).to_bytes(4, "big") + encoded + len(body).to_bytes(4, "big") + body)


def end_with_the_server(connection: _socket.socket) -> None:
    """End this process and its children when the server is gone, even if the handler never returns. Linux only."""

    def watch() -> None:
        poll = select.poll()
        poll.register(connection, HANGUP)
        poll.poll()
        os.killpg(0, SIGKILL)

    if HANGUP:
        _thread.stack_size(128 * 1024)
        _thread.start_new_thread(watch, ())
        _thread.stack_size(0)


# --- errors -------------------------------------------------------------------------------------


def make_error(error_type: str, message: str, trace: list[str] | None = None, request_id: str = "") -> dict[str, Any]:
    """An error in Lambda's form."""
    return {
        "errorMessage": message[:ERROR_BYTES_MAX],
        "errorType": error_type,
        "requestId": request_id,
        "stackTrace": trace or [],
    }


def describe(error: BaseException, request_id: str = "") -> dict[str, Any]:
    """The error that an exception becomes; frames of this file are left out."""
    if isinstance(error, HandlerFault):
        return {**error.error, "requestId": request_id}
    frames = list(traceback.extract_tb(error.__traceback__))
    while frames and frames[0].filename == __file__:
        frames = frames[1:]
    # As tuples, which have no columns: Lambda's stack traces mark none.
    tuples = [(frame.filename, frame.lineno or 0, frame.name, frame.line) for frame in frames[-1000:]]
    lines = traceback.format_list(tuples)
    return make_error(type(error).__name__, str(error), lines, request_id)


def make_error_event(error: Mapping[str, Any]) -> bytes:
    """The event of an error, as Lambda logs it: one line, with carriage returns in it.
    The server writes it to the log.
    """
    lines = ["[ERROR] {errorType}: {errorMessage}".format(**error), "Traceback (most recent call last):"]
    for line in "\n".join(part.rstrip("\n") for part in error["stackTrace"]).splitlines():
        text = line.lstrip(" ")
        lines.append("\u00a0" * (len(line) - len(text)) + text)
    return ("\r".join(lines) + "\n").encode(errors="replace")[: 4 * ERROR_BYTES_MAX]


def encode_error(error: Mapping[str, Any]) -> bytes:
    """The JSON of an error, of bounded size."""
    encoded = json.dumps(error, ensure_ascii=ESCAPES_TEXT).encode(errors="replace")
    if len(encoded) > 4 * ERROR_BYTES_MAX:
        encoded = json.dumps({**error, "stackTrace": []}).encode()
    return encoded


# --- the handler --------------------------------------------------------------------------------


def load_handler(name: str) -> Callable[[Any, Context], Any]:
    """Import the handler's module and return the function; raises HandlerFault with Lambda's error types."""
    module_name, dot, function_name = name.rpartition(".")
    if not dot:
        raise HandlerFault(
            "Runtime.MalformedHandlerName", f"Bad handler '{name}': not enough values to unpack (expected 2, got 1)"
        )
    if module_name.split(".")[0] in sys.builtin_module_names:
        message = f"Cannot use built-in module {module_name} as a handler module"
        raise HandlerFault("Runtime.BuiltInModuleConflict", message)
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        message = f"Unable to import module '{module_name}': {error}"
        raise HandlerFault("Runtime.ImportModuleError", message) from error
    except SyntaxError as error:
        trace = [f'  File "{error.filename}" Line {error.lineno}\n    {error.text}']
        message = f"Syntax error in module '{module_name}': {error}"
        raise HandlerFault("Runtime.UserCodeSyntaxError", message, trace) from error
    try:
        handler: Callable[[Any, Context], Any] = getattr(module, function_name)
    except AttributeError:
        message = f"Handler '{function_name}' missing on module '{module_name}'"
        raise HandlerFault("Runtime.HandlerNotFound", message) from None
    # Lambda finds only at the invocation that a handler cannot be called or is a coroutine function;
    # the words are ours.
    if not callable(handler):
        kind = type(handler).__name__
        raise HandlerFault("Runtime.HandlerNotFound", f"Handler '{function_name}' is no function, but of type {kind}")
    if getattr(getattr(handler, "__code__", None), "co_flags", 0) & CO_COROUTINE:
        message = f"Handler '{function_name}' is a coroutine function, which the Python runtime does not await"
        raise HandlerFault("Runtime.HandlerNotFound", message)
    return handler


def encode_result(result: Any) -> bytes:
    """The bytes of a handler's result; numbers of the decimal module become JSON numbers, as with Lambda's encoder."""
    if isinstance(result, bytes):
        return result
    mark = ""

    def replace_decimal(value: Any) -> object:
        nonlocal mark
        if type(value).__module__ != "decimal":
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
        if value.is_nan():
            return float("nan")
        mark = mark or os.urandom(16).hex()
        return f"{mark}{value}{mark}"

    try:
        text = json.dumps(result, ensure_ascii=ESCAPES_TEXT, default=replace_decimal)
        if mark:
            text = text.replace(f'"{mark}', "").replace(f'{mark}"', "")
        return text.encode()
    except MemoryError:
        raise
    except Exception as error:
        raise HandlerFault("Runtime.MarshalError", f"Unable to marshal response: {error}") from error


def run_handler(
    handler: Callable[[Any, Context], Any], head: Mapping[str, Any], payload: bytes
) -> tuple[dict[str, str | int], bytes]:
    """Return the head and the body of the reply to one invocation."""
    request_id = head["requestId"]
    try:
        try:
            event = json.loads(payload)
        except ValueError as error:
            raise HandlerFault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from error
        result = encode_result(handler(event, Context(head)))
    except MemoryError:
        return {"kind": "memory", "requestId": request_id}, b""
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is its result
        described = describe(error, request_id)
        event = make_error_event(described)
        return {"kind": "error", "requestId": request_id, "eventBytes": len(event)}, encode_error(described) + event
    if len(result) > head["replyBytesMax"]:
        return {"kind": "too-large", "requestId": request_id}, b""
    return {"kind": "result", "requestId": request_id}, result


def limit_memory(data_bytes: int) -> None:
    """Let allocations beyond this fail, where the system can; the server itself looks at the memory in use."""
    try:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if data_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
    except (ImportError, OSError, ValueError):
        pass


def set_up_logging() -> Callable[[str], None]:
    """Give the root logger Lambda's format; returns a function that sets the request id of later records."""
    current = {"id": ""}

    def add_request_id(record: logging.LogRecord) -> bool:
        record.aws_request_id = current["id"]
        return True

    handler = logging.StreamHandler(sys.stdout)
    handler.terminator = ""
    handler.addFilter(add_request_id)
    logging.Formatter.converter = time.gmtime
    handler.setFormatter(logging.Formatter(LOG_FORMAT, "%Y-%m-%dT%H:%M:%S"))
    logging.getLogger().addHandler(handler)

    def set_request_id(request_id: str) -> None:
        current["id"] = request_id

    return set_request_id


def serve_invocations() -> None:
    """Connect, load the handler, and run one invocation after the other."""
    port, secret, data_bytes = os.environ.pop("_HASHRANGE_RUNTIME").split(":")
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    connection.connect(("127.0.0.1", int(port)))
    connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    send(connection, {"kind": "hello", "secret": secret})
    end_with_the_server(connection)
    set_request_id = set_up_logging()
    sys.path[0] = os.environ["LAMBDA_TASK_ROOT"]
    limit_memory(int(data_bytes))
    try:
        handler = load_handler(os.environ["_HANDLER"])
    except MemoryError:
        send(connection, {"kind": "memory"})
        return
    except Exception as error:  # noqa: BLE001 - whatever a module raises is the result of its first invocation
        described = describe(error)
        event = make_error_event(described)
        sys.stdout.flush()
        send(connection, {"kind": "init-error", "eventBytes": len(event)}, encode_error(described) + event)
        return
    send(connection, {"kind": "ready"})
    while True:
        head = json.loads(receive_frame(connection))
        payload = receive_frame(connection)
        set_request_id(head["requestId"])
        reply_head, reply = run_handler(handler, head, payload)
        sys.stdout.flush()
        sys.stderr.flush()
        send(connection, reply_head, reply)


if __name__ == "__main__":
    serve_invocations()
