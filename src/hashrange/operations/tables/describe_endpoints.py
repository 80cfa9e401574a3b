"""DescribeEndpoints: where may the client send its requests? To the host of this Region, for a day."""

import msgspec

from hashrange.limits import ENDPOINT_CACHE_MINUTES
from hashrange.operations.operation import Operation, Scope


class DescribeEndpointsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nothing is asked."""


async def describe_endpoints(scope: Scope, request: DescribeEndpointsRequest) -> bytes:
    """This server's own address, as far as settings know it."""
    address = f"{scope.settings.host}:{scope.settings.port}"
    return msgspec.json.encode({"Endpoints": [{"Address": address, "CachePeriodInMinutes": ENDPOINT_CACHE_MINUTES}]})


OPERATION = Operation("DescribeEndpoints", DescribeEndpointsRequest, describe_endpoints)
