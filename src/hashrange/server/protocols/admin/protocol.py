"""Which endpoint of the admin API does a request call, and is it allowed?
Operators' JSON over HTTP, below `/_hashrange/`.

Endpoints run like operations, and give way to requests; requests whose target is an operation run none of this code.
There are no credentials: the client's address decides, unless `admin_from` lets everyone in.
A browser on the same machine sends requests for any page that its user visits, so the host must be a name of the
machine too, whatever the server listens on.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import StorageError
from hashrange.messages import admin as sentences
from hashrange.server.clients import IN_THIS_PROCESS
from hashrange.server.gate import Guard, foreign_host
from hashrange.server.host_names import HostNames, is_loopback
from hashrange.server.incoming import Respond
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving
from hashrange.server.protocols.admin.registry import find_endpoint
from hashrange.server.protocols.unserved.refusals import ServiceRefusal
from hashrange.service.drive import in_turns
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

ROOT = b"/_hashrange/"

_log = logging.getLogger("hashrange.server")


class Admin:
    """Protocol of the admin API."""

    targets = quick_targets = MappingProxyType[bytes, Any]({})

    def __init__(self, serving: Serving, hosts: HostNames) -> None:
        self.guard = Guard(refuse=_refuse_by_gate)
        self._serving = serving
        self._hosts = hosts
        self._lets_everyone_in = serving.service.settings.admin_from == "everyone"

    def claims(self, request: HttpRequest) -> bool:
        """True if the path belongs to the admin API, even if there is no such endpoint."""
        return request.url.startswith(ROOT)

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Refuse the request now, or run its endpoint and answer the request later. Returns None."""
        try:
            self._require_admitted(request, respond)
            path, _, _ = request.url.decode("latin-1").partition("?")
            endpoint, texts = find_endpoint(request.method.decode("latin-1"), path)
            decoded = _decode(endpoint, request.body)
        except Refused as refusal:
            _refuse(respond, refusal)
            return
        except Exception as error:  # noqa: BLE001 - nothing that a client sends may leave its request without a reply
            _fail(request, respond, error)
            return
        running = endpoint.run(self._serving, decoded, *map(unquote, texts))
        ended = in_turns(running, self._serving.service.workers)
        ended.add_done_callback(partial(_answer, request, respond))

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
        raise Refused(400, sentences.BAD_BODY.format(reason=error, example=endpoint.wire.example)) from None


def _answer(request: HttpRequest, respond: Respond, ended: "asyncio.Future[Mapping[str, object]]") -> None:
    """Answer the request with the result or the error of `ended`, its endpoint's future."""
    error = ended.exception()
    if error is None:
        respond(200, msgspec.json.encode(ended.result()), b"application/json")
    elif isinstance(error, Refused):
        _refuse(respond, error)
    elif isinstance(error, StorageError):
        _refuse(respond, Refused(500, str(error)))
    else:
        _fail(request, respond, error)


def _fail(request: HttpRequest, respond: Respond, error: BaseException) -> None:
    request_id = request_id_of(request.number).decode()
    _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
    _refuse(respond, Refused(500, sentences.INTERNAL_ERROR.format(request_id=request_id)))


def _refuse_by_gate(_request: HttpRequest, respond: Respond, refusal: ServiceRefusal) -> None:
    _refuse(respond, Refused(refusal.status, refusal.message))


def _refuse(respond: Respond, refusal: Refused) -> None:
    body = msgspec.json.encode({"error": refusal.message})
    respond(refusal.http_status, body, b"application/json", refusal.header_lines)
