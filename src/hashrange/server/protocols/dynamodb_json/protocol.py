"""How does a request of DynamoDB's JSON protocol become a call? JSON 1.0: a target, a signature, a body.

Fast path: target → access → typed decode → a call for the service. On any fault the slow path reads the request again
and finds the *first* fault in the service's order of checks: HTTP shape, JSON, target, signature, JSON types,
constraints. If an operation raises `Malformed` or ValidationException, the slow path runs too, and an earlier fault
replaces the exception (`call.py`).
Source: errors.md section 2.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    Abandoned,
    AccessDeniedException,
    ApiError,
    RequestEntityTooLargeException,
    SerializationException,
    UnknownOperationException,
    ValidationException,
)
from hashrange.items.steps import spend_decoding
from hashrange.limits import BODY_BYTES_MAX
from hashrange.messages.http import BODY_OVER_LIMIT
from hashrange.operations.meter import NOTHING_USED
from hashrange.operations.operation import JsonWire
from hashrange.server.access import Access
from hashrange.server.incoming import Respond
from hashrange.server.protocols.dynamodb_json.call import SURELY_QUICK_BYTES, JsonCall, fail
from hashrange.server.protocols.dynamodb_json.pieces import decoder_in_pieces
from hashrange.server.protocols.dynamodb_json.writing import error_body
from hashrange.server.protocols.plain import answer_plainly
from hashrange.server.protocols.unserved.services import ServiceRefusal
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.wire.body_members import decode_large, excess_of_members, is_surely_unusual, require_utf8
from hashrange.wire.chunked_payload import MARKERS, ChunksError, join_chunks
from hashrange.wire.content_codings import BodyTooLargeError, ContentEncodingError, decode_body
from hashrange.wire.faults import check_object, decode_object, read_slowly
from hashrange.wire.http import CONTENT_TYPES, HASH_LENGTH, HttpRequest, is_json_content_type

READ_OVER_BYTES_MAX = 4 * 1024 * 1024
"""Longest body with too many members that is still checked to be JSON: 16 MB of brackets take 70 ms to read over."""
SIGNING_NAME = "dynamodb"
"""Service name that clients sign for; DynamoDB Streams has the same."""


class DynamoDBJson(WireProtocol):
    """The JSON protocol of DynamoDB and DynamoDB Streams."""

    def __init__(
        self,
        operations: Mapping[str, Operation[JsonWire]],
        access: Access,
        hint_other_service: Callable[[HttpRequest], None],
        make_call: type[JsonCall] = JsonCall,
    ) -> None:
        self.guard = Guard(checks_signatures=True, is_open_to_pages=True, refuse=self._refuse)
        self.make_call = make_call
        self._count_refused = access.count_refused
        self._hint_other_service = hint_other_service
        self.authorize = access.authorize
        self._named = {
            f"{operation.wire.service}.{operation.name}".encode(): _Target(operation, self)
            for operation in operations.values()
        }
        self.targets = {name: target.prepare for name, target in self._named.items()}
        self.closed_targets = {name for name, target in self._named.items() if target.operation.wire.reaches_out}
        self.quick_targets = {
            name: not target.operation.writes for name, target in self._named.items() if target.operation.wire.is_quick
        }

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is a POST of JSON."""
        return request.method == b"POST" and is_json_content_type(request.header(b"content-type"))

    def prepare(self, request: HttpRequest, respond: Respond) -> JsonCall | None:
        """Slow path: answer with the first fault in the service's order and return None, or return a faultless call.

        A request that is no POST of JSON is answered as by `Plain`.
        """
        if not self.claims(request):
            answer_plainly(request, respond)
            return None
        operation: Operation[JsonWire] | None = None
        too_many: str | None = None
        try:
            body = _json_body(request)
            is_large = len(body) > SURELY_QUICK_BYTES
            if not is_large:
                decoded = decode_object(body)
            else:
                too_many = excess_of_members(body)
                if too_many is None or len(body) <= READ_OVER_BYTES_MAX:
                    check_object(body)
            target = self._named.get(request.header(b"x-amz-target") or b"")
            if target is None:
                raise UnknownOperationException
            operation = target.operation
            scope = self.authorize(request, SIGNING_NAME)
            parsed: Any
            if too_many is not None:
                parsed = target.decode_elements(body, too_many)
            else:
                parsed = read_slowly(operation.request, operation.wire.rules, body, None if is_large else decoded)
            return self.make_call(scope, operation, parsed, NOTHING_USED, 0, True, request, respond, is_large)
        except ApiError as error:
            self._hint_other_service(request)
            self._count_refused(request, error)
            respond(error.http_status, error_body(error, operation.wire.wording if operation is not None else "bare"))
        except Exception as error:  # noqa: BLE001 - any other error is internal
            fail(request, respond, error)
        return None

    def _refuse(self, request: HttpRequest, respond: Respond, refusal: ServiceRefusal) -> None:
        error = AccessDeniedException(refusal.message)
        self._count_refused(request, error)
        respond(error.http_status, error_body(error, "bare"))


