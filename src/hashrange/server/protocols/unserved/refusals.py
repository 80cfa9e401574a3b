"""How does a service that is not served here refuse a request? With a status, a code and a message,
in the form of that service's errors.

SDKs repeat a request after 500, 502, 503 and 504, and not after 501. Source: the error forms of Smithy's protocols.
"""

import json
from typing import NamedTuple

from hashrange.server.incoming import Respond
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.server.protocols.unserved.services import UNNAMED, ErrorForm, UnservedService, service_of
from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

_XML = b"text/xml"
_no_character = dict.fromkeys([*range(9), 11, 12, *range(14, 32)])
"""Control characters, which XML cannot have."""


class ServiceRefusal(NamedTuple):
    """Why a request is not answered by its service."""

    status: int
    code: str
    message: str


def refuse_in_form(request: HttpRequest, respond: Respond, refusal: ServiceRefusal) -> None:
    """Answer the request with an error in the form of the service that it seems to be for."""
    service = service_of(request) or UnservedService(UNNAMED, "rest-json")
    refuse_service(request, respond, service.form, refusal)


def refuse_service(request: HttpRequest, respond: Respond, form: ErrorForm, refusal: ServiceRefusal) -> None:
    """Answer the request with an error in this form."""
    respond(*formed(request, form, refusal))


def formed(request: HttpRequest, form: ErrorForm, refusal: ServiceRefusal) -> WrittenReply:
    """An error in this form."""
    status, code, message = refusal
    if form == "cbor":
        # Imported here: most servers are never asked in this form, and start time counts.
        import cbor2  # noqa: PLC0415

        body = cbor2.dumps({"__type": code, "message": message})
        return WrittenReply(status, body, b"application/cbor", b"smithy-protocol: rpc-v2-cbor\r\n")
    if form == "json":
        body = json.dumps({"__type": code, "message": message}).encode()
        return WrittenReply(status, body, b"application/x-amz-json-1.1")
    if form == "rest-json":
        lines = f"x-amzn-ErrorType: {code}\r\n".encode()
        return WrittenReply(status, json.dumps({"message": message}).encode(), b"application/json", lines)
    return WrittenReply(status, _xml(form, refusal, request_id_of(request.number).decode()), _XML)


def _xml(form: ErrorForm, refusal: ServiceRefusal, request_id: str) -> bytes:
    # Imported here: most servers are never asked in this form, and start time counts.
    from xml.sax.saxutils import escape  # noqa: PLC0415

    fault = "Sender" if refusal.status < 500 else "Receiver"
    code = f"<Code>{refusal.code}</Code>"
    message = f"<Message>{escape(refusal.message.translate(_no_character))}</Message>"
    if form == "s3":
        text = f"<Error>{code}{message}<RequestId>{request_id}</RequestId></Error>"
    elif form == "ec2":
        errors = f"<Errors><Error>{code}{message}</Error></Errors>"
        text = f"<Response>{errors}<RequestID>{request_id}</RequestID></Response>"
    else:
        error = f"<Error><Type>{fault}</Type>{code}{message}</Error>"
        text = f"<ErrorResponse>{error}<RequestId>{request_id}</RequestId></ErrorResponse>"
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()
