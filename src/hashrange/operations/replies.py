"""How does a reply become bytes? Members are spliced: stored rows go out unread."""

from collections.abc import Iterable, Sequence

import msgspec

from hashrange.steps import LARGE_BYTES, look
from hashrange.tables.capacity import IndexUnits, consumed_capacity

ENCODER = msgspec.json.Encoder()


def join_reply(parts: list[bytes] | list[bytes | memoryview], between: bytes = b"") -> bytes:
    """A reply's body of its parts, in one copy, for each takes half a millisecond a MB; others have their turn before and behind a large one. Uses up the parts."""
    look()
    body = between.join(parts)
    if len(body) > LARGE_BYTES:
        while parts:
            parts.pop()
            look()
    return body


def join_members(members: list[bytes]) -> bytes:
    """The JSON object of already encoded members such as `b'"Item":{…}'`."""
    return b"".join([b"{", b",".join(members), b"}"])


def capacity_member(table_name: str, table_units: float, detail: str, indexes: Sequence[IndexUnits] = ()) -> bytes:
    """The member ConsumedCapacity; `detail` is TOTAL or INDEXES."""
    return b'"ConsumedCapacity":' + ENCODER.encode(consumed_capacity(table_name, table_units, detail, indexes))


def capacities_member(tables: Iterable[tuple[str, float, Sequence[IndexUnits]]], detail: str) -> bytes:
    """The same of a batch: one for each (table's name, the table's own units, its indexes' units)."""
    capacities = [consumed_capacity(name, units, detail, indexes) for name, units, indexes in tables]
    return b'"ConsumedCapacity":' + ENCODER.encode(capacities)
