"""Which operation does a request name, in which form, and what are its members?
JSON by X-Amz-Target, CBOR by its path, the Query form by `Action`.

Source: operations.md 8.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.aws_services.operation import FormWire, MemberFault, Operation, ServiceApi, ServiceError
from hashrange.errors import Abandoned
from hashrange.items.steps import look, spend_decoding, walk
from hashrange.limits import SERVICE_BODY_BYTES_MAX, SERVICE_CONTAINERS_MAX
from hashrange.messages import aws_forms as sentences
from hashrange.server.protocols.aws_forms.cbor_heads import fault_of_heads
from hashrange.server.protocols.aws_forms.query_form import member_in, pairs_in
from hashrange.server.protocols.aws_forms.replies import Form
from hashrange.server.protocols.aws_forms.shapes import (
    MembersWrong,
    free_tree,
    from_tree,
    known_members,
    struct_of,
    tree_of,
    with_scalars,
)
from hashrange.server.protocols.unserved.services import FORM_TYPE, signing_name_of
from hashrange.wire.body_members import has_many_members
from hashrange.wire.content_codings import BodyTooLargeError, ContentEncodingError, decode_body
from hashrange.wire.http import HttpRequest
from hashrange.wire.piecewise import decode_in_pieces, empty
from hashrange.wire.shape import Shape, structure_of

_cbor_path = re.compile(rb"/service/([A-Za-z0-9_]+)/operation/([A-Za-z0-9_]+)/?(?:\?|$)").match
CBOR_PIECE_BYTES = 4096
"""Bytes of CBOR that are decoded before other work has its turn: 0.1 ms, however many members they are."""

CBOR_LONG_BYTES = 16_000
"""CBOR of more bytes may have very many members."""


class Named(NamedTuple):
    """What a request names."""

    form: Form
    api: ServiceApi
    operation: str
    text: bytes = b""
    """The form of the Query form, without content codings; it has not been read."""
    fault: ServiceError | None = None
    """Why the request names no operation of any version that is served."""


class Requests:
    """Reads requests of some services."""

    def __init__(self, apis: Sequence[ServiceApi]) -> None:
        self._by_prefix = {api.target_prefix: api for api in apis if api.target_prefix}
        self._query_apis = [api for api in apis if api.xml_namespace is not None]
        self._served = {(api.name, operation.name): operation for api in apis for operation in api.operations}

    def name_in_target(self, target: bytes) -> Named | None:
        """What X-Amz-Target names; None if it is of another service."""
        prefix, _, operation = target.decode("latin-1").partition(".")
        api = self._by_prefix.get(prefix)
        return None if api is None else Named("json", api, operation)

    def name_in_path_or_form(self, request: HttpRequest) -> Named | None:
        """What a request in the form of CBOR, or in the Query form, names; None if it is of another service."""
        found = _cbor_path(request.url)
        if found is not None:
            api = self._by_prefix.get(found[1].decode())
            is_served = api is not None and api.xml_namespace is not None
            return Named("cbor", api, found[2].decode()) if api is not None and is_served else None
        path, _, query = request.url.partition(b"?")
        if path != b"/":
            return None
        if request.method == b"POST" and b"Action=" not in query:  # else presigned: the form is in the query
            is_form = (request.header(b"content-type") or b"").partition(b";")[0].strip().lower() == FORM_TYPE
            text = _plain_form(request) if is_form else None
            if not is_form:
                return None
            # A longer form is refused.
            named = None if text is None else self._name_in_form(text[:SERVICE_BODY_BYTES_MAX])
            return named or self._name_in_signature(request, text)
        return self._name_in_form(query) if request.method in {b"GET", b"POST"} else None

    def _name_in_form(self, text: bytes) -> Named | None:
        """What a form names: the API is that whose version it has or, if it has none,
        the first with such an operation.
        """
        try:
            action, version = member_in(text, b"Action"), member_in(text, b"Version")
        except UnicodeDecodeError:
            return None
        if action is None:
            return None
        found = [api for api in self._query_apis if version in (None, api.version)]
        if version is None:
            found.sort(key=lambda api: (api.name, action) not in self._served)
        return Named("query", found[0], action, text) if found else None

    def _name_in_signature(self, request: HttpRequest, text: bytes | None) -> Named | None:
        """What a form that names no operation is for, and what is wrong with it;
        None unless it is signed for one of the services.
        """
        signing_name = signing_name_of(request)
        api = next((api for api in self._query_apis if api.signing_name == signing_name), None)
        if api is None:
            return None
        malformed = Named("query", api, "", fault=ServiceError("MalformedQueryString", sentences.MALFORMED_FORM))
        if text is None or len(text) > SERVICE_BODY_BYTES_MAX:
            return malformed
        try:
            text.decode()
            action, version = member_in(text, b"Action"), member_in(text, b"Version")
        except UnicodeDecodeError:
            return malformed
        if action is None:
            return Named("query", api, "", fault=ServiceError("MissingAction", sentences.MISSING_ACTION))
        unknown = sentences.NO_SUCH_VERSION.format(operation=action[:100], version=str(version)[:100])
        return Named("query", api, action, fault=ServiceError("InvalidAction", unknown))

    def find(self, named: Named) -> Operation[FormWire]:
        """The operation that is named. Raises ServiceError if it is not served."""
        served = self._served.get((named.api.name, named.operation))
        if served is None:
            raise _unserved_error(named)
        return served

    def members(self, named: Named, served: Operation[FormWire], request: HttpRequest) -> msgspec.Struct:
        """The request struct; may give way. Raises MembersWrong, ContentEncodingError, and ServiceError for
        a body that is no form, or too large.
        """
        most = served.wire.body_bytes_max
        if most is not None and len(request.body) > most:
            message = sentences.REQUEST_TOO_LARGE.format(size=len(request.body), most=most)
            raise ServiceError("RequestEntityTooLarge", message)
        if named.form == "query":
            pairs = pairs_in(named.text)
            if pairs is None:
                raise ServiceError("MalformedQueryString", sentences.MALFORMED_FORM)
            return struct_of(_members_of_pairs(pairs, structure_of(served.request)), served.request, strict=False)
        body = request.body
        if request.layout.content_encoding >= 0:
            try:
                body = decode_body(body, request.header(b"content-encoding") or b"")
            except BodyTooLargeError:
                raise _too_large() from None
        if len(body) > SERVICE_BODY_BYTES_MAX:
            raise _too_large()
        has_many = has_many_members(body) if named.form == "json" else len(body) > CBOR_LONG_BYTES
        members = _json(body, has_many=has_many) if named.form == "json" else _cbor(body)
        if has_many:
            members = known_members(_object(members), structure_of(served.request))
        return self.struct(served, members, has_many=has_many)

    def struct(self, served: Operation[FormWire], members: Any, *, has_many: bool = False) -> msgspec.Struct:
        """The request struct of members as plain values. Raises MembersWrong."""
        node = with_scalars(_object(members), structure_of(served.request))
        return struct_of(node, served.request, strict=True, has_many=has_many)


def _unserved_error(named: Named) -> ServiceError:
    """The error of a request that names an operation which is not served."""
    if named.operation in named.api.unserved:
        return ServiceError("UnsupportedOperationException", sentences.NOT_SUPPORTED.format(operation=named.operation))
    operation = named.operation[:100]
    if named.form == "query":
        unknown = sentences.NO_SUCH_VERSION.format(operation=operation, version=named.api.version)
        return ServiceError("InvalidAction", unknown)
    unknown = sentences.NO_SUCH_OPERATION.format(service=named.api.name, operation=operation)
    return ServiceError("UnknownOperationException", unknown)


def _too_large() -> MembersWrong:
    return MembersWrong(MemberFault("value", "", sentences.BODY_TOO_LONG.format(most=SERVICE_BODY_BYTES_MAX)))


def _too_many_containers() -> MembersWrong:
    detail = sentences.TOO_MANY_CONTAINERS.format(most=SERVICE_CONTAINERS_MAX)
    return MembersWrong(MemberFault("value", "", detail))


def _plain_form(request: HttpRequest) -> bytes | None:
    """The body without its content codings; None if it cannot be decoded.
    Botocore compresses PutMetricData from 10 KB on.
    """
    if request.layout.content_encoding < 0:
        return request.body
    try:
        return decode_body(request.body, request.header(b"content-encoding") or b"")
    except (ContentEncodingError, BodyTooLargeError):
        return None


def _json(body: bytes, *, has_many: bool) -> Any:
    """`has_many`: the body has very many members, and is decoded in pieces."""
    if body.count(b"[") + body.count(b"{") > SERVICE_CONTAINERS_MAX:  # brackets in texts count too
        raise _too_many_containers()
    spend_decoding(len(body))
    try:
        if has_many:
            return decode_in_pieces(body, msgspec.json.decode)
        return msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise MembersWrong(MemberFault("type", "", sentences.NO_JSON)) from None


def _members_of_pairs(pairs: list[tuple[str, str]], shape: Shape) -> Any:
    """The members that names and values of a form make; may give way, and frees `pairs`. Raises MembersWrong."""
    try:
        tree = tree_of(pairs, shape)
    finally:
        empty(pairs)
    try:
        return from_tree(tree, shape)
    finally:
        free_tree(tree)


class _Pieces:
    """A body that a decoder reads in pieces; gives way before each."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._place = 0

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`."""
        look()
        piece = self._body[self._place : self._place + size]
        self._place += size
        return piece


def _cbor(body: bytes) -> Any:
    if not body:
        return {}
    fault = fault_of_heads(body)
    if fault == "tags":
        raise MembersWrong(MemberFault("value", "", sentences.TAGS_OF_NO_TIMES))
    if fault == "containers":
        raise _too_many_containers()
    if fault == "keys":
        raise MembersWrong(MemberFault("type", "", sentences.NO_CBOR))
    spend_decoding(len(body))
    # Imported here: most servers are never asked in this form, and start time counts.
    import cbor2  # noqa: PLC0415

    pieces: Any = _Pieces(body)  # all that the decoder needs of a file
    try:
        return cbor2.CBORDecoder(pieces, read_size=CBOR_PIECE_BYTES).decode()
    except Abandoned:
        raise
    except Exception:  # noqa: BLE001 - what the library makes of times may raise anything
        raise MembersWrong(MemberFault("type", "", sentences.NO_CBOR)) from None


def _object(node: Any) -> Mapping[str, Any]:
    if not isinstance(node, dict) or not all(isinstance(name, str) for name in walk(node)):
        raise MembersWrong(MemberFault("type", "", sentences.BODY_NO_OBJECT))
    return node
