"""DescribeTimeToLive: does a table let its items expire? Not yet, in any table. Order of checks: name → table exists."""

import msgspec

from hashrange.operations.described import TableRequest, described_table
from hashrange.operations.operation import Operation, Scope


class DescribeTimeToLiveRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_time_to_live(scope: Scope, request: DescribeTimeToLiveRequest) -> bytes:
    """DISABLED, which has no attribute name."""
    await described_table(scope, request.TableName)
    return msgspec.json.encode({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


OPERATION = Operation("DescribeTimeToLive", DescribeTimeToLiveRequest, describe_time_to_live)
