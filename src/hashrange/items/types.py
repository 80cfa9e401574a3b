"""Which types represent items, rows and keys? The types that all packages share.

An item is a dict in wire form, `{"pk": {"S": "a"}}`; stored, it is a row of canonical bytes. Neither is ever mutated.
"""

from typing import Any, NewType

TYPE_NAMES = ("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M")
SET_TYPES = ("SS", "NS", "BS")

Value = dict[str, Any]
"""One attribute value in wire form: exactly one member, named by its type (`{"S": "a"}`, `{"L": [{"N": "1"}]}`).

Numbers are canonical decimal strings, binaries are canonical base64 strings, sets are sorted lists without repeats.
So two values are equal exactly when their dicts are equal.
"""

Item = dict[str, Value]
"""Attribute name → value."""

Row = NewType("Row", bytes)
"""A stored item or index entry, or for a reply a part of one: version byte ‖ 4 bytes DynamoDB item size ‖ canonical
JSON, perhaps packed (`items.row_layout`).
"""

Key = NewType("Key", bytes)
"""A primary key: 8 bytes hash ‖ 2 bytes length ‖ encoded partition key ‖ encoded sort key; sorts as DynamoDB does."""
