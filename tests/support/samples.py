"""Tables, rows and drivers that tests of the store share."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, overload

from hashrange.items.types import Row
from hashrange.store.interface import WholeStore
from hashrange.store.statistics import Statistics
from hashrange.tables.schema import KeySchema, Table

T = TypeVar("T")


def table_maker(name: str, account: str = "000000000000", region: str = "us-east-1") -> Callable[[int], Table]:
    """Argument of `catalog.create`: a table with partition key `pk` and sort key `sk`, both strings."""

    def make(table_id: int) -> Table:
        return Table(
            table_id=table_id,
            uuid=f"uuid-{name}-{table_id}",
            account=account,
            region=region,
            name=name,
            keys=KeySchema(("pk",), ("S",), ("sk",), ("S",)),
            attribute_types={"pk": "S", "sk": "S"},
            created_at_seconds=1.0,
            active_at_seconds=1.0,
        )

    return make


def row_of(size_bytes: int, fill: bytes = b"x") -> Row:
    """A row that claims to be an item of `size_bytes`; the store reads nothing else of a row."""
    return Row(b"\x01" + size_bytes.to_bytes(4, "big") + fill)


@overload
def finish(soon: Coroutine[Any, Any, T]) -> T: ...
@overload
def finish(soon: T) -> T: ...
def finish(soon: Any) -> Any:
    """The result of a coroutine that must not suspend."""
    if not isinstance(soon, Coroutine):
        return soon
    try:
        soon.send(None)
    except StopIteration as stop:
        return stop.value
    soon.close()
    raise AssertionError("the coroutine suspended")


def statistics_of(store: WholeStore, source: bytes) -> Statistics:
    """The statistics of one source."""
    return finish(store.statistics([source]))[source]


async def durable(store: WholeStore) -> None:
    """Wait until everything committed so far is durable; raises the error that prevents it."""
    waiter = asyncio.get_running_loop().create_future()
    store.when_durable(store.position(), waiter.set_result)
    error = await waiter
    if error is not None:
        raise error
