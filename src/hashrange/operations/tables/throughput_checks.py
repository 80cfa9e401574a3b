"""Does the requested capacity fit the billing mode? Checks of billing mode and of provisioned, on-demand and warm throughput.

Source: service behaviour, captures to October 2026; `messages.tables` marks messages whose wording is our own.
"""

from collections.abc import Callable, Collection

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
    is_on_demand = request.BillingMode == "PAY_PER_REQUEST"
    check_warm(request.WarmThroughput, _warm_floor(is_on_demand, request.ProvisionedThroughput), TABLE)
    for index in walk(indexes):
        subject = index_subject(index.IndexName)
        check_maximum(index.OnDemandThroughput, subject)
        check_warm(index.WarmThroughput, _warm_floor(is_on_demand, index.ProvisionedThroughput), subject)


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
    _each_maximum(maximum, lambda member, units: None if units == -1 else _refuse(text.format(member=member)))


def check_maximum(maximum: OnDemandThroughput | None, subject: str) -> None:
    """Require an on-demand maximum of -1 (none) or 1 to 10^12 units. `subject`: the table or index in the message."""

    def check(member: str, units: int) -> None:
        if units != -1 and not 1 <= units <= limits.THROUGHPUT_UNITS_MAX:
            _refuse(say.ON_DEMAND_MAXIMUM_RANGE.format(member=member, subject=subject))

    _each_maximum(maximum, check)


def check_warm(warm: WarmThroughput | None, floor: Throughput, subject: str) -> None:
    """Require warm throughput of 1 to 10^12 units, and at least `floor`: what `subject` has or begins with, or 0."""
    if warm is None:
        return
    for member, units, current in (
        ("ReadUnitsPerSecond", warm.ReadUnitsPerSecond, floor.read_units),
        ("WriteUnitsPerSecond", warm.WriteUnitsPerSecond, floor.write_units),
    ):
        if units is None:
            continue
        if not 1 <= units <= limits.THROUGHPUT_UNITS_MAX:
            _refuse(say.WARM_THROUGHPUT_RANGE.format(member=member, subject=subject))
        if units < current:
            _refuse(say.WARM_THROUGHPUT_LOW.format(member=member, subject=subject, current=current))


def index_subject(name: str) -> str:
    """How messages name an index where they may also name a table."""
    return f"index {name}"


def _warm_floor(is_on_demand: bool, throughput: ProvisionedThroughput | None) -> Throughput:
    if is_on_demand or throughput is None:
        return Throughput(limits.ON_DEMAND_WARM_READ_UNITS, limits.ON_DEMAND_WARM_WRITE_UNITS)
    return Throughput(throughput.ReadCapacityUnits, throughput.WriteCapacityUnits)


def _each_maximum(maximum: OnDemandThroughput | None, check: Callable[[str, int], None]) -> None:
    """Call `check` with the name and the units of each member of `maximum` that is given."""
    if maximum is None:
        return
    if maximum.MaxReadRequestUnits is not None:
        check("MaxReadRequestUnits", maximum.MaxReadRequestUnits)
    if maximum.MaxWriteRequestUnits is not None:
        check("MaxWriteRequestUnits", maximum.MaxWriteRequestUnits)


def _refuse(text: str) -> None:
    raise ValidationException(text)
