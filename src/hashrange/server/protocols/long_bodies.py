"""How is a request refused whose body is too long? With status 413, in the form of the service that it
is for, before its body is read.

Only the head is known: a request in the Query form names its operation in the body, so any form is taken for one.
"""

import msgspec

from hashrange.errors import RequestEntityTooLargeException
from hashrange.limits import BODY_BYTES_MAX
from hashrange.messages.http import BODY_OVER_LIMIT
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME
from hashrange.server.protocols.dynamodb_json.writing import error_body
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.server.protocols.unserved.services import (
    FORM_TYPE,
    UNNAMED,
    ErrorForm,
    ServiceRefusal,
    UnservedService,
    formed,
    service_of,
)
from hashrange.server.refusals import Refusal
from hashrange.wire.http import REQUEST_ID, HttpRequest, is_json_content_type, mirrored_content_type
from hashrange.wire.identifiers import request_id_of

CODE = RequestEntityTooLargeException.__name__
CODES: dict[ErrorForm, str] = {"s3": "EntityTooLarge", "query": "RequestEntityTooLarge", "ec2": "RequestEntityTooLarge"}
"""Codes of forms whose services call the error otherwise than CODE."""
_ADMIN_PATH = b"/_hashrange/"


def refuse_long_body(request: HttpRequest, *, has_admin: bool, has_functions: bool) -> Refusal:
    """The refusal of a request, which has no body."""
    reply = long_body_reply(request, has_admin=has_admin, has_functions=has_functions)
    assert reply.content_type is not None, "every refusal has a body"
    request_id = b"%b: %b\r\n" % (REQUEST_ID, request_id_of(request.number))
    lines = b"Content-Type: %b\r\n%b%b" % (reply.content_type, request_id, reply.header_lines)
    return Refusal(reply.status, reply.body, lines)


def long_body_reply(request: HttpRequest, *, has_admin: bool, has_functions: bool) -> WrittenReply:
    """The reply in the form of the request's service, or in JSON if nothing shows which one that is."""
    message = BODY_OVER_LIMIT.format(most=BODY_BYTES_MAX)
    if has_admin and request.url.startswith(_ADMIN_PATH):
        return WrittenReply(413, msgspec.json.encode({"error": message}), b"application/json")
    if has_functions:
        # Imported here: most servers have no functions, and start time counts.
        from hashrange.server.protocols.rest_json.lambda_api import too_large  # noqa: PLC0415

        lambda_reply = too_large(request.url)
        if lambda_reply is not None:
            return lambda_reply
    content_type = request.header(b"content-type") or b""
    if content_type.startswith(FORM_TYPE):
        request = msgspec.structs.replace(request, body=b"Action=")
    service = service_of(request)
    is_json = request.method == b"POST" and is_json_content_type(content_type)
    target = request.header(b"x-amz-target")
    is_ours = target is None or target.startswith(b"DynamoDB")
    if is_json and is_ours and (service is None or service.name == SIGNING_NAME):
        body = error_body(RequestEntityTooLargeException(message))
        return WrittenReply(413, body, mirrored_content_type(content_type))
    if service is None:
        service = UnservedService(UNNAMED, "rest-json" if target is None else "json")
    return formed(request, service.form, ServiceRefusal(413, CODES.get(service.form, CODE), message))
