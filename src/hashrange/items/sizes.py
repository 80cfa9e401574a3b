"""How many bytes does a canonical item count? Every DynamoDB limit and capacity unit rests on this figure.

Values are canonical and sound here (`items.values` counts while it checks; this is for items that are known already).
Source: developer guide, item sizes; number sizes as measured in captures to Oct 2026.
"""

from hashrange.items.numbers import number_size_bytes
from hashrange.items.types import Item, Value

CONTAINER_BYTES = 3
"""A list or map, besides its members."""
MEMBER_BYTES = 1
"""Each member of a list or map, besides its name and value."""


def text_size_bytes(text: str) -> int:
    """Length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def binary_size_bytes(base64: str) -> int:
    """Length of the bytes behind canonical base64."""
    return len(base64) // 4 * 3 - base64.count("=", -2)


def item_size_bytes(item: Item) -> int:
    """Names and values of all attributes."""
    size_bytes = 0
    for name, value in item.items():
        size_bytes += text_size_bytes(name) + value_size_bytes(value)
    return size_bytes


def attribute_size_bytes(name: str, value: Value) -> int:
    """What one attribute adds to its item."""
    return text_size_bytes(name) + value_size_bytes(value)


def value_size_bytes(value: Value) -> int:
    """One value without its name."""
    ((type_name, content),) = value.items()
    match type_name:
        case "S":
            return text_size_bytes(content)
        case "N":
            return number_size_bytes(content)
        case "B":
            return binary_size_bytes(content)
        case "BOOL" | "NULL":
            return 1
        case "M":
            return CONTAINER_BYTES + MEMBER_BYTES * len(content) + item_size_bytes(content)
        case "L":
            return CONTAINER_BYTES + sum([MEMBER_BYTES + value_size_bytes(element) for element in content])
        case "SS":
            return sum([text_size_bytes(member) for member in content])
        case "NS":
            return sum([number_size_bytes(member) for member in content])
        case "BS":
            return sum([binary_size_bytes(member) for member in content])
    raise AssertionError(type_name)
