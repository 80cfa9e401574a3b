"""How is a request of CloudWatch, STS or Application Auto Scaling answered? Form → operation, signature → caller,
members → struct, coroutine → reply in the same form.

Checks are made in this order: operation, signature, form, types; the operation makes all others.
A reply waits until the commits before it are durable. Operations go on after their client has left.
This file must not know any operation by name.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from hashrange.aws_services.operation import Caller, MemberFault, ServiceApi, ServiceError, SignedCaller
from hashrange.errors import Abandoned, ApiError, StorageError
from hashrange.messages.aws_forms import SERVICE_FAILED
from hashrange.server.access import Access
from hashrange.server.incoming import Respond
from hashrange.server.protocols.aws_forms.replies import FormReply, WireForm, form_error, form_reply
from hashrange.server.protocols.aws_forms.requests import Named, Requests, Served, unserved_error
from hashrange.server.protocols.aws_forms.service_faults import ServiceFaults
from hashrange.server.protocols.aws_forms.shapes import MembersWrong
from hashrange.service.drive import in_turns
from hashrange.service.service import Service
from hashrange.wire.content_codings import ContentEncodingError
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

NOBODY = SignedCaller("", "", None)
"""The caller of an operation that needs no signature."""

_log = logging.getLogger("hashrange.server")


class AwsForms:
    """Answers requests of the services beside DynamoDB whose operations have no paths of their own."""

    def __init__(self, apis: Sequence[ServiceApi], access: Access, service: Service) -> None:
        self._requests = Requests(apis)
        self._access = access
        self._service = service

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is one of these services, even of an operation that does not exist."""
        return self._name(request) is not None

    def _name(self, request: HttpRequest) -> Named | None:
        target = request.header(b"x-amz-target")
        if target is not None:
            return self._requests.name_in_target(target)
        return self._requests.name_in_path_or_form(request)

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Refuse the request now, or run its operation and answer the request later. Returns None; may give way."""
        named = self._name(request)
        assert named is not None, "a request is prepared by the protocol that claims it"
        wire = WireForm(
            named.form,
            named.api,
            named.operation,
            request_id_of(request.number).decode(),
            is_query_mode=request.header(b"x-amzn-query-mode") is not None,
        )
        try:
            if named.fault is not None:
                raise named.fault
            served = self._requests.find(named)
            if served is None:
                raise unserved_error(named)
            caller = self._caller(named.api, served, request)
            try:
                members = self._requests.members(named, served, request)
            except MembersWrong as wrong:
                raise (served.operation.wire.word or named.api.word)(wrong.fault) from None
            except ContentEncodingError as wrong:
                raise named.api.word(MemberFault("type", "", str(wrong))) from None
        except Exception as error:  # noqa: BLE001 - each error has its reply
            _refuse(wire, respond, error)
            return
        faults = None
        if self._service.drawing is not None:
            faults = ServiceFaults(self._service.drawing, named.api, named.operation)
            respond = faults.respond_by(respond)
            if (refusal := faults.refusal()) is not None:
                _refuse(wire, respond, refusal)
                return
        running = served.operation.run(caller, members)
        ended = in_turns(_replied(wire, running), self._service.workers)
        ended.add_done_callback(partial(self._hold, wire, respond, faults))

    def _caller(self, api: ServiceApi, served: Served, request: HttpRequest) -> Caller | SignedCaller:
        """Who sends a request. Raises the errors of `Access.authorize`."""
        if not served.operation.wire.is_signed:
            return NOBODY
        scope = self._access.authorize(request, api.signing_name)
        if not api.needs_signer:
            return Caller(scope.account, scope.region)
        return SignedCaller(scope.account, scope.region, self._access.signer_of(request, api.signing_name))

    def _hold(
        self, wire: WireForm, respond: Respond, faults: ServiceFaults | None, ended: "asyncio.Future[FormReply]"
    ) -> None:
        """Answer once all commits so far are durable: among them are those that the reply reports."""

        def answer(failure: StorageError | None) -> None:
            error = failure or ended.exception()
            if error is None and faults is not None:
                error = faults.carried_out()
            if error is None:
                _send(respond, ended.result())
            else:
                _refuse(wire, respond, error)

        store = self._service.store
        position = store.position()
        if position <= store.durable_position():
            answer(None)
        else:
            store.when_durable(position, answer)


async def _replied(wire: WireForm, running: Coroutine[Any, Any, Mapping[str, Any] | None]) -> FormReply:
    """The reply of an operation; may give way, because it may have 100,800 datapoints."""
    return form_reply(wire, await running)


def _refuse(wire: WireForm, respond: Respond, error: BaseException) -> None:
    """Answer with an error; log it under the request's id if it is internal, unless the client has left."""
    if isinstance(error, ApiError):
        known = error
    else:
        if isinstance(error, StorageError):
            _log.error("request %s failed in storage: %s: %s", wire.request_id, type(error).__name__, error)
        elif not isinstance(error, Abandoned):
            _log.error("request %s met an error of ours; please report it", wire.request_id, exc_info=error)
        known = ServiceError(wire.api.internal_error, SERVICE_FAILED)
    try:
        reply = form_error(wire, known)
    except Exception as mistake:  # noqa: BLE001 - the library of the form may be missing
        _log.error("request %s met an error of ours; please report it", wire.request_id, exc_info=mistake)
        respond(500, b"")
        return
    _send(respond, reply)


def _send(respond: Respond, reply: FormReply) -> None:
    respond(reply.status, reply.body, reply.content_type, reply.header_lines)
