"""Which endpoint of the admin API does a request call, and is it allowed?
Operators' JSON over HTTP, below `/_hashrange/`.

Endpoints run as operations do. Requests whose target is an operation run none of this code.
There are no credentials: the client's address decides, unless `admin_from` lets everyone in.
A browser on the same machine sends requests for any page that its user visits, so the host must be a name of the
machine too, whatever the server listens on.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError, StorageError
from hashrange.messages import admin as sentences
from hashrange.operations.meter import NOTHING_USED
from hashrange.server.clients import IN_THIS_PROCESS
from hashrange.server.gate import foreign_host
from hashrange.server.host_names import HostNames, is_loopback
from hashrange.server.incoming import Respond
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving, body_refusal
from hashrange.server.protocols.admin.registry import find_endpoint
from hashrange.server.protocols.http_call import HttpCall, WrittenReply, answer_error, log_failure
from hashrange.server.protocols.unserved.services import ServiceRefusal
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.service.cluster_refusals import lacked_for_endpoint, sentence_on
from hashrange.soon import Soon
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

ROOT = b"/_hashrange/"


class AdminWriter(NamedTuple):
    """Writes the reply to one request."""

    request_id: str

    def reply(self, outcome: Mapping[str, object] | bytes) -> WrittenReply:
        """The reply with these members, or with these bytes of a file."""
        if isinstance(outcome, bytes):
            return WrittenReply(200, outcome, b"application/octet-stream")
        return WrittenReply(200, msgspec.json.encode(outcome), b"application/json")

    def error(self, error: ApiError) -> WrittenReply:
        """The reply with this error; one of DynamoDB's, which no endpoint raises on purpose, is an internal error."""
        if not isinstance(error, Refused):
            log_failure(self.request_id, error)
            error = self.internal_error()
        return written_refusal(error)

    def internal_error(self) -> Refused:
        """The error that says that the server has failed, and what to look for in its log."""
        return Refused(500, sentences.INTERNAL_ERROR.format(request_id=self.request_id))


def written_refusal(error: Refused) -> WrittenReply:
    """The reply with an error."""
    body = msgspec.json.encode({"error": error.message})
    return WrittenReply(error.http_status, body, b"application/json", error.header_lines)


class AdminCall(HttpCall):
    """One request."""

    def fail(self, error: BaseException) -> None:
        """Answer with an internal error, and log it; the operator, who asks, is told what fails in storage."""
        HttpCall.fail(self, Refused(500, str(error)) if isinstance(error, StorageError) else error)


class Admin(WireProtocol):
    """Protocol of the admin API."""

    def __init__(self, serving: Serving, hosts: HostNames) -> None:
        self.guard = Guard(refuse=_refuse_by_gate)
        self._serving = serving
        self._hosts = hosts
        self._lets_everyone_in = serving.service.settings.admin_from == "everyone"

    def claims(self, request: HttpRequest) -> bool:
        """True if the path belongs to the admin API, even if there is no such endpoint."""
        return request.url.startswith(ROOT)

    def prepare(self, request: HttpRequest, respond: Respond) -> AdminCall | None:
        """Return the call that a request becomes, or refuse it now and return None."""
        writer = AdminWriter(request_id_of(request.number).decode())
        try:
            self._require_admitted(request, respond)
            path, _, _ = request.url.decode("latin-1").partition("?")
            endpoint, texts = find_endpoint(request.method.decode("latin-1"), path)
            self._require_served(endpoint)
            decoded = _decode(endpoint, request.body)
        except Exception as error:  # noqa: BLE001 - nothing that a client sends may leave its request without a reply
            answer_error(request, respond, writer, error)
            return None

        def run(serving: Serving, members: Any) -> Soon[Any]:
            return endpoint.run(serving, members, *map(unquote, texts))

        called = msgspec.structs.replace(endpoint, run=run)
        return AdminCall(self._serving, called, decoded, NOTHING_USED, 0, True, request, respond, writer)

    def _require_served(self, endpoint: Operation[AdminWire]) -> None:
        """Raise Refused for an endpoint that servers of a cluster refuse."""
        what = lacked_for_endpoint(endpoint.name) if self._serving.service.store.is_clustered else None
        if what is not None:
            raise Refused(409, sentence_on(what))

    def _require_admitted(self, request: HttpRequest, respond: Respond) -> None:
        """Raise Refused for a non-loopback address, and for a host that is not this machine,
        unless everyone is admitted.
        """
        if self._lets_everyone_in:
            return
        clients = self._serving.clients
        if not is_loopback(clients.host_of(respond)):
            raise Refused(403, sentences.NOT_LOCAL)
        if clients is not IN_THIS_PROCESS and not self._hosts.is_local(request):
            raise Refused(403, foreign_host(request))


def _decode(endpoint: Operation[AdminWire], body: bytes) -> Any:
    """Decode the endpoint's request; an empty body has no members. Raises Refused for a too large or invalid body."""
    if len(body) > endpoint.wire.body_bytes_max:
        bytes_max = endpoint.wire.body_bytes_max
        raise Refused(413, sentences.BODY_TOO_LARGE.format(bytes_max=bytes_max, example=endpoint.wire.example))
    try:
        return msgspec.json.decode(body or b"{}", type=endpoint.request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise body_refusal(endpoint.wire, error) from None


def _refuse_by_gate(_request: HttpRequest, respond: Respond, refusal: ServiceRefusal) -> None:
    respond(*written_refusal(Refused(refusal.status, refusal.message)))
