"""How do commands and tools show attribute values?
As plain JSON, which people and models read and write easily, and back without a loss.

Strings, numbers, booleans, null, lists and maps are JSON's own. What JSON lacks is an object with one key:
`{"$number": "…"}` for a number that a double cannot hold, `{"$binary": "base64"}`, `{"$set": […]}`, and `{"$map": {…}}`
for a map whose only key begins with a dollar sign.
"""

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from hashrange.errors import HashrangeError

EXACT_INTEGER_MAX = 2**53


class PlainValueWrong(HashrangeError):
    """A plain value is no attribute value; the message says why."""


def plain_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as plain JSON. `item` is in DynamoDB's JSON."""
    return {name: plain_value(value) for name, value in item.items()}


def plain_value(value: Mapping[str, Any]) -> Any:
    """One attribute value as plain JSON."""
    ((kind, content),) = value.items()
    if kind in {"S", "BOOL"}:
        return content
    if kind == "NULL":
        return None
    if kind == "N":
        return _plain_number(content)
    if kind == "B":
        return {"$binary": content}
    if kind == "L":
        return [plain_value(one) for one in content]
    if kind == "M":
        whole = plain_item(content)
        return {"$map": whole} if len(whole) == 1 and next(iter(whole)).startswith("$") else whole
    return {"$set": [plain_value({kind[0]: one}) for one in content]}


def _plain_number(text: str) -> Any:
    number = Decimal(text)
    if number == number.to_integral_value():
        return int(number) if abs(number) <= EXACT_INTEGER_MAX else {"$number": text}
    double = float(text)
    return double if math.isfinite(double) and Decimal(repr(double)) == number else {"$number": text}


def typed_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item in DynamoDB's JSON. Raises PlainValueWrong."""
    return {name: typed_value(value) for name, value in item.items()}


def typed_value(value: Any) -> dict[str, Any]:
    """One attribute value in DynamoDB's JSON. Raises PlainValueWrong."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | float | Decimal):
        if not math.isfinite(value):
            raise PlainValueWrong(f"{value} is no number of DynamoDB.")
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [typed_value(one) for one in value]}
    if not isinstance(value, dict):
        raise PlainValueWrong(f"a value of the type {type(value).__name__} is no attribute value.")
    if len(value) == 1 and next(iter(value)).startswith("$"):
        return _marked(*next(iter(value.items())))
    return {"M": typed_item(value)}


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _marked(mark: str, content: Any) -> dict[str, Any]:
    """The value of an object with one key that begins with a dollar sign."""
    if mark == "$map" and isinstance(content, dict):
        return {"M": typed_item(content)}
    if mark == "$binary" and isinstance(content, str):
        return {"B": content}
    if mark == "$number" and isinstance(content, str):
        if not _is_number(content):
            raise PlainValueWrong(f'{{"$number": "{content}"}} is no number.')
        return {"N": content}
    if mark == "$set" and isinstance(content, list) and content:
        members = [typed_value(one) for one in content]
        kinds = {kind for member in members for kind in member}
        if len(kinds) == 1 and kinds <= {"S", "N", "B"}:
            (kind,) = kinds
            return {f"{kind}S": [member[kind] for member in members]}
        raise PlainValueWrong("the members of a set are all strings, all numbers or all binary values.")
    known = '{"$number": "1.5"}, {"$binary": "base64"}, {"$set": [1, 2]} and {"$map": {…}}'
    raise PlainValueWrong(f"an object whose only key is {mark} must be one of {known}.")
