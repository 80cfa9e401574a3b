"""What does a tool show of a page of items? So many that a model can read them,
how many there are, and how to go on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.plain_items import plain_item

ITEMS_BYTES_MAX = 100_000
"""Length of the items that one reply shows, as JSON; at least one item is shown."""


def shown_items(asking: AskedServer, table: str, index: str | None, reply: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a tool's reply for a page of Query or Scan. Raises RemoteError."""
    items: list[Mapping[str, Any]] = reply["Items"]
    shown = count_shown(items)
    after = reply.get("LastEvaluatedKey")
    if shown < len(items):
        after = _key_of(asking, table, index, items[shown - 1])
    page: dict[str, Any] = {
        "items": [plain_item(item) for item in items[:shown]],
        "items_read": reply["ScannedCount"],
        "consumed_read_units": reply.get("ConsumedCapacity", {}).get("CapacityUnits"),
        "there_may_be_more": after is not None,
    }
    if after is not None:
        page["start_after"] = plain_item(after)
    return page


def count_shown(items: Sequence[Mapping[str, Any]]) -> int:
    """How many of these items, from the first on, one reply shows."""
    shown, size_bytes = 0, 0
    for item in items:
        size_bytes += len(json.dumps(item))
        if shown and size_bytes > ITEMS_BYTES_MAX:
            break
        shown += 1
    return shown


def _key_of(asking: AskedServer, table: str, index: str | None, item: Mapping[str, Any]) -> dict[str, Any]:
    """What a page that ends with this item gives as its last key."""
    described = asking.ask("DescribeTable", TableName=table)["Table"]
    indexes = [*described.get("GlobalSecondaryIndexes", ()), *described.get("LocalSecondaryIndexes", ())]
    schemas = [described["KeySchema"], *(one["KeySchema"] for one in indexes if one["IndexName"] == index)]
    names = {element["AttributeName"] for schema in schemas for element in schema}
    return {name: value for name, value in item.items() if name in names}
