"""Which operation does a request mean, and what is its answer? The only place that turns exceptions into replies.

Fast path: target → access → typed decode → operation → commit barrier. On any fault before the operation has begun, the slow
path (`_answer_slowly`) reads the request again and finds the *first* fault in the service's order of checks: HTTP shape, JSON,
target, signature, JSON types, constraints. So does an operation's `Malformed`. Source: errors.md section 2.

The commit barrier: whatever depends on commits that a power cut would still undo is held until they are durable. That is every
reply of an operation, refusals too (a failed condition may rest on an unsynced write), but for eventually consistent reads.
"""

import logging
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from hashrange.clock import Clock
from hashrange.errors import (
    CORAL_SERVICE,
    ApiError,
    Malformed,
    ResourceNotFoundException,
    SerializationException,
    StorageError,
    UnknownOperationException,
)
from hashrange.messages import http as sentences
from hashrange.operations.operation import Operation
from hashrange.server.access import Access
from hashrange.server.drive import Driver
from hashrange.server.protocol import Respond
from hashrange.server.replies import INTERNAL_ERROR_BODY, error_body
from hashrange.settings import Settings
from hashrange.store.interface import Store
from hashrange.wire.faults import explain
from hashrange.wire.http import CONTENT_TYPES, BadEncoding, BodyTooLarge, Request, decode_body, is_json_content_type
from hashrange.wire.identifiers import request_id_of

_log = logging.getLogger("hashrange.server")
_BAD_ENCODING_BODY = b'{"__type":"%b#InternalServerError"}' % CORAL_SERVICE.encode()


