"""How does a request of CloudWatch, STS, Application Auto Scaling or DAX's API become a call?
Form → operation, signature → caller, members → struct.

Checks are made in this order: operation, signature, form, types; the operation makes all others. The reply has the form
of the request (`replies.py`). This file must not know any operation by name.
"""

from collections.abc import Sequence
from typing import ClassVar

from hashrange.aws_services.operation import Caller, FormWire, MemberFault, Operation, ServiceApi, SignedCaller
from hashrange.operations.meter import NOTHING_USED
from hashrange.server.access import Access
from hashrange.server.incoming import Respond
from hashrange.server.protocols.aws_forms.replies import WireForm
from hashrange.server.protocols.aws_forms.requests import Named, Requests
from hashrange.server.protocols.aws_forms.shapes import MembersWrong
from hashrange.server.protocols.http_call import HttpCall, answer_error
from hashrange.service.call import CallKind
from hashrange.wire.content_codings import ContentEncodingError
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

NOBODY = SignedCaller("", "", None)
"""The caller of an operation that needs no signature."""


class FormCall(HttpCall):
    """One request."""

    kind: ClassVar[CallKind] = "service"


class AwsForms:
    """Answers requests of the services beside DynamoDB whose operations have no paths of their own."""

    def __init__(self, apis: Sequence[ServiceApi], access: Access) -> None:
        self._requests = Requests(apis)
        self._access = access

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is one of these services, even of an operation that does not exist."""
        return self._name(request) is not None

    def _name(self, request: HttpRequest) -> Named | None:
        target = request.header(b"x-amz-target")
        if target is not None:
            return self._requests.name_in_target(target)
        return self._requests.name_in_path_or_form(request)

    def prepare(self, request: HttpRequest, respond: Respond) -> FormCall | None:
        """Return the call that a request becomes, or refuse it now and return None. May give way."""
        named = self._name(request)
        assert named is not None, "a request is prepared by the protocol that claims it"
        request_id, is_query_mode = request_id_of(request.number), request.header(b"x-amzn-query-mode") is not None
        wire = WireForm(named.form, named.api, named.operation, request_id.decode(), is_query_mode)
        try:
            if named.fault is not None:
                raise named.fault
            served = self._requests.find(named)
            caller = self._caller(named.api, served, request)
            try:
                members = self._requests.members(named, served, request)
            except MembersWrong as wrong:
                raise (served.wire.word or named.api.word)(wrong.fault) from None
            except ContentEncodingError as wrong:
                raise named.api.word(MemberFault("type", "", str(wrong))) from None
        except Exception as error:  # noqa: BLE001 - each error has its reply
            answer_error(request, respond, wire, error)
            return None
        return FormCall(caller, served, members, NOTHING_USED, 0, True, request, respond, wire)

    def _caller(self, api: ServiceApi, served: Operation[FormWire], request: HttpRequest) -> Caller | SignedCaller:
        """Who sends a request. Raises the errors of `Access.authorize`."""
        if not served.wire.is_signed:
            return NOBODY
        scope = self._access.authorize(request, api.signing_name)
        if not api.needs_signer:
            return Caller(scope.account, scope.region)
        return SignedCaller(scope.account, scope.region, self._access.signer_of(request, api.signing_name))
