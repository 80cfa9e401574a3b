"""What is the first fault of a request? The slow path checks its body in the service's order: after a refusal,
or if the fast path does not take the request.

1. The body is JSON, and an object. Lists and maps that are too long are cut (`cut_overlong`).
2. Every known member has its declared JSON type (`wire.jsontypes`).
3. The member that the operation's rules put first is present, if required; a table's name is of an allowed length.
4. Members keep their constraints; all violations are reported in one message (`wire.constraints`).

Requests of the search endpoint are read by a strict decoder instead (`wire.strict_json`), before step 4.

All checks are read from the request's struct (`wire.shape`) and the operation's rules (`wire.rules`).
Must not know what an operation does. Source: service behaviour, captures to October 2026.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.errors import SerializationException, ValidationException
from hashrange.items.steps import TOGETHER_MEMBERS, look, spend, spend_decoding, walk
from hashrange.limits import MEMBERS_INSPECTED_MAX, STRINGS_KEPT_MIN, TABLE_NAME_LENGTH_MAX, TABLE_NAME_LENGTH_MIN
from hashrange.messages import requests as messages
from hashrange.wire.body_members import has_long_numbers, has_many_members, require_utf8
from hashrange.wire.constraints import check_constraints
from hashrange.wire.fallback import is_converted
from hashrange.wire.jsontypes import normalise
from hashrange.wire.piecewise import decode_in_pieces, empty, free, free_unshared
from hashrange.wire.python_json import decode_python_json
from hashrange.wire.rules import RequestRules
from hashrange.wire.shape import Shape, structure_of
from hashrange.wire.strict_json import require_strictly
from hashrange.wire.wide_maps import convert_in_pieces

RequestT = TypeVar("RequestT", bound=msgspec.Struct)

TABLE_OF_ARN = ":table/"
_LARGEST_DIGITS = 400
_LARGEST: int = 10**_LARGEST_DIGITS
"""Replaces whole numbers of more than 400 characters, whose reading time grows with the square of their digits. No
member may be as large."""


def read_slowly(
    request_type: type[RequestT], rules: RequestRules, body: bytes, decoded: dict[str, Any] | None = None
) -> RequestT:
    """Read a request leniently: nulls and unknown members are left out, truth values and numbers converted; or
    strictly, if the rules say so.

    `decoded`: the body as plain values, which are changed; None: they are decoded here. Raises the first fault:
    SerializationException, or ValidationException with its complete message (add no prefix). Called when the fast
    decoder refused the body (`msgspec.MsgspecError`, `UnicodeDecodeError`, `RecursionError`), when an operation raised
    Malformed, and for requests that the fast path does not take. Costs 12 µs for a small PutItem.
    """
    if decoded is None:
        decoded = decode_object(body)
    try:
        request = _checked(request_type, rules, body, decoded)
        look()
        made = convert_in_pieces(request, request_type)
    except Exception:
        free(decoded)
        raise
    free_unshared(decoded, request)
    return made


def find_fault(request_type: type[msgspec.Struct], rules: RequestRules, body: bytes) -> bool:
    """Raise the first fault, if there is one, as `read_slowly` does, without building the request.

    Returns True if the request was converted so that the older layer words the operation's fault (`wire.fallback`).
    Called when an operation raised ValidationException, perhaps before it had walked the insides of the request's
    attribute values: a fault found here precedes the operation's.
    """
    decoded = decode_object(body)
    try:
        request = _checked(request_type, rules, body, decoded)
        look()
        was_converted = is_converted(rules, decoded, request)
        free(request)
    finally:
        free(decoded)
    return was_converted


def _checked(
    request_type: type[msgspec.Struct], rules: RequestRules, body: bytes, decoded: dict[str, Any]
) -> dict[str, Any]:
    """Check a body, whose plain values `decoded` are changed, and return the members that the struct declares.
    Raises the first fault.
    """
    shape = structure_of(request_type)
    if rules.is_strict:
        require_strictly(body, shape)
        given = {one.name: value for one in shape.members if (value := decoded.get(one.name)) is not None}
        check_constraints(given, shape, rules)
        return given
    look()
    cut_overlong(decoded, shape)
    request: dict[str, Any] = normalise(decoded, shape)
    try:
        _check_required(request, rules)
        check_constraints(request, shape, rules, lambda: is_converted(rules, decoded, request))
    except ValidationException:
        free(request)
        raise
    return request


def decode_object(body: bytes) -> dict[str, Any]:
    """Decode a body to plain values. Raises SerializationException without a message if it is no JSON object.

    Numbers beyond the decoder's range are well-formed: they become infinite floats, or integers of up to 401 digits.
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
    return decode_python_json(body.decode(), parse_int=_whole_number, parse_constant=_refuse_constant)


