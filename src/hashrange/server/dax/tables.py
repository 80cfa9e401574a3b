"""What must a DAX node know of a table? How its keys are written: the key schema, and whether equal keys
may be written in several ways.
"""

from functools import lru_cache

import msgspec

from hashrange.errors import Malformed, ResourceNotFoundException
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations.items import get_item
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Scope
from hashrange.tables.open_table import OpenTable
from hashrange.wire.dax.keys import KeyAttribute, key_bytes, read_key
from hashrange.wire.faults import find_fault

KNOWN_MAX = 1_000


class TableShape:
    """The keys of one table."""

    __slots__ = ("_has_spellings", "name", "schema", "table")

    def __init__(self, table: OpenTable) -> None:
        self.table = table
        self.name = table.schema.name
        self.schema = [KeyAttribute(*one) for one in table.keys.attributes]
        self._has_spellings = "N" in table.keys.partition_types or len(self.schema) > 1

    def key_item(self, raw: bytes) -> Item:
        """The attributes of a key, unchecked. Raises BadBytes."""
        return read_key(self.schema, raw)

    def canonical(self, raw: bytes) -> bytes:
        """The key in the one form that equal keys share.
        Raises BadBytes, and ValidationException for a value that no key may have.
        """
        if not self._has_spellings:
            return raw
        return key_bytes(self.schema, check_item(read_key(self.schema, raw))[0])

    def key_of(self, item: Item) -> bytes:
        """The key of an item with canonical values."""
        return key_bytes(self.schema, item)


class TableShapes:
    """The tables that requests have named."""

    def __init__(self) -> None:
        self.of = lru_cache(KNOWN_MAX)(TableShape)
        """Returns the shape of a table."""

    def find(self, scope: Scope, name: str) -> TableShape:
        """The shape of an active table. Raises ResourceNotFoundException, and ValidationException for
        a name that no table may have.
        """
        try:
            table = find_active_table(scope, name)
        except Malformed:
            body = msgspec.json.encode({"TableName": name, "Key": {"key": {"S": "value"}}})
            find_fault(get_item.OPERATION.request, get_item.OPERATION.wire.rules, body)
            raise
        if table is None:
            raise ResourceNotFoundException(TABLE_NOT_FOUND)
        return self.of(table)
