"""How is the capacity of a target read and changed? Read from the catalog, changed by UpdateTable,
whose limits and errors hold.
"""

from typing import NamedTuple

import msgspec

from hashrange.autoscaling.records import TargetPlace
from hashrange.operations.operation import Scope
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.update_table import update_table
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Throughput
from hashrange.tables.states import status


class Capacity(NamedTuple):
    """Provisioned units of a table or global index."""

    reads: int
    writes: int


def table_name_of(place: TargetPlace) -> str:
    """Name of the table that the target belongs to."""
    return place.resource_id.split("/")[1]


def index_name_of(place: TargetPlace) -> str | None:
    """Name of the index that the target is; None: it is the table."""
    parts = place.resource_id.split("/")
    return parts[3] if len(parts) == 4 else None


def is_read(place: TargetPlace) -> bool:
    """True if the target's units are read units."""
    return place.dimension.endswith("ReadCapacityUnits")


def current_capacity(scope: Scope, place: TargetPlace) -> int | None:
    """Provisioned units of the target; None if it does not exist, or is on demand."""
    table = scope.tables.get(table_name_of(place))
    capacity = None if table is None else _capacity(table, index_name_of(place))
    if capacity is None:
        return None
    return capacity.reads if is_read(place) else capacity.writes


def _capacity(table: OpenTable, index_name: str | None) -> Capacity | None:
    if table.schema.billing_mode != "PROVISIONED":
        return None
    subject: Throughput | None
    if index_name is None:
        subject = table.schema.throughput
    else:
        index = next((one for one in table.schema.indexes if one.name == index_name and one.is_global), None)
        subject = None if index is None else index.throughput
    return None if subject is None else Capacity(subject.read_units, subject.write_units)


def is_active(scope: Scope, place: TargetPlace) -> bool:
    """True if the table exists and can be changed now."""
    table = scope.tables.get(table_name_of(place))
    return table is not None and status(table.schema, scope.clock.service_time()) == "ACTIVE"


async def change_capacity(scope: Scope, place: TargetPlace, units: int) -> None:
    """Set the target's units. Raises ApiError of UpdateTable, and StorageError."""
    table = scope.tables.get(table_name_of(place))
    index_name = index_name_of(place)
    capacity = None if table is None else _capacity(table, index_name)
    assert capacity is not None, "only targets with a current capacity are changed"
    reads, writes = (units, capacity.writes) if is_read(place) else (capacity.reads, units)
    throughput = {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}
    members: dict[str, object] = {"TableName": table_name_of(place)}
    if index_name is None:
        members["ProvisionedThroughput"] = throughput
    else:
        change = {"Update": {"IndexName": index_name, "ProvisionedThroughput": throughput}}
        members["GlobalSecondaryIndexUpdates"] = [change]
    await update_table(scope, msgspec.convert(members, UpdateTableRequest))
