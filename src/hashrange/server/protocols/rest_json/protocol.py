"""How is a request of Lambda's API answered? REST with JSON: method and path → operation, signature → caller,
members → struct, coroutine → reply.

Checks are made in this order: operation, signature, length, JSON, types, constraints; the operation makes all others.
A reply waits until the commits before it are durable, whatever it says. Operations go on after their client has left.
This file must not know any operation by name.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.errors import Abandoned, ApiError, StorageError
from hashrange.functions.api.operation import LambdaError, LambdaReply, RestWire
from hashrange.functions.refusals import throttling_refusal
from hashrange.messages.other_services import OPERATION_NOT_SUPPORTED_YET
from hashrange.messages.rest_json import SERVICE_FAILED, no_such_operation
from hashrange.server.access import Access
from hashrange.server.access_log import NOTHING_USED
from hashrange.server.gate import Guard
from hashrange.server.handed_bodies import free_reservation
from hashrange.server.incoming import Respond
from hashrange.server.protocols.rest_json.members import RequestReader
from hashrange.server.protocols.rest_json.replies import WireReply, error_reply, reply_of
from hashrange.server.protocols.rest_json.routes import Routes
from hashrange.server.protocols.rest_json.signing_name import LAMBDA_SIGNING_NAME
from hashrange.service.drive import in_turns
from hashrange.service.hints import Hints
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

LAMBDA_BODIES_BYTES_MAX = 128 * 1024 * 1024
"""Bodies of the requests that run together, such as payloads of functions that take their time;
further ones are throttled."""

_log = logging.getLogger("hashrange.server")


class LambdaProtocol:
    """Protocol of Lambda's API. It is asked before DynamoDB's, which claims every POST of JSON."""

    targets = quick_targets = MappingProxyType[bytes, Any]({})
    guard = Guard(checks_signatures=True)

    def __init__(
        self,
        served: Sequence[Operation[RestWire]],
        access: Access,
        service: Service,
        hint_other_service: Callable[[HttpRequest], None],
    ) -> None:
        """`served`: of several operations with the same name, the last is served."""
        self._routes = Routes(served)
        self._readers = {operation.name: RequestReader(operation) for operation in served}
        self._access = access
        self._store = service.store
        self._workers = service.workers
        self._hints = Hints(service.store.catalog)
        self._hint_other_service = hint_other_service
        self._bodies_bytes = 0
        """Of all requests that run."""

    def claims(self, request: HttpRequest) -> bool:
        """True if the path is one of Lambda's API, even of an operation that does not exist."""
        return self._routes.is_path(request.url)

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Refuse the request now, or run its operation and answer the request later. Returns None; may give way."""
        try:
            operation, texts = self._find(request)
            scope = self._access.authorize(request, LAMBDA_SIGNING_NAME)
            members = self._readers[operation.name].read(request, texts)
            size_bytes = len(request.body)
            if self._bodies_bytes + size_bytes > LAMBDA_BODIES_BYTES_MAX:
                raise throttling_refusal("CallerRateLimitExceeded")
        except Exception as error:  # noqa: BLE001 - each error has its reply
            self._hint_other_service(request)
            _refuse(request, respond, error)
            return
        running = operation.run(Caller(scope.account, scope.region), members)
        self._bodies_bytes += size_bytes
        ended = in_turns(running, self._workers)
        ended.add_done_callback(partial(self._hold, request, respond, operation, size_bytes))
        free_reservation(
            respond
        )  # otherwise handlers that take their time would hold up others' requests of more than 64 KB

    def _find(self, request: HttpRequest) -> tuple[Operation[RestWire], dict[str, str]]:
        """The operation, and the texts in the path. Raises LambdaError."""
        method = request.method.decode("latin-1")
        found = self._routes.find(method, request.url)
        if found is None:
            path = request.url.decode("latin-1").partition("?")[0]
            raise LambdaError(404, "UnknownOperationException", no_such_operation(method, path))
        route, texts = found
        if route.operation is None:
            self._hints.not_supported(route.name)
            message = OPERATION_NOT_SUPPORTED_YET.format(operation=route.name)
            raise LambdaError(400, "UnsupportedOperationException", message)
        return route.operation, texts

    def _hold(
        self,
        request: HttpRequest,
        respond: Respond,
        operation: Operation[RestWire],
        size_bytes: int,
        ended: "asyncio.Future[Mapping[str, Any] | LambdaReply | None]",
    ) -> None:
        """Answer once all commits so far are durable: among them are those that the reply reports."""
        self._bodies_bytes -= size_bytes

        def answer(failure: StorageError | None) -> None:
            _answer(request, respond, operation, ended, failure)

        position = self._store.position()
        if position <= self._store.durable_position():
            answer(None)
        else:
            self._store.when_durable(position, answer)


def _answer(
    request: HttpRequest,
    respond: Respond,
    operation: Operation[RestWire],
    ended: "asyncio.Future[Mapping[str, Any] | LambdaReply | None]",
    failure: StorageError | None,
) -> None:
    """Answer with the result or the error of `ended`, or with `failure`, if its commits are not durable."""
    error = failure or ended.exception()
    if error is not None:
        _refuse(request, respond, error)
        return
    try:
        reply = reply_of(operation, ended.result())
    except Exception as mistake:  # noqa: BLE001 - any error is internal
        _refuse(request, respond, mistake)
        return
    _send(respond, reply)


def _refuse(request: HttpRequest, respond: Respond, error: BaseException) -> None:
    """Answer with an error; log it under the request's id if it is internal, unless the client has left."""
    known = error
    if not isinstance(known, ApiError):
        request_id = request_id_of(request.number).decode()
        if isinstance(error, StorageError):
            _log.error("request %s failed in storage: %s: %s", request_id, type(error).__name__, error)
        elif not isinstance(error, Abandoned):
            _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
        known = LambdaError(500, "ServiceException", SERVICE_FAILED)
    _send(respond, error_reply(known))


def _send(respond: Respond, reply: WireReply) -> None:
    used = f"{NOTHING_USED} {reply.code}" if reply.code else ""
    respond(reply.status, reply.body, reply.content_type, reply.header_lines, used)
