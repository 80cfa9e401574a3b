"""What do operations say of the account and of the service itself, whatever tables there are?
DescribeLimits, DescribeEndpoints.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.limits import ACCOUNT_CAPACITY_UNITS_MAX, ENDPOINT_CACHE_MINUTES, TABLE_CAPACITY_UNITS_MAX
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply


class EmptyRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request has no members."""


async def describe_limits(scope: Scope, request: EmptyRequest) -> Reply:
    """DescribeLimits: return the capacity quotas of the account in this Region and of one table: the service's default
    quotas, which are the same for every account and Region.
    """
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY_UNITS_MAX,
    }


async def describe_endpoints(scope: Scope, request: EmptyRequest) -> Reply:
    """DescribeEndpoints: return this server's host and port, as configured, which clients may use for a day."""
    address = f"{scope.settings.host}:{scope.settings.port}"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": ENDPOINT_CACHE_MINUTES}]}


OPERATIONS = (
    Operation("DescribeLimits", EmptyRequest, describe_limits, JSON),
    Operation("DescribeEndpoints", EmptyRequest, describe_endpoints, JSON),
)
