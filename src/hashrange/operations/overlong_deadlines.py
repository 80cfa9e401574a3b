"""Which table states must end when a server starts? Those whose deadline is too far ahead (`tables/states.py`);
the changed tables are stored.

A table's deadlines are service times. If the machine's clock was set back by hours between two processes, a table would
stay CREATING, and absent for the data plane, until the clock had caught up.
"""

from collections.abc import Sequence

from hashrange.store.interface import Store
from hashrange.store.pause import PAUSE
from hashrange.tables.schema import Table
from hashrange.tables.states import without_overlong_deadlines

TABLES_TOGETHER = 32
"""Tables that are looked at before other work has its turn: 1 ms if each has twenty indexes."""


async def shorten_overlong_deadlines(
    store: Store,
    tables: Sequence[Table],
    now_seconds: float,
    delay_seconds: float,
    vector_delay_seconds: float = 0.0,
) -> None:
    """Move deadlines of `tables` that are more than `delay_seconds` after `now_seconds` to `now_seconds`; of a table
    with a vector index that is CREATING, those more than `vector_delay_seconds` after it, if that is more.

    Stores the changed tables in the catalog. Gives way.
    """
    for number, table in enumerate(tables, 1):
        ended = without_overlong_deadlines(table, now_seconds, delay_seconds, vector_delay_seconds)
        if ended != table:
            await store.catalog.replace(table, ended)
        if number % TABLES_TOGETHER == 0:
            await PAUSE
