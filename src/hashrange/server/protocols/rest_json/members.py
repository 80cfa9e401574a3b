"""How do path, query, headers and body of an HTTP request become the struct of an operation of Lambda's API?

The members are put together as one JSON object, which is checked as a body of DynamoDB is (`wire/faults.py`):
JSON types, then constraints, with the same wording, since both services are built on the same framework.
Unknown members are ignored. Source: botocore's service model of Lambda; the rest-json protocol of Smithy.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import MalformedHttpRequestException, SerializationException
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.items.steps import spend_decoding, walk
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, LAMBDA_JSON_BYTES_MAX, LAMBDA_REQUEST_BYTES_MAX
from hashrange.messages.rest_json import NO_OBJECT, NOT_JSON, NOT_UTF8, request_too_large
from hashrange.server.protocols.dynamodb_json.protocol import plain_body
from hashrange.server.protocols.rest_json.long_blobs import LONG_BLOB_BYTES, cut_blob
from hashrange.wire.content_codings import BodyTooLargeError, ContentEncodingError
from hashrange.wire.faults import decode_object, read_slowly
from hashrange.wire.http import HttpRequest, query_pairs
from hashrange.wire.rules import NO_RULES
from hashrange.wire.shape import Shape, structure_of

_read_over = msgspec.json.Decoder(msgspec.Raw).decode
_is_number = re.compile(r"-?[0-9]{1,18}").fullmatch


def body_bytes_max(operation: Operation[RestWire]) -> int:
    """Most bytes of a body of this operation."""
    if operation.wire.raw_body is not None:
        return INVOCATION_PAYLOAD_BYTES_MAX
    return LAMBDA_REQUEST_BYTES_MAX if _blob_path(structure_of(operation.request)) else LAMBDA_JSON_BYTES_MAX


class RequestReader:
    """Reads the requests of one operation."""

    def __init__(self, operation: Operation[RestWire]) -> None:
        self._operation = operation
        shape = structure_of(operation.request)
        assert shape.inner is not None
        self._shapes = shape.inner
        path_names = {part[1:-1] for part in operation.wire.path.split("/") if part.startswith("{")}
        located = path_names | set(operation.wire.query.values()) | set(operation.wire.headers.values())
        self._located = frozenset(located)
        self._reads_body = operation.wire.raw_body is None and not located.issuperset(self._shapes)
        self._blob_path = _blob_path(shape) if operation.wire.raw_body is None else ()
        self._body_bytes_max = body_bytes_max(operation)

    def read(self, request: HttpRequest, texts: Mapping[str, str]) -> Any:
        """The operation's struct; `texts` are the members in the path. May give way.

        Raises LambdaError for a body that is too long, SerializationException, MalformedHttpRequestException,
        and ValidationException with its complete message.
        """
        body = self._body(request)
        raw = self._operation.wire.raw_body
        blob: bytes | None = None
        members: dict[str, Any] = {}
        if self._reads_body and body.strip():
            if self._blob_path and len(body) > LONG_BLOB_BYTES:
                spend_decoding(len(body))
                cut = cut_blob(body, self._blob_path[-1])
                if cut is not None:
                    body, blob = cut
            self._require_at_most(body, LAMBDA_JSON_BYTES_MAX)
            members = _decode_members(body)
        members = {name: member for name, member in walk(members.items()) if name not in self._located}
        members.update(texts)
        members.update(self._query_members(request))
        members.update(self._header_members(request))
        read = read_slowly(self._operation.request, NO_RULES, body, members)
        if blob is not None:
            return _with_blob(read, self._blob_path, blob)
        return read if raw is None else msgspec.structs.replace(read, **{raw: body})

    def _body(self, request: HttpRequest) -> bytes:
        """The body without content codings.

        Raises LambdaError, SerializationException, MalformedHttpRequestException.
        """
        try:
            body = plain_body(request)
        except BodyTooLargeError:
            raise self._too_large(self._body_bytes_max) from None
        except ContentEncodingError as error:
            raise MalformedHttpRequestException(str(error)) from None
        self._require_at_most(body, self._body_bytes_max)
        return body

    def _require_at_most(self, body: bytes, bytes_max: int) -> None:
        if len(body) > bytes_max:
            raise self._too_large(bytes_max)

    def _too_large(self, bytes_max: int) -> LambdaError:
        return LambdaError(413, "RequestEntityTooLargeException", request_too_large(self._operation.name, bytes_max))

    def _query_members(self, request: HttpRequest) -> dict[str, Any]:
        """The members in the query. Of a parameter that is repeated, a list takes all values,
        any other member the last.
        """
        members: dict[str, Any] = {}
        for name, text in query_pairs(request.url):
            member = self._operation.wire.query.get(name)
            if member is None:
                continue
            if self._shapes[member].kind == "List":
                members.setdefault(member, []).append(text)
            else:
                members[member] = _as_json_value(text, self._shapes[member])
        return members

    def _header_members(self, request: HttpRequest) -> dict[str, Any]:
        found = {member: request.header(name.encode()) for name, member in self._operation.wire.headers.items()}
        return {
            member: _as_json_value(value.decode("latin-1"), self._shapes[member])
            for member, value in found.items()
            if value is not None
        }


def _decode_members(body: bytes) -> dict[str, Any]:
    """The members of a JSON body. Raises SerializationException, which says what is wrong with it."""
    try:
        return decode_object(body)
    except SerializationException:
        raise SerializationException(NOT_JSON.format(reason=_what_is_wrong(body))) from None


def _what_is_wrong(body: bytes) -> str:
    """Why a body is no JSON object, as the decoder says it. Builds no values."""
    try:
        _read_over(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        return str(error)
    return NOT_UTF8 if body.lstrip().startswith(b"{") else NO_OBJECT


def _as_json_value(text: str, shape: Shape) -> Any:
    """The value of a query parameter or header as in JSON.
    In place of a number, a text that is none stays a text, and is refused later.
    """
    return int(text) if shape.kind in ("Integer", "Long") and _is_number(text) else text


def _blob_path(shape: Shape) -> tuple[str, ...]:
    """The names that lead to the only member of bytes, such as Code, ZipFile; empty if there is none."""
    for name, inner, _ in shape.members:
        if inner.kind == "Blob":
            return (name,)
        path = _blob_path(inner) if inner.kind == "Structure" else ()
        if path:
            return (name, *path)
    return ()


def _with_blob(struct: Any, path: tuple[str, ...], blob: bytes) -> Any:
    """The struct with the bytes in the place of the empty ones at `path`; unchanged if none are there."""
    name, *below = path
    member = getattr(struct, name)
    if below and member is not None:
        return msgspec.structs.replace(struct, **{name: _with_blob(member, tuple(below), blob)})
    return msgspec.structs.replace(struct, **{name: blob}) if member == b"" else struct
