"""The control plane without a server: a catalog in a dict, a clock that the test moves, requests as dicts."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from hashrange.clock import VirtualClock
from hashrange.operations.global_tables import describe_table_replica_auto_scaling
from hashrange.operations.operation import Operation
from hashrange.operations.policies import delete_resource_policy, get_resource_policy, put_resource_policy
from hashrange.operations.tables import (
    create_table,
    delete_table,
    describe_table,
    list_tables,
    list_tags_of_resource,
    tag_resource,
    untag_resource,
    update_table,
)
from hashrange.settings import Settings
from hashrange.store.interface import Statistics, WholeStore
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from tests.support.asking import run_operation
from tests.support.scopes import scope_of

OPERATIONS: dict[str, Operation] = {
    module.OPERATION.name: module.OPERATION
    for module in (
        create_table,
        delete_table,
        describe_table,
        list_tables,
        list_tags_of_resource,
        tag_resource,
        untag_resource,
        update_table,
    )
}
POLICIES: dict[str, Operation] = {
    module.OPERATION.name: module.OPERATION
    for module in (
        delete_resource_policy,
        describe_table_replica_auto_scaling,
        get_resource_policy,
        put_resource_policy,
    )
}
"""What changes and describes a table without being part of it."""
ARN_PREFIX = "arn:aws:dynamodb:us-east-1:000000000000:table/"


class FakeCatalog:
    """One scope's tables; `races` makes so many replacements lose to somebody who changed the table's tags."""

    is_late = False

    def __init__(self) -> None:
        self.stored: dict[str, OpenTable] = {}
        self.made = 0
        self.races = 0

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """The one view."""
        return self.stored

    def schemas(self) -> dict[str, Table]:
        """What is stored, to be compared."""
        return {name: table.schema for name, table in self.stored.items()}

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """As the interface says."""
        table = OpenTable(make(self.made + 1))
        if table.name in self.stored:
            return None
        self.made += 1
        self.stored[table.name] = table
        return table

    async def replace(self, old: Table, new: Table) -> bool:
        """As the interface says."""
        if self.races:
            self.races -= 1
            raced = msgspec.structs.replace(old, tags=old.tags | {f"race{self.races}": "won"})
            self.stored[old.name] = OpenTable(raced)
        if not self._is_stored(old):
            return False
        self.stored[old.name] = OpenTable(new)
        return True

    async def delete(self, table: Table) -> bool:
        """As the interface says."""
        if not self._is_stored(table):
            return False
        del self.stored[table.name]
        return True

    def _is_stored(self, table: Table) -> bool:
        return table.name in self.stored and self.stored[table.name].schema is table


class FakeStreams:
    """None."""

    def find(self, account: str, region: str, table_name: str, label: str) -> None:
        """There is none."""


class FakeStore:
    """A catalog, and figures that the test sets."""

    def __init__(self) -> None:
        self.catalog = FakeCatalog()
        self.streams = FakeStreams()
        self.figures = Statistics(0, 0)

    def position(self) -> int:
        """Nothing is ever committed."""
        return 0

    durable_position = position

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """The same for every source."""
        return dict.fromkeys(sources, self.figures)


class ControlPlane:
    """Calls operations by name and returns their replies decoded; faults are raised."""

    def __init__(self, delay_seconds: float = 0.0) -> None:
        self.store = FakeStore()
        self.clock = VirtualClock()
        self.scope = scope_of(
            cast(WholeStore, self.store), self.clock, Settings(table_state_delay_seconds=delay_seconds)
        )

    def call(self, name: str, **members: Any) -> Any:
        """Decode, run and decode again, as the server does."""
        operation = (OPERATIONS | POLICIES)[name]
        request: Any = msgspec.json.decode(json.dumps(members), type=operation.request)
        return self.run(name, request)

    def run(self, name: str, request: Any) -> Any:
        """The reply to a request struct, decoded."""
        return asyncio.run(run_operation(self.scope, (OPERATIONS | POLICIES)[name], request))

    def create(self, name: str = "music", **members: Any) -> Any:
        """A table with the partition key `id`, on demand unless said otherwise; its description."""
        base: dict[str, Any] = {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        return self.call("CreateTable", **(base | members))["TableDescription"]

    def create_provisioned(self, name: str = "music", read: int = 5, write: int = 5, **members: Any) -> Any:
        """The same with provisioned throughput."""
        return self.create(name, BillingMode="PROVISIONED", ProvisionedThroughput=units(read, write), **members)

    def describe(self, name: str = "music") -> Any:
        """DescribeTable."""
        return self.call("DescribeTable", TableName=name)["Table"]

    def update(self, name: str = "music", **members: Any) -> Any:
        """UpdateTable."""
        return self.call("UpdateTable", TableName=name, **members)["TableDescription"]


def units(read: int, write: int) -> dict[str, int]:
    """ProvisionedThroughput."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def global_index(name: str = "by-artist", **members: Any) -> dict[str, Any]:
    """A global index on `id`."""
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        **members,
    }
