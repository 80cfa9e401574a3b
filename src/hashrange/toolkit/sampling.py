"""Which items does a table have, by a sample? Read from the beginnings of segments, which lie apart in the order of
hashes, so that one large item collection does not stand for all.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hashrange.toolkit.item_sizes import FoundItem
from hashrange.toolkit.target import Target

SEGMENTS = 16
UNITS_MAX = 2000
"""Read units after which a sample ends, because items are large: 16 MB."""


class SampledItems(NamedTuple):
    """Items of a table, and what reading them has taken."""

    items: tuple[FoundItem, ...]
    read_units: float


def sample_items(target: Target, table: str, items_max: int) -> SampledItems:
    """About `items_max` items; all if the table has fewer. Raises ToolkitFailure."""
    items: list[FoundItem] = []
    read_units = 0.0
    waiting: dict[int, Mapping[str, Any]] = {segment: {} for segment in range(SEGMENTS)}
    """Segment → where it goes on."""
    while waiting and len(items) < items_max and read_units < UNITS_MAX:
        limit = max(1, (items_max - len(items)) // len(waiting))
        for segment, begin in list(waiting.items()):
            reply = target.ask(
                "dynamodb", "scan", TableName=table, Segment=segment, TotalSegments=SEGMENTS, Limit=limit,
                ReturnConsumedCapacity="TOTAL", **begin,
            )  # fmt: skip
            items += reply["Items"]
            read_units += reply.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
            if "LastEvaluatedKey" in reply:
                waiting[segment] = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}
            else:
                del waiting[segment]
            if len(items) >= items_max or read_units >= UNITS_MAX:
                break
    return SampledItems(tuple(items), read_units)
