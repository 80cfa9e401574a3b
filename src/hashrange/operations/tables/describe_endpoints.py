"""DescribeEndpoints: where may the client send its requests? To the host of this Region, for a day."""

import msgspec

from hashrange.limits import ENDPOINT_CACHE_MINUTES
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class DescribeEndpointsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nothing is asked."""


async def describe_endpoints(scope: Scope, request: DescribeEndpointsRequest) -> Reply:
    """This server's own address, as far as settings know it."""
    address = f"{scope.settings.host}:{scope.settings.port}"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": ENDPOINT_CACHE_MINUTES}]}


OPERATION = Operation("DescribeEndpoints", DescribeEndpointsRequest, describe_endpoints)
