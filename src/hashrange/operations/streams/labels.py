"""Which label does a new stream have? The time when it is switched on, or the first millisecond after it that no
earlier stream of that table name has as label.
"""

from itertools import count

import msgspec

from hashrange.operations.operation import Scope
from hashrange.tables.description import stream_label
from hashrange.tables.schema import Table
from hashrange.tables.streams import has_stream


def with_free_label(scope: Scope, table: Table, now_seconds: float) -> Table:
    """The table; if its stream begins at `now_seconds`, with a label that no earlier stream of that table name has."""
    if not has_stream(table) or table.stream_label != stream_label(now_seconds):
        return table
    find = scope.store.streams.find
    labels = (stream_label(now_seconds + number / 1000) for number in count())
    label = next(one for one in labels if find(table.account, table.region, table.name, one) is None)
    return msgspec.structs.replace(table, stream_label=label)
