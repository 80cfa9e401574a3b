"""DescribeLimits: the quotas of capacity units, of the account in this Region and of one table."""

import msgspec

from hashrange.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from hashrange.operations.operation import Operation, Scope


class DescribeLimitsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nothing is asked."""


async def describe_limits(scope: Scope, request: DescribeLimitsRequest) -> bytes:
    """The default quotas."""
    return msgspec.json.encode(
        {
            "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
            "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
            "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
            "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        }
    )


OPERATION = Operation("DescribeLimits", DescribeLimitsRequest, describe_limits)
