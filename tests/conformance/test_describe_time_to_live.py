"""DescribeTimeToLive: DISABLED without an attribute name until time to live is turned on."""

from typing import Any

from tests.conformance.tables import create_request, fault, fresh_name
from tests.support.raw_client import RawClient


def test_at_first_no_table_lets_items_expire(client: Any) -> None:
    name = fresh_name()
    arn = client.create_table(**create_request(name))["TableDescription"]["TableArn"]
    assert client.describe_time_to_live(TableName=name)["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    assert client.describe_time_to_live(TableName=arn)["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "DescribeTimeToLive", {"TableName": "nothing.here"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )
