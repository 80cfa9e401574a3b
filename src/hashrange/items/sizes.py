"""What is the DynamoDB size of an item? Names and values in bytes; size limits of items,
and capacity units, are based on it.

Values must be canonical and valid, hence already checked; `items.values` counts while it checks.
Source: developer guide, item sizes; number sizes as measured in captures to Oct 2026.
"""

from operator import is_

from hashrange.items.numbers import number_size_bytes
from hashrange.items.steps import batches, walk
from hashrange.items.types import Item, Value

CONTAINER_BYTES = 3
"""Bytes of a list or map, without its members."""
MEMBER_BYTES = 1
"""Bytes of each member of a list or map, without its name and value."""


def text_size_bytes(text: str) -> int:
    """Length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode())


def binary_size_bytes(base64: str) -> int:
    """Number of bytes that canonical base64 encodes."""
    return len(base64) // 4 * 3 - base64.count("=", -2)


def item_size_bytes(item: Item) -> int:
    """DynamoDB size of an item: names and values of all attributes, in bytes."""
    size_bytes = 0
    for name, value in walk(item.items()):
        size_bytes += text_size_bytes(name) + value_size_bytes(value)
    return size_bytes


def attribute_size_bytes(name: str, value: Value) -> int:
    """Bytes that one attribute adds to its item's size."""
    return text_size_bytes(name) + value_size_bytes(value)


def value_change_bytes(old: Value, new: Value) -> int:
    """Bytes by which `new` is larger than `old`, negative if smaller.

    Members of a map or list that are the same object in `old` and `new` are not measured;
    of lists of different lengths, those at both ends. An update copies no member that it keeps.
    """
    if old is new:
        return 0
    if "L" in old and "L" in new:
        return _list_change_bytes(old["L"], new["L"])
    if "M" in old and "M" in new:
        return _map_change_bytes(old["M"], new["M"])
    return value_size_bytes(new) - value_size_bytes(old)


def _map_change_bytes(before: Item, after: Item) -> int:
    """Bytes by which the map `after` is larger than `before`."""
    change_bytes = 0
    kept_count = 0
    for name, value in walk(after.items()):
        replaced = before.get(name)
        if replaced is None:
            change_bytes += MEMBER_BYTES + attribute_size_bytes(name, value)
            continue
        kept_count += 1
        if replaced is not value:
            change_bytes += value_change_bytes(replaced, value)
    if kept_count < len(before):
        gone = [(name, value) for name, value in walk(before.items()) if name not in after]
        change_bytes -= sum([MEMBER_BYTES + attribute_size_bytes(name, value) for name, value in gone])
    return change_bytes


def _list_change_bytes(before: list[Value], after: list[Value]) -> int:
    """Bytes by which the list `after` is larger than `before`. 10 to 20 ns for each member that both have."""
    if len(before) == len(after):
        change_bytes = 0
        for old, new in zip(batches(before), batches(after), strict=True):
            if not all(map(is_, old, new)):
                change_bytes += sum([value_change_bytes(a, b) for a, b in zip(old, new, strict=True)])
        return change_bytes
    most = min(len(before), len(after))
    first = _count_same(before[:most], after)
    last = _count_same(before[first - most :][::-1], after[::-1]) if first < most else 0
    replaced, added = before[first : len(before) - last], after[first : len(after) - last]
    return value_size_bytes({"L": added}) - value_size_bytes({"L": replaced})


def _count_same(before: list[Value], after: list[Value]) -> int:
    """The number of first members that are the same objects in both lists; `before` is the shorter one."""
    count = 0
    for old, new in zip(batches(before), batches(after), strict=False):
        same = list(map(is_, old, new))
        if not all(same):
            return count + same.index(False)
        count += len(same)
    return count


def value_size_bytes(value: Value) -> int:
    """Bytes of one value, without its name."""
    if "S" in value:
        text = value["S"]
        return len(text) if text.isascii() else len(text.encode())
    if "N" in value:
        return number_size_bytes(value["N"])
    ((type_name, content),) = value.items()
    match type_name:
        case "B":
            return binary_size_bytes(content)
        case "BOOL" | "NULL":
            return 1
        case "M":
            return CONTAINER_BYTES + MEMBER_BYTES * len(content) + item_size_bytes(content)
        case "L":
            return CONTAINER_BYTES + sum([MEMBER_BYTES + value_size_bytes(element) for element in walk(content)])
        case "SS":
            return sum([text_size_bytes(member) for member in walk(content)])
        case "NS":
            return sum([number_size_bytes(member) for member in walk(content)])
        case "BS":
            return sum([binary_size_bytes(member) for member in walk(content)])
    raise AssertionError(type_name)
