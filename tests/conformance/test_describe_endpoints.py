"""DescribeEndpoints: one address."""

from typing import Any


def test_one_endpoint_is_good_for_a_day(client: Any) -> None:
    (endpoint,) = client.describe_endpoints()["Endpoints"]
    assert endpoint["CachePeriodInMinutes"] == 1440
    assert endpoint["Address"]