class Dispatcher:
    """Answers requests with the operations it was given."""

    def __init__(
        self, operations: Mapping[str, Operation], store: Store, clock: Clock, settings: Settings, access: Access
    ) -> None:
        self.store = store
        self.access = access
        self.settings = settings
        self.clock = clock
        self.authorize = access.authorize
        self.position = store.position
        self.durable_position = store.durable_position
        self.entries = {
            f"{operation.service}.{operation.name}".encode(): (
                operation, msgspec.json.Decoder(operation.request).decode, operation.run, operation.is_eventual,
            )
            for operation in operations.values()
        }  # fmt: skip
        self.hinted: set[tuple[str, str, str]] = set()

    def handle(self, request: Request, respond: Respond) -> None:
        """Answer one request: calls `respond` once, now or later."""
        layout = request.layout
        values = request.values
        entry = self.entries.get(values[layout.target])  # type: ignore[arg-type]  # None is in no dict of ours
        if entry is None or not layout.is_plain or request.method != b"POST" or values[layout.content_type] not in CONTENT_TYPES:
            self._answer_slowly(request, respond)
            return
        operation, decode, run, is_eventual = entry
        try:
            scope = self.authorize(request)
            parsed = decode(request.body)
        except Exception:  # noqa: BLE001 - whatever it is, the slow path says it in the right order
            self._answer_slowly(request, respond)
            return
        coroutine = run(scope, parsed)
        try:
            waits_for = coroutine.send(None)
        except StopIteration as stop:
            if is_eventual is not None and is_eventual(parsed):
                respond(200, stop.value)
                return
            position = self.position()
            if self.durable_position() >= position:
                respond(200, stop.value)
                return
            self._respond_when_durable(position, request, respond, 200, stop.value)
        except Malformed:
            self._answer_slowly(request, respond)
        except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._refuse(request, respond, operation, parsed, error)
        else:
            self._drive(request, respond, operation, parsed, coroutine, waits_for)

    # --- the end of an operation ----------------------------------------------------------------

    def _drive(
        self, request: Request, respond: Respond, operation: Operation, parsed: Any, coroutine: Coroutine[Any, Any, bytes], waits_for: object
    ) -> None:
        """The operation has suspended: answer when it ends."""

        def ended(body: bytes | None, error: BaseException | None) -> None:
            if body is not None:
                self._succeed(request, respond, operation, parsed, body)
            elif isinstance(error, Malformed):
                self._answer_slowly(request, respond)
            else:
                assert error is not None
                self._refuse(request, respond, operation, parsed, error)

        Driver(coroutine, waits_for, ended)

    def _succeed(self, request: Request, respond: Respond, operation: Operation, parsed: Any, body: bytes) -> None:
        self._respond_behind_barrier(request, respond, operation, parsed, 200, body)

    def _refuse(self, request: Request, respond: Respond, operation: Operation, parsed: Any, error: BaseException) -> None:
        """The operation raised."""
        if not isinstance(error, ApiError):
            self._fail(request, respond, error)
            return
        if isinstance(error, ResourceNotFoundException):
            self._hint_elsewhere(request, parsed)
        self._respond_behind_barrier(request, respond, operation, parsed, error.http_status, error_body(error, operation.wording))

    def _fail(self, request: Request, respond: Respond, error: BaseException) -> None:
        """Our side failed: the operator hears why, the client gets the id under which the log has it."""
        request_id = request_id_of(request.number).decode()
        if isinstance(error, StorageError):
            _log.error("request %s failed in storage: %s: %s", request_id, type(error).__name__, error)
        else:
            _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
        respond(500, INTERNAL_ERROR_BODY)

    def _respond_behind_barrier(
        self, request: Request, respond: Respond, operation: Operation, parsed: Any, status: int, body: bytes
    ) -> None:
        if operation.is_eventual is not None and operation.is_eventual(parsed):
            respond(status, body)
            return
        position = self.position()
        if self.durable_position() >= position:
            respond(status, body)
        else:
            self._respond_when_durable(position, request, respond, status, body)

    def _respond_when_durable(self, position: int, request: Request, respond: Respond, status: int, body: bytes) -> None:
        def durable(error: StorageError | None) -> None:
            if error is None:
                respond(status, body)
            else:
                self._fail(request, respond, error)

        self.store.when_durable(position, durable)

    def _hint_elsewhere(self, request: Request, parsed: Any) -> None:
        """Tell the operator, once, that the table exists under another account or Region."""
        name = getattr(parsed, "TableName", None)
        if not isinstance(name, str):
            return
        scope = self.authorize(request)
        asked = (scope.account, scope.region, name)
        if asked in self.hinted or len(self.hinted) >= HINTS_MAX:
            return
        self.hinted.add(asked)
        others = [f"account {account}, Region {region}" for account, region in self.store.catalog.elsewhere(name)]
        if others:
            _log.warning(
                "table %s does not exist in account %s, Region %s, but in %s; the Region of a request is the one that its client "
                "signs for (--shared-db puts all into one)", name, scope.account, scope.region, "; ".join(others),
            )  # fmt: skip

    # --- the slow path --------------------------------------------------------------------------

    def _answer_slowly(self, request: Request, respond: Respond) -> None:
        """Find the first fault in the service's order; if there is none, run the operation after all."""
        if request.method != b"POST" or not is_json_content_type(request.header(b"content-type")):
            self._answer_plainly(request, respond)
            return
        operation: Operation | None = None
        try:
            encoding = request.header(b"content-encoding")
            body = request.body if encoding is None else decode_body(request.body, encoding)
            check_json(body)
            entry = self.entries.get(request.header(b"x-amz-target") or b"")
            if entry is None:
                raise UnknownOperationException
            operation = entry[0]
            scope = self.authorize(request)
            parsed = explain(operation.request, operation.name, body)
        except ApiError as error:
            respond(error.http_status, error_body(error, operation.wording if operation is not None else "bare"))
        except BadEncoding:
            respond(500, _BAD_ENCODING_BODY)
        except BodyTooLarge:
            respond(413, sentences.BODY_TOO_LARGE, b"text/plain")
        except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._fail(request, respond, error)
        else:
            self._run_explained(request, respond, operation, parsed, operation.run(scope, parsed))

    def _run_explained(
        self, request: Request, respond: Respond, operation: Operation, parsed: Any, coroutine: Coroutine[Any, Any, bytes]
    ) -> None:
        """Run an operation on what the slow path found acceptable; its `Malformed` would now be our bug."""
        try:
            waits_for = coroutine.send(None)
        except StopIteration as stop:
            self._succeed(request, respond, operation, parsed, stop.value)
        except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._refuse(request, respond, operation, parsed, error)
        else:

            def ended(body: bytes | None, error: BaseException | None) -> None:
                if body is not None:
                    self._succeed(request, respond, operation, parsed, body)
                else:
                    assert error is not None
                    self._refuse(request, respond, operation, parsed, error)

            Driver(coroutine, waits_for, ended)

    def _answer_plainly(self, request: Request, respond: Respond) -> None:
        """What is not a call of the JSON protocol: health, CORS preflight, or 404."""
        path = request.url.partition(b"?")[0]
        if request.method in (b"GET", b"HEAD") and path == b"/":
            respond(200, sentences.HEALTHY.format(region=HEALTH_REGION).encode(), b"text/plain")
        elif request.method == b"OPTIONS" and request.header(b"origin") is not None:
            respond(200, b"", b"text/plain", preflight_headers(request))
        else:
            respond(404, sentences.UNKNOWN_OPERATION_BODY, b"application/xml")


HINTS_MAX = 1000
HEALTH_REGION = "us-east-1"


def check_json(body: bytes) -> None:
    """Raise a SerializationException without a message unless the body is well-formed JSON."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise SerializationException from None


def preflight_headers(request: Request) -> bytes:
    """Header lines that allow a browser what it asks for."""
    methods = request.header(b"access-control-request-method")
    headers = request.header(b"access-control-request-headers")
    lines = b"Access-Control-Allow-Origin: *\r\nAccess-Control-Max-Age: 172800\r\n"
    if methods is not None:
        lines += b"Access-Control-Allow-Methods: " + methods + b"\r\n"
    if headers is not None:
        lines += b"Access-Control-Allow-Headers: " + headers + b"\r\n"
    return lines
