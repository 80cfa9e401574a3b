"""Does the requested capacity fit the billing mode? Checks of billing mode and of provisioned,
on-demand and warm throughput.

Source: service behaviour, captures to October 2026; `messages.tables` marks messages whose wording is our own.
"""

from collections.abc import Collection

import msgspec

from hashrange import limits
from hashrange.errors import ValidationException
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.operations.tables.index_members import (
    CreateGlobalSecondaryIndexAction,
    GlobalSecondaryIndex,
    UpdateGlobalSecondaryIndexAction,
)
from hashrange.operations.tables.members import OnDemandThroughput, ProvisionedThroughput, WarmThroughput
from hashrange.operations.tables.requests import CreateTableRequest
from hashrange.tables.schema import Throughput

TABLE = "table"
"""How messages name the table, without its own name, where they may also name an index."""


HasThroughput = GlobalSecondaryIndex | CreateGlobalSecondaryIndexAction | UpdateGlobalSecondaryIndexAction
"""Structures of a request that may hold the capacity of a global index."""


def check_creation_throughput(request: CreateTableRequest) -> None:
    """Check billing mode and throughput of CreateTable; raises ValidationException for the first fault."""
    indexes = request.GlobalSecondaryIndexes or ()
    check_bounds(request.ProvisionedThroughput, None)
    if request.BillingMode == "PAY_PER_REQUEST":
        check_on_demand(request.ProvisionedThroughput, indexes)
    else:
        if request.ProvisionedThroughput is None:
            raise ValidationException(say.THROUGHPUT_MISSING)
        for index in walk(indexes):
            if index.ProvisionedThroughput is None:
                raise ValidationException(say.INDEX_THROUGHPUT_MISSING.format(index=index.IndexName))
        refuse_maximum(request.OnDemandThroughput, say.ON_DEMAND_MAXIMUM_PROVISIONED_CREATE)
        for index in walk(indexes):
            refuse_maximum(index.OnDemandThroughput, say.ON_DEMAND_MAXIMUM_PROVISIONED_CREATE)
    for index in walk(indexes):
        check_bounds(index.ProvisionedThroughput, index.IndexName)
    check_maximum(request.OnDemandThroughput, TABLE)
    check_first_warm(request.WarmThroughput, request.ProvisionedThroughput, TABLE)
    for index in walk(indexes):
        check_maximum(index.OnDemandThroughput, maximum_subject(index.IndexName))
        check_first_warm(index.WarmThroughput, index.ProvisionedThroughput, warm_subject(index.IndexName))


def check_on_demand(throughput: ProvisionedThroughput | None, indexes: Collection[HasThroughput]) -> None:
    """Refuse provisioned throughput for an on-demand table and its indexes."""
    if throughput is not None:
        raise ValidationException(say.THROUGHPUT_ON_DEMAND)
    for index in walk(indexes):
        if index.ProvisionedThroughput is not None:
            raise ValidationException(say.INDEX_THROUGHPUT_ON_DEMAND.format(index=index.IndexName))


def check_bounds(throughput: ProvisionedThroughput | None, index: str | None) -> None:
    """Refuse provisioned throughput of more than 10^12 units; `index` is the index's name, None for the table."""
    if throughput is None:
        return
    for member, value in (
        ("ReadCapacityUnits", throughput.ReadCapacityUnits),
        ("WriteCapacityUnits", throughput.WriteCapacityUnits),
    ):
        if value > limits.THROUGHPUT_UNITS_MAX:
            text = say.OUT_OF_BOUNDS if index is None else say.OUT_OF_BOUNDS_INDEX
            raise ValidationException(text.format(value=value, member=member, index=index))


def refuse_maximum(maximum: OnDemandThroughput | None, text: str) -> None:
    """Refuse an on-demand maximum other than -1 (none) for a provisioned table; `text` is the message."""
    for member, units in given_units(maximum):
        if units != -1:
            raise ValidationException(text.format(member=member))


def check_maximum(maximum: OnDemandThroughput | None, subject: str, *, may_end: bool = False) -> None:
    """Require an on-demand maximum of 1 to 10^12 units, or with `may_end` -1 (none).
    `subject`: the table or index in the message.
    """
    for member, units in given_units(maximum):
        if not 1 <= units <= limits.THROUGHPUT_UNITS_MAX and not (may_end and units == -1):
            raise ValidationException(say.ON_DEMAND_MAXIMUM_RANGE.format(member=member, subject=subject))


def given_units(given: OnDemandThroughput | WarmThroughput | None) -> list[tuple[str, int]]:
    """Name and units of each member that is given, units of reads first."""
    members = {} if given is None else msgspec.structs.asdict(given)
    return [(member, units) for member, units in members.items() if units is not None]


def check_first_warm(warm: WarmThroughput | None, provisioned: ProvisionedThroughput | None, subject: str) -> None:
    """Require that a new table or index begins with at least the warm throughput that it has anyway.
    `provisioned`: None on demand.
    """
    if provisioned is None:
        floor = Throughput(limits.ON_DEMAND_WARM_READ_UNITS, limits.ON_DEMAND_WARM_WRITE_UNITS)
        check_warm(warm, floor, subject, say.WARM_BELOW_INITIAL)
    else:
        floor = Throughput(provisioned.ReadCapacityUnits, provisioned.WriteCapacityUnits)
        check_warm(warm, floor, subject, say.WARM_BELOW_PROVISIONED)


def check_warm(warm: WarmThroughput | None, floor: Throughput, subject: str, text: str) -> None:
    """Refuse warm throughput below `floor` with the message `text`; `subject`: the table or index in the message."""
    least = {"ReadUnitsPerSecond": floor.read_units, "WriteUnitsPerSecond": floor.write_units}
    for member, units in given_units(warm):
        if units < least[member]:
            provisioned = member.replace("UnitsPerSecond", "CapacityUnits")
            raise ValidationException(text.format(member=member, subject=subject, units=provisioned))
        _check_warm_bound(member, units, subject)


def check_warm_bounds(warm: WarmThroughput | None, subject: str) -> None:
    """Refuse warm throughput far from 0, by more than 10^12 units; `subject`: the table or index in the message."""
    for member, units in given_units(warm):
        _check_warm_bound(member, units, subject)


def warm_subject(name: str) -> str:
    """How messages about warm throughput name an index."""
    return f"index {name}"


def maximum_subject(name: str) -> str:
    """How messages about on-demand maxima name an index."""
    return f"index : {name}"


def _check_warm_bound(member: str, units: int, subject: str) -> None:
    if abs(units) > limits.THROUGHPUT_UNITS_MAX:
        raise ValidationException(say.WARM_THROUGHPUT_RANGE.format(member=member, subject=subject))
