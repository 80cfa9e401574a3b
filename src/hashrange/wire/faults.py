"""What is the first fault of a request? The slow path, in the service's order of checks.

1. The body is JSON, and an object. Lists and maps that are too long are cut (`wire.overlong`).
2. Every known member has its declared JSON type (`wire.jsontypes`).
3. What the operation's rules ask for first: mostly that the table's name is there and has a possible length.
4. Member constraints, collected (`wire.constraints`).

Everything is read from the request's struct (`wire.shape`) and the operation's rules (`wire.rules`). Must not know what an operation does.
Source: service behaviour, captures to October 2026.
"""

import json
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.errors import SerializationException, ValidationException
from hashrange.items.steps import look, spend_decoding
from hashrange.limits import TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN
from hashrange.messages import requests as messages
from hashrange.wire.body_members import has_long_numbers, has_many_members
from hashrange.wire.constraints import check_constraints
from hashrange.wire.jsontypes import normalise
from hashrange.wire.overlong import cut_overlong
from hashrange.wire.piecewise import decode_in_pieces, free
from hashrange.wire.rules import RequestRules
from hashrange.wire.shape import structure_of
from hashrange.wire.utf8 import require_utf8

RequestT = TypeVar("RequestT", bound=msgspec.Struct)

TABLE_OF_ARN = ":table/"
_LARGEST_DIGITS = 400
_LARGEST: int = 10**_LARGEST_DIGITS
"""What longer whole numbers are taken for: no member holds nearly as many, and the time to read one grows with the square of its digits."""


def explain_object(request_type: type[RequestT], rules: RequestRules, decoded: dict[str, Any]) -> RequestT:
    """The request, leniently read: no nulls, no unknown members, converted truth values and numbers; uses up what is decoded.

    Raises the first fault: SerializationException, or ValidationException with its complete message (no envelope is to
    be added). To be called when the fast decoder refused (`msgspec.MsgspecError`, `UnicodeDecodeError`,
    `RecursionError`), and when an operation raised Malformed. Costs 12 µs for a small PutItem; never on the path of a good
    request.
    """
    try:
        request = _checked(request_type, rules, decoded)
        look()
        return msgspec.convert(request, request_type)
    except Exception:
        free(decoded)
        raise


def find_fault(request_type: type[msgspec.Struct], rules: RequestRules, body: bytes) -> None:
    """Raise the first fault, if there is one, as `explain_object` does; no request is made.

    To be called when an operation refused although the insides of its attribute values had not been walked yet: what is found
    here comes first.
    """
    decoded = decode_object(body)
    try:
        request = _checked(request_type, rules, decoded)
        look()
        free(request)
    finally:
        free(decoded)


def _checked(request_type: type[msgspec.Struct], rules: RequestRules, decoded: dict[str, Any]) -> dict[str, Any]:
    """The members of a request without faults."""
    shape = structure_of(request_type)
    look()
    cut_overlong(decoded, shape)
    request: dict[str, Any] = normalise(decoded, shape)
    try:
        _check_required(request, rules)
        check_constraints(request, shape, rules)
    except ValidationException:
        free(request)
        raise
    return request


def decode_object(body: bytes) -> dict[str, Any]:
    """The body as plain values; raises SerializationException without a message when it is no JSON object.

    Numbers beyond the decoder's range are well-formed: they become infinite, or long integers.
    """
    decode = _decode_any_numbers if has_long_numbers(body) else _decode_quickly
    spend_decoding(len(body))
    try:
        decoded = decode_in_pieces(body, decode) if has_many_members(body) else decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise SerializationException from None
    if not isinstance(decoded, dict):
        raise SerializationException
    return decoded


def _decode_quickly(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.ValidationError:
        return _decode_any_numbers(body)


def _decode_any_numbers(body: bytes) -> Any:
    return json.loads(body.decode(), parse_int=_whole_number, parse_constant=_refuse_constant)


def check_object(body: bytes) -> None:
    """Is the body a JSON object? Read over without making anything of it: 4 ms for 16 MB.

    For what no signature vouches for yet. What it lets pass, `decode_object` may still refuse. Raises SerializationException.
    """
    try:
        require_utf8(body)
        look()
        _read_over(body)
        look()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise SerializationException from None


class _Nothing(msgspec.Struct):
    """An object of which nothing is wanted."""


_read_over = msgspec.json.Decoder(_Nothing).decode


def _whole_number(text: str) -> int:
    if len(text) <= _LARGEST_DIGITS:
        return int(text)
    return -_LARGEST if text.startswith("-") else _LARGEST


def _refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity are not JSON."""
    raise ValueError(name)


def _check_required(request: dict[str, Any], rules: RequestRules) -> None:
    """Step 3: the member that is asked for before and outside the collected constraints. Of an ARN, its last name counts."""
    required = rules.required
    if required is None:
        return
    name = request.get(required.name)
    if name is None:
        if required.sentence is None:
            return
        raise ValidationException(required.sentence)
    if not required.is_table_name:
        return
    is_arn = name.startswith("arn:")
    if is_arn and TABLE_OF_ARN not in name:
        return
    length = len(name.rpartition(TABLE_OF_ARN)[2]) if is_arn else len(name)
    is_too_short = length < TABLE_NAME_LENGTH_MIN and (is_arn or not required.collects_short_names)
    if is_too_short or length > TABLE_NAME_LENGTH_MAX:
        raise ValidationException(messages.TABLE_NAME_LENGTH)
