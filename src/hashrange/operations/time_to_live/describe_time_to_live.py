"""DescribeTimeToLive: return whether a table's items expire, and by which attribute.
Order of checks: name → table exists.
"""

from hashrange.aws_services.operation import Operation
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.tables.states import time_to_live_status


class DescribeTimeToLiveRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_time_to_live(scope: Scope, request: DescribeTimeToLiveRequest) -> Reply:
    """State of time to live, and the attribute's name unless the state is DISABLED."""
    time_to_live = (await described_table(scope, request.TableName)).time_to_live
    status = time_to_live_status(time_to_live, scope.clock.service_time())
    description: dict[str, str] = {"TimeToLiveStatus": status}
    if time_to_live is not None and status != "DISABLED":
        description["AttributeName"] = time_to_live.attribute
    return {"TimeToLiveDescription": description}


OPERATION = Operation(
    "DescribeTimeToLive",
    DescribeTimeToLiveRequest,
    describe_time_to_live,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
)
