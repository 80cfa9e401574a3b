"""How many capacity units does a request consume? Pure figures; the rules are the service's.

Reads count 4 KB blocks (half when eventually consistent), writes 1 KB blocks, each at least one block.
Source: service behaviour, developer guide and captures to Oct 2026.
"""

from hashrange.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES

ConsumedCapacity = dict[str, object]


def read_units(size_bytes: int, *, consistent: bool) -> float:
    """Units of one read of `size_bytes` in all: a single item, or all the evaluated items of a page."""
    blocks = -(-size_bytes // READ_UNIT_BYTES) or 1
    return float(blocks) if consistent else blocks / 2


def write_units(old_size_bytes: int, new_size_bytes: int) -> float:
    """Units of one write that replaces an item of the old size (0: none) by one of the new size."""
    return float(-(-max(old_size_bytes, new_size_bytes) // WRITE_UNIT_BYTES) or 1)


def consumed_capacity(table_name: str, units: float, detail: str) -> ConsumedCapacity:
    """The reply's ConsumedCapacity for `ReturnConsumedCapacity` TOTAL or INDEXES."""
    consumed: ConsumedCapacity = {"TableName": table_name, "CapacityUnits": units}
    if detail == "INDEXES":
        consumed["Table"] = {"CapacityUnits": units}
    return consumed
