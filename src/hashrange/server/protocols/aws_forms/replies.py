"""How does the reply of an operation look in each form?
Members or an error → status, body, content type and header lines.

Source: operations.md 8; the protocols awsJson1_0, awsJson1_1, awsQuery and rpcv2Cbor of Smithy.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape

import msgspec

from hashrange.aws_services.operation import ErrorShape, ServiceApi, ServiceError
from hashrange.errors import ApiError
from hashrange.items.growing_bytes import PacedBytes
from hashrange.items.steps import PIECE_MEMBERS, batches, walk
from hashrange.messages.aws_forms import SERVICE_FAILED
from hashrange.messages.http import shown_message
from hashrange.server.protocols.http_call import WrittenReply, log_failure

Form = Literal["json", "cbor", "query"]
COMMON_ERRORS = {
    "RequestEntityTooLarge": ErrorShape(413, "RequestEntityTooLarge"),
    "ThrottlingException": ErrorShape(400, "Throttling"),
}
"""Errors that no service's model has, and that have another status than 400, or another code in the Query
form. Source: reports of users."""
_encode = msgspec.json.Encoder().encode
_no_character = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Finds what XML 1.0 cannot have, not even escaped. A carriage return it can have only escaped:
else it is read as a line feed."""


class WireForm(NamedTuple):
    """The form of one request, which its reply has too."""

    form: Form
    api: ServiceApi
    operation: str
    """Name of the operation, which need not exist."""
    request_id: str
    is_query_mode: bool = False
    """True if a client that speaks JSON asks for the error codes of the Query form."""

    def reply(self, outcome: Mapping[str, Any] | None) -> WrittenReply:
        """The reply with these members; None: with none. May give way, because it may have 100,800 datapoints."""
        if self.form == "json":
            body = PacedBytes()
            _write_json(body, _present(outcome or {}, _json_value))
            return WrittenReply(200, body.getvalue(), _json_type(self.api))
        present = present_members(outcome)
        if self.form == "cbor":
            return _cbor(200, present)
        metadata = {"RequestId": self.request_id}
        outer = {f"{self.operation}Result": present, "ResponseMetadata": metadata}
        return _xml(200, self, f"{self.operation}Response", outer)

    def error(self, error: ApiError) -> WrittenReply:
        """The reply with an error; without a body if the library of the form is missing."""
        try:
            return _form_error(self, error)
        except Exception as mistake:  # noqa: BLE001 - whatever it is, the request gets an answer
            log_failure(self.request_id, mistake)
            return WrittenReply(500, b"")

    def internal_error(self) -> ApiError:
        """The service's error that says that it has failed."""
        return ServiceError(self.api.internal_error, SERVICE_FAILED)


def present_members(members: Mapping[str, Any] | None) -> dict[str, Any]:
    """The members of a reply that have a value."""
    found: dict[str, Any] = _present(members or {}, lambda value: value)
    return found


def _form_error(wire: WireForm, error: ApiError) -> WrittenReply:
    shape = wire.api.errors.get(error.code) or COMMON_ERRORS.get(error.code, ErrorShape(400, error.code))
    message = shown_message(error.message or "")
    members = {"__type": error.code, "message": message, **error.members}
    fault = "Sender" if shape.status < 500 else "Receiver"
    if wire.form == "json":
        members["Message"] = message
        lines = f"x-amzn-query-error: {shape.query_code};{fault}\r\n" if wire.is_query_mode else ""
        return WrittenReply(shape.status, json.dumps(members).encode(), _json_type(wire.api), lines.encode("latin-1"))
    if wire.form == "cbor":
        lines = f"x-amzn-query-error: {shape.query_code};{fault}\r\n"
        return _cbor(shape.status, members, lines.encode("latin-1"))
    inner = {"Type": fault, "Code": shape.query_code, "Message": message, **error.members}
    return _xml(shape.status, wire, "ErrorResponse", {"Error": inner, "RequestId": wire.request_id})


def _json_type(api: ServiceApi) -> bytes:
    return b"application/x-amz-json-" + api.json_version.encode()


def _present(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node without members that are None, and with each value changed."""
    if isinstance(node, Mapping):
        return {name: _present(value, change) for name, value in node.items() if value is not None}
    if isinstance(node, list | tuple):
        return [_present(one, change) for one in walk(node)]
    return change(node)


def _json_value(value: Any) -> Any:
    """A value as JSON has it: times are seconds since 1970."""
    if isinstance(value, datetime):
        return _utc(value).timestamp()
    assert not isinstance(value, float) or math.isfinite(value), "JSON has finite numbers only"
    return value


def _utc(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


# --- JSON --------------------------------------------------------------------------------------------


def _write_json(body: PacedBytes, node: Any) -> None:
    """Write a value, member by member. A long list of texts or numbers is written some at a time."""
    if not isinstance(node, dict | list) or not node:
        body.write(_encode(node))
        return
    if isinstance(node, list) and len(node) > PIECE_MEMBERS and not isinstance(node[0], dict):
        node = [msgspec.Raw(_encode(some)[1:-1]) for some in batches(node, PIECE_MEMBERS)]
    before, end = (b"{", b"}") if isinstance(node, dict) else (b"[", b"]")
    for one in node:
        body.write(before if end == b"]" else before + _encode(one) + b":")
        _write_json(body, one if end == b"]" else node[one])
        before = b","
    body.write(end)


# --- CBOR --------------------------------------------------------------------------------------------


def _cbor(status: int, members: Mapping[str, Any], lines: bytes = b"") -> WrittenReply:
    # Imported here: most servers are never asked in this form, and start time counts.
    import cbor2  # noqa: PLC0415

    body = PacedBytes()
    cbor2.CBOREncoder(body, datetime_as_timestamp=True, timezone=UTC).encode(members)
    return WrittenReply(status, body.getvalue(), b"application/cbor", b"smithy-protocol: rpc-v2-cbor\r\n" + lines)


# --- XML ---------------------------------------------------------------------------------------------


def _xml(status: int, wire: WireForm, name: str, members: Mapping[str, Any]) -> WrittenReply:
    body = PacedBytes()
    body.write(f'<{name} xmlns="{wire.api.xml_namespace}">'.encode())
    for text in _elements(members.items(), wire.api.map_members):
        body.write(text.encode())
    body.write(f"</{name}>".encode())
    return WrittenReply(status, body.getvalue(), b"text/xml")


def _elements(members: Iterable[tuple[str, Any]], maps: frozenset[str]) -> Iterator[str]:
    """The XML of some elements, in pieces."""
    for name, value in members:
        if isinstance(value, dict):
            entries = [("entry", {"key": key, "value": one}) for key, one in value.items()]
            inner: Iterable[tuple[str, Any]] = entries if name in maps else value.items()
        elif isinstance(value, list):
            inner = zip(repeat("member"), value, strict=False)
        else:
            yield f"<{name}>{_text(value)}</{name}>"
            continue
        yield f"<{name}>"
        yield from _elements(inner, maps)
        yield f"</{name}>"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _utc(value).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, float):
        return repr(value)
    return escape(_no_character.sub("\ufffd", str(value)), {"\r": "&#13;"})
