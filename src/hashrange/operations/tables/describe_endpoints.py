"""DescribeEndpoints: return this server's address, which clients may use for a day."""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.limits import ENDPOINT_CACHE_MINUTES
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply


class DescribeEndpointsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request has no members."""


async def describe_endpoints(scope: Scope, request: DescribeEndpointsRequest) -> Reply:
    """This server's host and port, as configured."""
    address = f"{scope.settings.host}:{scope.settings.port}"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": ENDPOINT_CACHE_MINUTES}]}


OPERATION = Operation("DescribeEndpoints", DescribeEndpointsRequest, describe_endpoints, JSON)
