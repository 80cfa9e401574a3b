"""What must have ended before a server started? States whose ends lie further ahead than any delay reaches.

A table's deadlines are service times. Between two processes the machine's clock may be set back, by hours; a table would then be
CREATING, and absent for the data plane, until the clock has caught up.
"""

from collections.abc import Sequence

from hashrange.store.interface import Store
from hashrange.tables.schema import Table
from hashrange.tables.states import without_endless_waits


async def end_endless_waits(store: Store, tables: Sequence[Table], now_seconds: float, delay_seconds: float) -> int:
    """End these waits of `tables`, which are those of `store`, for good; returns how many tables had one."""
    count = 0
    for table in tables:
        ended = without_endless_waits(table, now_seconds, delay_seconds)
        if ended != table:
            count += await store.catalog.replace(table, ended)
    return count
