"""DescribeLimits: return the capacity quotas of the account in this Region and of one table."""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.limits import ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply


class DescribeLimitsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request has no members."""


async def describe_limits(scope: Scope, request: DescribeLimitsRequest) -> Reply:
    """The service's default quotas, which are the same for every account and Region."""
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
    }


OPERATION = Operation("DescribeLimits", DescribeLimitsRequest, describe_limits, JSON)
