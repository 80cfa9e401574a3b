"""The control plane without a server: a catalog in a dict, a clock that the test moves,
requests and replies as dicts.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.operations.operation import JsonWire
from hashrange.operations.policies import resource_policies
from hashrange.operations.tables import (
    create_table,
    delete_table,
    describe_table,
    describe_table_replica_auto_scaling,
    list_tables,
    tags,
    update_table,
)
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from tests.support.asking import run_operation
from tests.support.clocks import VirtualClock
from tests.support.scopes import scope_of

OPERATIONS: dict[str, Operation[JsonWire]] = {
    operation.name: operation
    for operation in (
        create_table.OPERATION,
        delete_table.OPERATION,
        describe_table.OPERATION,
        list_tables.OPERATION,
        *tags.OPERATIONS,
        update_table.OPERATION,
    )
}
POLICIES: dict[str, Operation[JsonWire]] = {
    operation.name: operation
    for operation in (describe_table_replica_auto_scaling.OPERATION, *resource_policies.OPERATIONS)
}
"""Operations on resource policies, which change and describe a table but are not control-plane operations of tables."""
ARN_PREFIX = "arn:aws:dynamodb:us-east-1:000000000000:table/"


class FakeCatalog:
    """A catalog of one scope; the next `races` replacements fail because the table's tags were changed concurrently."""

    is_late = False

    def __init__(self) -> None:
        self.stored: dict[str, OpenTable] = {}
        self.made = 0
        self.races = 0

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """The tables by name; there is only one scope."""
        return self.stored

    def schemas(self) -> dict[str, Table]:
        """The stored schemas, for comparison."""
        return {name: table.schema for name, table in self.stored.items()}

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Create a table, as the interface specifies."""
        table = OpenTable(make(self.made + 1))
        if table.name in self.stored:
            return None
        self.made += 1
        self.stored[table.name] = table
        return table

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace a table's schema, as the interface specifies."""
        if self.races:
            self.races -= 1
            raced = msgspec.structs.replace(old, tags=old.tags | {f"race{self.races}": "won"})
            self.stored[old.name] = OpenTable(raced)
        if not self._is_stored(old):
            return False
        self.stored[old.name] = OpenTable(new)
        return True

    async def delete(self, table: Table) -> bool:
        """Delete a table, as the interface specifies."""
        if not self._is_stored(table):
            return False
        del self.stored[table.name]
        return True

    def _is_stored(self, table: Table) -> bool:
        return table.name in self.stored and self.stored[table.name].schema is table


class FakeStreams:
    """A collection without streams."""

    def find(self, account: str, region: str, table_name: str, label: str) -> None:
        """Always None: there are no streams."""


class FakeDocuments:
    """A collection without documents."""

    generation = 0

    def get(self, name: str) -> None:
        """Always None: there are no documents."""

    def below(self, prefix: str) -> list[tuple[str, bytes]]:
        """Always empty."""
        return []

    def some_below(self, prefix: str, after: str | None, count: int) -> list[tuple[str, bytes]]:
        """Always empty."""
        return []


class FakeRowCopies:
    """The copies of a store that has none."""

    attended: frozenset[str] = frozenset()


class FakeStore:
    """A store with a catalog, and statistics that the test sets."""

    is_clustered = False

    def __init__(self) -> None:
        self.catalog = FakeCatalog()
        self.streams = FakeStreams()
        self.documents = FakeDocuments()
        self.maintenance = self.local_maintenance = self
        self.row_copies = FakeRowCopies()
        self.figures = Statistics(0, 0)

    def position(self) -> int:
        """The position; nothing is ever committed."""
        return 0

    durable_position = position

    async def settle(self) -> float:
        """Does nothing."""
        return 1.0

    tend_streams = tend_recovery = tend_vectors = settle

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """The same statistics for every source."""
        return dict.fromkeys(sources, self.figures)


class ControlPlane:
    """Calls operations by name and returns decoded replies; errors are raised."""

    def __init__(self, delay_seconds: float = 0.0) -> None:
        self.store = FakeStore()
        self.clock = VirtualClock()
        self.scope = scope_of(
            cast(WholeStore, self.store), self.clock, Settings(table_state_delay_seconds=delay_seconds)
        )

    def call(self, name: str, **members: Any) -> Any:
        """Decode the members, run the operation, and decode its reply, as the server does."""
        operation = (OPERATIONS | POLICIES)[name]
        request: Any = msgspec.json.decode(json.dumps(members), type=operation.request)
        return self.run(name, request)

    def run(self, name: str, request: Any) -> Any:
        """The decoded reply to a request struct."""
        return asyncio.run(run_operation(self.scope, (OPERATIONS | POLICIES)[name], request))

    def create(self, name: str = "music", **members: Any) -> Any:
        """Create a table with the partition key `id`, on demand by default; return its description."""
        base: dict[str, Any] = {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        return self.call("CreateTable", **(base | members))["TableDescription"]

    def create_provisioned(self, name: str = "music", read: int = 5, write: int = 5, **members: Any) -> Any:
        """Create a table with provisioned throughput; return its description."""
        return self.create(name, BillingMode="PROVISIONED", ProvisionedThroughput=units(read, write), **members)

    def describe(self, name: str = "music") -> Any:
        """DescribeTable's description of the table."""
        return self.call("DescribeTable", TableName=name)["Table"]

    def update(self, name: str = "music", **members: Any) -> Any:
        """Update a table by UpdateTable; return its description."""
        return self.call("UpdateTable", TableName=name, **members)["TableDescription"]


def units(read: int, write: int) -> dict[str, int]:
    """A ProvisionedThroughput parameter."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def global_index(name: str = "by-artist", **members: Any) -> dict[str, Any]:
    """A global index on `id`, as a request parameter."""
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        **members,
    }
