"""How is the capacity of a target read and changed? Read from the catalog, changed by UpdateTable,
whose limits and errors hold.
"""

import msgspec

from hashrange.autoscaling.records import TargetPlace
from hashrange.operations.operation import Scope
from hashrange.operations.tables.requests import UpdateTableRequest
from hashrange.operations.tables.update_table import update_table
from hashrange.tables.schema import Throughput
from hashrange.tables.states import status


def names_of(place: TargetPlace) -> tuple[str, str | None]:
    """Names of the table that the target belongs to, and of the index that it is; None: it is the table."""
    _, table_name, *index = place.resource_id.split("/")
    return table_name, index[1] if index else None


def is_read(place: TargetPlace) -> bool:
    """True if the target's units are read units."""
    return place.dimension.endswith("ReadCapacityUnits")


def current_capacity(scope: Scope, place: TargetPlace) -> int | None:
    """Provisioned units of the target; None if it does not exist, or is on demand."""
    throughput = _throughput(scope, place)
    if throughput is None:
        return None
    return throughput.read_units if is_read(place) else throughput.write_units


def _throughput(scope: Scope, place: TargetPlace) -> Throughput | None:
    table_name, index_name = names_of(place)
    table = scope.tables.get(table_name)
    if table is None or table.schema.billing_mode != "PROVISIONED":
        return None
    if index_name is None:
        return table.schema.throughput
    return next((one.throughput for one in table.schema.indexes if one.name == index_name and one.is_global), None)


def is_active(scope: Scope, place: TargetPlace) -> bool:
    """True if the table exists and can be changed now."""
    table = scope.tables.get(names_of(place)[0])
    return table is not None and status(table.schema, scope.clock.service_time()) == "ACTIVE"


async def change_capacity(scope: Scope, place: TargetPlace, units: int) -> None:
    """Set the target's units. Raises ApiError of UpdateTable, and StorageError."""
    before, (table_name, index_name) = _throughput(scope, place), names_of(place)
    assert before is not None, "only targets with a current capacity are changed"
    reads, writes = (units, before.write_units) if is_read(place) else (before.read_units, units)
    throughput = {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}
    members: dict[str, object] = {"TableName": table_name}
    if index_name is None:
        members["ProvisionedThroughput"] = throughput
    else:
        change = {"Update": {"IndexName": index_name, "ProvisionedThroughput": throughput}}
        members["GlobalSecondaryIndexUpdates"] = [change]
    await update_table(scope, msgspec.convert(members, UpdateTableRequest))
