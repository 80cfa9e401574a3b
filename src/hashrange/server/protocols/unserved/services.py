"""For which service is a request, and in which form does that service write errors?
Known by its signature, its target, or its members.

Source: signing.md; the protocols of Smithy.
"""

import re
from typing import Literal, NamedTuple

from hashrange.wire.http import HttpRequest, query_pairs

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
_FORM_TYPE = b"application/x-www-form-urlencoded"
_EC2_FORM = frozenset(("ec2", "sdb"))
_S3 = frozenset(("s3", "s3express", "s3-outposts", "s3-object-lambda"))
_REST_XML = frozenset(("route53", "cloudfront"))


class UnservedService(NamedTuple):
    """The service that a request is for."""

    name: str
    """Its signing name, or what a target or path calls it; UNNAMED if nothing names it."""
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
    if (request.header(b"content-type") or b"").startswith(_FORM_TYPE):
        return b"Action=" in request.body[:2048]
    return b"?Action=" in request.url or b"&Action=" in request.url