def check_object(body: bytes) -> None:
    """Raise SerializationException unless a body is a JSON object. Builds no values: 4 to 30 ms for 16 MB.

    For large bodies whose signature is not checked yet. `decode_object` may still refuse a body that passes this check.
    """
    try:
        require_utf8(body)
        look()
        _read_over(body)
        look()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise SerializationException from None


class _Nothing(msgspec.Struct):
    """A JSON object whose members are all skipped."""


_read_over = msgspec.json.Decoder(_Nothing).decode


def _whole_number(text: str) -> int:
    if len(text) <= _LARGEST_DIGITS:
        return int(text)
    return -_LARGEST if text.startswith("-") else _LARGEST


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON. Raises ValueError."""
    raise ValueError(name)


def _check_required(request: dict[str, Any], rules: RequestRules) -> None:
    """Raise ValidationException for a fault of the member that is checked before all constraints (`rules.required`).

    In an ARN, the length of all that follows `:table/` counts.
    """
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


# --- lists and maps that are far too long -------------------------------------------------------


def cut_overlong(value: Any, shape: Shape, left: int = MEMBERS_INSPECTED_MAX) -> int:
    """Cut lists and maps that are too long, in place. Values of wrong types are not changed.

    JSON types are checked before constraints, member by member: for a list of 16 MB, a hundred times as long as
    allowed, this check would take seconds. So, if a request has more than MEMBERS_INSPECTED_MAX members, a list or map
    that is too long is cut before its first member is inspected. The list or map is still too long then, so the request
    is refused; faults of the members cut off are not reported (unconfirmed).
    `left`: members that may still be inspected in the whole request; returns this number less the members kept here. A
    list or map that is too long is cut only once `left` is used up, and keeps at least one member more than allowed.
    """
    if not shape.is_cuttable:
        return left
    match shape.kind:
        case "Structure" if isinstance(value, dict):
            for name, inner, _ in shape.members:
                if name in value:
                    left = cut_overlong(value[name], inner, left)
        case "List" if isinstance(value, list):
            kept, left = _cut_inside(walk(value), shape, left)
            _free(value, kept)
        case "Map" if isinstance(value, dict):
            # Nulls are not counted: `normalise` leaves them out, so they do not make the map too long.
            kept, left = _cut_inside((element for element in walk(value.values()) if element is not None), shape, left)
            if kept < len(value):
                members = dict(islice(((key, element) for key, element in value.items() if element is not None), kept))
                empty(value)
                value.update(members)
    return left


def _free(value: list[Any], kept: int) -> None:
    """Delete all but the first `kept` members, piece by piece: freeing 300,000 maps at once takes 20 ms."""
    while len(value) > kept:
        spend(TOGETHER_MEMBERS >> 3)
        del value[max(kept, len(value) - TOGETHER_MEMBERS) :]


def _cut_inside(elements: Iterable[Any], shape: Shape, left: int) -> tuple[int, int]:
    """Count the elements of a list or map that are to be kept, and cut the lists and maps inside them.

    Returns this number, and `left`, the members that may still be inspected in the whole request, less those kept.
    """
    member, length_max = shape.element, shape.length_max
    kept_min = length_max
    if length_max is not None and member.kind == "String":
        kept_min = max(length_max, STRINGS_KEPT_MIN)
    kept = 0
    for element in elements:
        if kept_min is not None and kept > kept_min and left <= 0:
            break
        kept += 1
        left = cut_overlong(element, member, left - 1) if member.is_cuttable else left - 1
    return kept, left
