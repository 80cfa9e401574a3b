"""How does a request of Lambda's API become a call? REST with JSON: method and path → operation, signature → caller,
members → struct.

Checks are made in this order: operation, signature, length, JSON, types, constraints; the operation makes all others.
This file must not know any operation by name.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.refusals import throttling_refusal
from hashrange.messages.other_services import OPERATION_NOT_SUPPORTED_YET
from hashrange.messages.rest_json import NO_SUCH_OPERATION, PATH_CHARACTERS_MAX
from hashrange.operations.meter import NOTHING_USED
from hashrange.server.access import Access
from hashrange.server.clients import free_reservation
from hashrange.server.incoming import Respond
from hashrange.server.protocols.http_call import HttpCall, answer_error
from hashrange.server.protocols.other_services import LAMBDA_SIGNING_NAME
from hashrange.server.protocols.rest_json.members import RequestReader
from hashrange.server.protocols.rest_json.replies import RestWriter
from hashrange.server.protocols.rest_json.routes import Routes
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.service.hints import Hints
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest

LAMBDA_BODIES_BYTES_MAX = 128 * 1024 * 1024
"""Bodies of the requests that run together, such as payloads of functions that take their time;
further ones are throttled."""


class LambdaProtocol(WireProtocol):
    """Protocol of Lambda's API. It is asked before DynamoDB's, which claims every POST of JSON."""

    guard = Guard(checks_signatures=True)

    def __init__(
        self,
        served: Sequence[Operation[RestWire]],
        access: Access,
        service: Service,
        hint_other_service: Callable[[HttpRequest], None],
    ) -> None:
        self._routes = Routes(served)
        self._readers = {operation.name: RequestReader(operation) for operation in served}
        self._access = access
        self._hints = Hints(service.store.catalog)
        self._hint_other_service = hint_other_service
        self._bodies_bytes = 0
        """Of all requests that run."""

    def claims(self, request: HttpRequest) -> bool:
        """True if the path is one of Lambda's API, even of an operation that does not exist."""
        return self._routes.is_path(request.url)

    def prepare(self, request: HttpRequest, respond: Respond) -> HttpCall | None:
        """Return the call that a request becomes, or refuse it now and return None. May give way."""
        try:
            operation, texts = self._find(request)
            scope = self._access.authorize(request, LAMBDA_SIGNING_NAME)
            members = self._readers[operation.name].read(request, texts)
            size_bytes = len(request.body)
            if self._bodies_bytes + size_bytes > LAMBDA_BODIES_BYTES_MAX:
                raise throttling_refusal("CallerRateLimitExceeded")
        except Exception as error:  # noqa: BLE001 - each error has its reply
            self._hint_other_service(request)
            answer_error(request, respond, RestWriter(), error)
            return None
        # Otherwise handlers that take their time would hold up others' requests of more than 64 KB.
        free_reservation(respond)
        caller, writer = Caller(scope.account, scope.region), RestWriter(operation.wire.status)
        answer = self._freeing(respond, size_bytes)
        return HttpCall(caller, operation, members, NOTHING_USED, 0, True, request, answer, writer)

    def _find(self, request: HttpRequest) -> tuple[Operation[RestWire], dict[str, str]]:
        """The operation, and the texts in the path. Raises LambdaError."""
        method = request.method.decode("latin-1")
        found = self._routes.find(method, request.url)
        if found is None:
            path = request.url.decode("latin-1").partition("?")[0]
            message = NO_SUCH_OPERATION.format(method=method, path=path[:PATH_CHARACTERS_MAX])
            raise LambdaError(404, "UnknownOperationException", message)
        route, texts = found
        if route.operation is None:
            message = OPERATION_NOT_SUPPORTED_YET.format(operation=route.name)
            self._hints.not_supported(route.name, message)
            raise LambdaError(400, "UnsupportedOperationException", message)
        return route.operation, texts

    def _freeing(self, respond: Respond, size_bytes: int) -> Respond:
        """What answers a request, whose body of this many bytes has been counted, and need not be any more then."""
        self._bodies_bytes += size_bytes

        def answer(*reply: Any) -> None:
            self._bodies_bytes -= size_bytes
            respond(*reply)

        return answer
