"""For which service is a request, and how does a service that is not served here refuse it?

A request's service is known by its signature, its target, or its members. A refusal has a status, a code and a message,
in the form of that service's errors. SDKs repeat a request after 500, 502, 503 and 504, and not after 501.
Source: signing.md; the protocols of Smithy, and the forms of their errors.
"""

import json
import re
from typing import Literal, NamedTuple

from hashrange.server.incoming import Respond
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.wire.http import HttpRequest, query_pairs
from hashrange.wire.identifiers import request_id_of

ErrorForm = Literal["cbor", "json", "query", "ec2", "s3", "rest-xml", "rest-json"]

UNNAMED = "this service"
"""What a service is called whose name a request does not tell."""
CREDENTIAL = b"Credential="
"""Where the key and scope of a signature begin in an Authorization header."""
_scope_in = re.compile(rb"Credential=[^/,\s]+/[0-9]{8}/(?:[^/,\s]*/)?([A-Za-z0-9-]{1,64})/aws4_request").match
_scope_of = re.compile(r"[^/]+/[0-9]{8}/(?:[^/]*/)?([A-Za-z0-9-]{1,64})/aws4_request").fullmatch
_is_signed_as_s3 = re.compile(rb"AWS [^:\s]+:").match
"""Signature version 2 in a header, which only S3's clients still use."""
_target_of_aws = re.compile(rb"((?:AWS|Amazon)[A-Za-z0-9_]{1,60})\.[A-Za-z0-9_]{1,64}").fullmatch
"""Targets without a signature that name a service, such as Cognito's.
DynamoDB answers for all others, as the service does."""
_cbor_path = re.compile(rb"/service/([A-Za-z0-9_]{1,64})/operation/").match
FORM_TYPE = b"application/x-www-form-urlencoded"
_EC2_FORM = frozenset(("ec2", "sdb"))
_S3 = frozenset(("s3", "s3express", "s3-outposts", "s3-object-lambda"))
_REST_XML = frozenset(("route53", "cloudfront"))
_XML = b"text/xml"
_no_character = dict.fromkeys([*range(9), 11, 12, *range(14, 32)])
"""Control characters, which XML cannot have."""


class UnservedService(NamedTuple):
    """The service that a request is for."""

    name: str
    """The service's signing name, or its name in a target or path; UNNAMED if nothing names the service."""
    form: ErrorForm


def signing_name_of(request: HttpRequest) -> str | None:
    """The service in the scope of the request's signature, in a header or in the URL; None without a signature."""
    authorization = request.header(b"authorization") or b""
    # A search would try each of a thousand beginnings in a hostile header, with all that follows: 0.1 s.
    found = _scope_in(authorization, authorization.find(CREDENTIAL))
    if found is not None:
        return found[1].decode()
    if _is_signed_as_s3(authorization):
        return "s3"
    if b"X-Amz-Credential=" not in request.url:
        return None
    given = next((value for name, value in query_pairs(request.url) if name == "X-Amz-Credential"), "")
    presigned = _scope_of(given)
    return None if presigned is None else presigned[1]


def service_of(request: HttpRequest) -> UnservedService | None:
    """The service that a request is for; None if nothing shows that it is for another service than DynamoDB."""
    name = signing_name_of(request)
    named = _target_of_aws(request.header(b"x-amz-target") or b"") or _cbor_path(request.url)
    if name is None and named is not None:
        name = named[1].decode()
    if name is None and _is_form(request):
        name = UNNAMED
    return None if name is None else UnservedService(name, _form_of(request, name))


def _form_of(request: HttpRequest, name: str) -> ErrorForm:
    if request.header(b"smithy-protocol") == b"rpc-v2-cbor":
        return "cbor"
    if request.header(b"x-amz-target"):
        return "json"
    if name in _S3:
        return "s3"
    if name in _REST_XML:
        return "rest-xml"
    if _is_form(request):
        return "ec2" if name in _EC2_FORM else "query"
    return "rest-json"


def _is_form(request: HttpRequest) -> bool:
    """True if the request names its operation in the Query form."""
    if (request.header(b"content-type") or b"").startswith(FORM_TYPE):
        return b"Action=" in request.body[:2048]
    return b"?Action=" in request.url or b"&Action=" in request.url


# --- refusals -----------------------------------------------------------------------------------


class ServiceRefusal(NamedTuple):
    """Why a request is not answered by its service."""

    status: int
    code: str
    message: str


def refuse_in_form(request: HttpRequest, respond: Respond, refusal: ServiceRefusal) -> None:
    """Answer the request with an error in the form of the service that it seems to be for."""
    service = service_of(request) or UnservedService(UNNAMED, "rest-json")
    respond(*formed(request, service.form, refusal))


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