class _Target:
    """Fast path for the requests of one operation."""

    __slots__ = ("_authorize", "_decode", "_decode_large", "_make_call", "_prepare_slowly", "operation")

    def __init__(self, operation: Operation[JsonWire], protocol: DynamoDBJson) -> None:
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(operation.request)
        self.operation = operation
        self._authorize = protocol.authorize
        self._make_call = protocol.make_call
        self._prepare_slowly = protocol.prepare
        self._decode = decoder.decode
        self._decode_large = (
            partial(decode_large, decoder=decoder)
            if operation.wire.element_type is None
            else decoder_in_pieces(operation.request, operation.wire.element_type)
        )

    def prepare(self, request: HttpRequest, respond: Respond) -> JsonCall | None:
        """Fast path: authenticate and decode a request into a call. Unusual requests and faults take the slow path."""
        layout = request.layout
        values = request.values
        if (
            not (layout.is_plain or (layout.is_hashed and len(values[layout.content_sha256] or b"") == HASH_LENGTH))
            or not request.is_root_post
            or values[layout.content_type] not in CONTENT_TYPES
        ):
            return self._prepare_slowly(request, respond)
        body = request.body
        try:
            if len(body) > SURELY_QUICK_BYTES:
                return self._prepare_large(request, respond)
            if not body.isascii():
                require_utf8(body)
            scope = self._authorize(request, SIGNING_NAME)
            return self._make_call(scope, self.operation, self._decode(body), NOTHING_USED, 0, False, request, respond)
        except Abandoned as error:
            fail(request, respond, error)
            return None
        except Exception:  # noqa: BLE001 - the slow path words every error
            return self._prepare_slowly(request, respond)

    def decode_elements(self, body: bytes, too_many: str) -> Any:
        """Decode a batch or transaction that has too many members in all, but not in any one of its elements.

        Raises ValidationException with the message `too_many` for any other body.
        """
        if self.operation.wire.element_type is not None:
            spend_decoding(len(body))
            with suppress(msgspec.MsgspecError, ValueError, ValidationException):
                require_utf8(body)
                return self._decode_large(body)
        raise ValidationException(too_many)

    def _prepare_large(self, request: HttpRequest, respond: Respond) -> JsonCall | None:
        """Authenticate and decode a request with a large body; unusual bodies take the slow path.

        A fault raises an exception, after which `prepare` takes the slow path too.
        """
        body = request.body
        operation = self.operation
        spend_decoding(len(body))
        require_utf8(body)
        scope = self._authorize(request, SIGNING_NAME)
        if operation.wire.element_type is None and is_surely_unusual(body, carries_items=operation.writes):
            return self._prepare_slowly(request, respond)  # a fault is likely: avoid decoding the body twice
        return self._make_call(
            scope, operation, self._decode_large(body), NOTHING_USED, 0, False, request, respond, True
        )


def _json_body(request: HttpRequest) -> bytes:
    """The body without content codings and chunks. Raises SerializationException and RequestEntityTooLargeException."""
    try:
        return plain_body(request)
    except ContentEncodingError:
        raise SerializationException from None
    except BodyTooLargeError:
        raise RequestEntityTooLargeException(BODY_OVER_LIMIT.format(most=BODY_BYTES_MAX)) from None


def plain_body(request: HttpRequest) -> bytes:
    """Return the body without content codings and chunks.

    Raises ContentEncodingError, BodyTooLargeError, and SerializationException for invalid chunks.
    """
    body = request.body
    encoding = request.header(b"content-encoding") or b""
    if b"aws-chunked" in encoding or request.header(b"x-amz-content-sha256") in MARKERS:
        try:
            body = join_chunks(body)
        except ChunksError:
            raise SerializationException from None
    return decode_body(body, encoding) if encoding else body
