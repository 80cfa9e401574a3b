"""How large is an item that boto3 has read, as DynamoDB counts? And how large is its entry in an index?

boto3 has binary values as bytes, which requests have as base64; all else is counted where the server counts it too.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.items.sizes import CONTAINER_BYTES, MEMBER_BYTES, text_size_bytes, value_size_bytes

FoundItem = Mapping[str, Mapping[str, Any]]
"""Attributes of an item, as clients of boto3 return them."""


def read_item_bytes(item: FoundItem) -> int:
    """The size of an item: names and values."""
    return sum(text_size_bytes(name) + _value_bytes(value) for name, value in item.items())


def projected_bytes(item: FoundItem, table_keys: list[str], index: Mapping[str, Any]) -> int | None:
    """The size of an item's entry in an index; None if the item has none. `index`: its part of DescribeTable."""
    keys = [one["AttributeName"] for one in index["KeySchema"]]
    if not all(key in item for key in keys):
        return None
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return read_item_bytes(item)
    wanted = {*table_keys, *keys, *projection.get("NonKeyAttributes", ())}
    return read_item_bytes({name: value for name, value in item.items() if name in wanted})


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return len(content)
        case "BS":
            return sum(map(len, content))
        case "M":
            return CONTAINER_BYTES + MEMBER_BYTES * len(content) + read_item_bytes(content)
        case "L":
            return CONTAINER_BYTES + sum(MEMBER_BYTES + _value_bytes(one) for one in content)
    return value_size_bytes({kind: content})
